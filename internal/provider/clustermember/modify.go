// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package clustermember

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/attribute"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/report"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

// arguments identify a member: a node, which may omit the peer URLs, or a name and peer
// URLs.
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

// check refuses arguments that omit the name or the peer URLs, or give them twice.
// Unknown values pass.
func (a arguments) check(diags *diag.Diagnostics) {
	refuse := func(attribute string, t text.Message) { report.ErrorAt(diags, path.Root(attribute), t) }
	c := configOf(a.config)
	switch {
	case a.config.IsUnknown():
	case a.config.IsNull() && a.name.IsNull():
		refuse("config", text.NeitherNodeNorName)
	case a.config.IsNull() && a.peerURLs.IsNull():
		refuse("peer_urls", text.NoPeerURLs(a.name.ValueString()))
	case a.config.IsNull():
	case attribute.IsGiven(a.name):
		refuse("name", text.NameBesideConfig(a.name.ValueString()))
	case c.peerURLs.IsUnknown() || a.peerURLs.IsUnknown():
	case c.peerURLs.IsNull() && a.peerURLs.IsNull():
		refuse("peer_urls", text.NoPeerURLsInConfig(c.name.ValueString()))
	case !c.peerURLs.IsNull() && !a.peerURLs.IsNull():
		refuse("peer_urls", text.PeerURLsBesideConfig(c.name.ValueString()))
	}
}

// planConfig replaces a member that gets another node. A node for an imported member, or
// none any more, does not.
type planConfig struct{ attribute.Described }

func (planConfig) PlanModifyObject(_ context.Context, req planmodifier.ObjectRequest, resp *planmodifier.ObjectResponse) {
	was, now := configOf(req.StateValue), configOf(req.PlanValue)
	resp.RequiresReplace = !req.StateValue.IsNull() && !req.PlanValue.IsNull() && !was.id.Equal(now.id)
}

// planMachine replaces a member that gets another machine. The ID of a machine that
// exists can be given to a member later.
type planMachine struct{ attribute.Described }

func (planMachine) PlanModifyString(_ context.Context, req planmodifier.StringRequest, resp *planmodifier.StringResponse) {
	resp.RequiresReplace = !req.State.Raw.IsNull() && !req.PlanValue.Equal(req.StateValue) && (req.PlanValue.IsUnknown() || !req.StateValue.IsNull() && !req.PlanValue.IsNull())
}

// planName plans no name if the node has it, but the state does not have one: config
// shows it. Another name means another member.
type planName struct{ attribute.Described }

func (planName) PlanModifyString(ctx context.Context, req planmodifier.StringRequest, resp *planmodifier.StringResponse) {
	a := argumentsOf(ctx, req.Config, &resp.Diagnostics)
	was, now := req.StateValue, a.name
	if !a.config.IsNull() {
		now = configOf(a.config).name
	}
	if resp.PlanValue = a.name; !was.IsNull() {
		resp.PlanValue = now
	} else if !req.State.Raw.IsNull() {
		var had types.Object
		resp.Diagnostics.Append(req.State.GetAttribute(ctx, path.Root("config"), &had)...)
		was = configOf(had).name
	}
	// An imported member that has not published its name has none in the state.
	resp.RequiresReplace = !was.IsNull() && !was.Equal(now)
}

// planPeerURLs plans no peer URLs if the node has them and the state does not have others,
// for example after an import or a change with etcdctl.
type planPeerURLs struct{ attribute.Described }

func (planPeerURLs) PlanModifySet(ctx context.Context, req planmodifier.SetRequest, resp *planmodifier.SetResponse) {
	a := argumentsOf(ctx, req.Config, &resp.Diagnostics)
	switch urls := configOf(a.config).peerURLs; {
	case !a.peerURLs.IsNull():
		resp.PlanValue = a.peerURLs
	case !a.config.IsUnknown() && !urls.IsNull() && req.StateValue.IsNull():
		resp.PlanValue = types.SetNull(types.StringType)
	case !urls.IsNull():
		resp.PlanValue = urls
	}
}

// demotion replaces a promoted learner, because a promotion cannot be undone.
type demotion struct{ attribute.Described }

func (demotion) PlanModifyBool(ctx context.Context, req planmodifier.BoolRequest, resp *planmodifier.BoolResponse) {
	if req.State.Raw.IsNull() || req.PlanValue.IsUnknown() || req.PlanValue.ValueBool() || !req.StateValue.ValueBool() {
		return
	}
	var role types.String
	resp.Diagnostics.Append(req.State.GetAttribute(ctx, path.Root("role"), &role)...)
	resp.RequiresReplace = role.ValueString() == string(roleVoter)
}

// anotherLearner requires a replacement for another learner_id. The origin of a member
// no longer matters once it has joined, so learner_id may be added or left out.
func anotherLearner(_ context.Context, req planmodifier.StringRequest, resp *stringplanmodifier.RequiresReplaceIfFuncResponse) {
	resp.RequiresReplace = !req.StateValue.IsNull() && !req.PlanValue.IsNull()
}
