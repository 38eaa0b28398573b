// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package member

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/attribute"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/memberconfig"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/report"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

// arguments are the arguments that identify a member: a configuration, which
// may omit the peer URLs, or a name and peer URLs.
type arguments struct {
	config   types.Object
	name     types.String
	peerURLs types.Set
}

func argumentsOf(ctx context.Context, config tfsdk.Config, diags *diag.Diagnostics) (a arguments) {
	diags.Append(config.GetAttribute(ctx, path.Root("config"), &a.config)...)
	diags.Append(config.GetAttribute(ctx, path.Root("name"), &a.name)...)
	diags.Append(config.GetAttribute(ctx, path.Root("peer_urls"), &a.peerURLs)...)
	return a
}

// check refuses arguments that omit the name or the peer URLs, or give them
// twice. Unknown values pass.
func (a arguments) check(diags *diag.Diagnostics) {
	refuse := func(attribute string, t text.Message) {
		report.ErrorAt(diags, path.Root(attribute), t)
	}
	if a.config.IsNull() {
		switch {
		case a.name.IsNull():
			refuse("config", text.NeitherConfigNorName)
		case a.peerURLs.IsNull():
			refuse("peer_urls", text.NoPeerURLs(a.name.ValueString()))
		}
		return
	}
	if a.config.IsUnknown() {
		return
	}
	c := memberconfig.MemberOf(a.config)
	if attribute.IsGiven(a.name) {
		refuse("name", text.NameBesideConfig(a.name.ValueString()))
	}
	switch {
	case c.PeerURLs.IsUnknown() || a.peerURLs.IsUnknown():
	case c.PeerURLs.IsNull() && a.peerURLs.IsNull():
		refuse("peer_urls", text.NoPeerURLsInConfig(c.Name.ValueString()))
	case !c.PeerURLs.IsNull() && !a.peerURLs.IsNull():
		refuse("peer_urls", text.PeerURLsBesideConfig(c.Name.ValueString()))
	}
}

// planEnvironment plans a null environment for a new member whose configuration has it.
func (a arguments) planEnvironment(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if !attribute.IsGiven(a.config) || !req.State.Raw.IsNull() {
		return
	}
	resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root("environment"), types.MapNull(types.StringType))...)
	resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root("initial_cluster"), types.StringNull())...)
}

// sameConfig reports whether the state has the planned configuration.
func sameConfig(was, now types.Object) bool {
	a, b := memberconfig.MemberOf(was).ID, memberconfig.MemberOf(now).ID
	return !a.IsNull() && a.Equal(b) && !b.IsUnknown()
}

// planConfig replaces a member that gets another configuration. It keeps the
// value in the state if the peer URLs are only spelled differently.
type planConfig struct{ attribute.Described }

func (planConfig) PlanModifyObject(_ context.Context, req planmodifier.ObjectRequest, resp *planmodifier.ObjectResponse) {
	if req.StateValue.IsNull() || req.PlanValue.IsNull() {
		return // imported, or the configuration is dropped
	}
	if !sameConfig(req.StateValue, req.PlanValue) {
		resp.RequiresReplace = true
		return
	}
	was, now := memberconfig.MemberOf(req.StateValue), memberconfig.MemberOf(req.PlanValue)
	if attribute.AreSameURLs(was.PeerURLs, now.PeerURLs) {
		resp.PlanValue = req.StateValue
	}
}

// planMachine replaces a member without a configuration together with its
// machine: the new machine has none of the member's data.
type planMachine struct{ attribute.Described }

func (planMachine) PlanModifyString(ctx context.Context, req planmodifier.StringRequest, resp *planmodifier.StringResponse) {
	if req.StateValue.IsNull() || !req.PlanValue.IsUnknown() {
		return
	}
	var was types.Object
	resp.Diagnostics.Append(req.State.GetAttribute(ctx, path.Root("config"), &was)...)
	resp.RequiresReplace = was.IsNull() && argumentsOf(ctx, req.Config, &resp.Diagnostics).config.IsNull()
}

// planName plans the name that the configuration gives. Another name means
// another member.
type planName struct{ attribute.Described }

func (planName) PlanModifyString(ctx context.Context, req planmodifier.StringRequest, resp *planmodifier.StringResponse) {
	a := argumentsOf(ctx, req.Config, &resp.Diagnostics)
	var was types.Object
	if !req.State.Raw.IsNull() {
		resp.Diagnostics.Append(req.State.GetAttribute(ctx, path.Root("config"), &was)...)
	}
	switch {
	case resp.Diagnostics.HasError():
	case a.config.IsNull():
		resp.PlanValue = a.name
	case !req.StateValue.IsNull() && sameConfig(was, a.config):
		resp.PlanValue = req.StateValue
	default:
		resp.PlanValue = memberconfig.MemberOf(a.config).Name
	}
	// An imported member that has not published its name has none in the state.
	resp.RequiresReplace = !req.StateValue.IsNull() && !req.StateValue.Equal(resp.PlanValue)
}

// planPeerURLs plans the peer URLs of the configuration, or the member's own if
// the configuration has none.
type planPeerURLs struct{ attribute.Described }

func (planPeerURLs) PlanModifySet(ctx context.Context, req planmodifier.SetRequest, resp *planmodifier.SetResponse) {
	a := argumentsOf(ctx, req.Config, &resp.Diagnostics)
	if urls := memberconfig.MemberOf(a.config).PeerURLs; !urls.IsNull() && a.peerURLs.IsNull() {
		resp.PlanValue = urls
	} else if !a.peerURLs.IsNull() {
		resp.PlanValue = a.peerURLs
	}
}
