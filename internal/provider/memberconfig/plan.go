// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package memberconfig

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/attribute"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/bootstrap"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/private"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/report"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/userdata"
)

// keepBootstrap keeps the value of bootstrap from the creation. A bootstrap that only
// completed, or no longer matters to the member, plans no change. Every member of an
// abandoned cluster gets the bootstrap that replaces that cluster ([prior.isAbandonedFor]).
// An initial member that was never seen in a cluster gets a retried bootstrap only if the
// first attempt is known not to have formed a cluster ([bootstrap.Bootstrap.IsRetry]),
// because a cluster that cannot be observed may be running.
type keepBootstrap struct{ attribute.Described }

func (keepBootstrap) PlanModifyObject(ctx context.Context, req planmodifier.ObjectRequest, resp *planmodifier.ObjectResponse) {
	if req.State.Raw.IsNull() || req.Plan.Raw.IsNull() || req.ConfigValue.IsNull() {
		return
	}
	was := bootstrap.From(ctx, req.StateValue, &resp.Diagnostics)
	now := bootstrap.From(ctx, req.ConfigValue, &resp.Diagnostics)
	var state model
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	if resp.Diagnostics.HasError() {
		return
	}
	if priorOf(ctx, state, req.Private, &resp.Diagnostics).isAbandonedFor(now) {
		resp.RequiresReplace = true
		return
	}
	if req.StateValue.IsNull() {
		return
	}
	if state.Founder.ValueBool() && neverFormed(state.Status.ValueString()) {
		if was != nil && now != nil && (now.IsRetry() || leftOut(state.Status, *was, *now)) {
			resp.RequiresReplace = true
			return
		}
		if was != nil && now != nil && !was.Token.Equal(now.Token) {
			report.Warn(&resp.Diagnostics, text.BootstrapKept(state.Name.ValueString()))
		}
	}
	resp.PlanValue = req.StateValue
}

// noteRetry notes for the guards of the plan that this configuration's
// bootstrap is replaced because it did not form a cluster.
func (r *Resource) noteRetry(ctx context.Context, req resource.ModifyPlanRequest, diags *diag.Diagnostics) {
	var config, state types.Object
	diags.Append(req.Config.GetAttribute(ctx, path.Root("bootstrap"), &config)...)
	diags.Append(req.State.GetAttribute(ctx, path.Root("bootstrap"), &state)...)
	now, was := bootstrap.From(ctx, config, diags), bootstrap.From(ctx, state, diags)
	if now != nil && was != nil && now.IsRetry() {
		r.backend.Plan.ReplacedBootstraps.Set(was.Token.ValueString(), true)
	}
}

// planScript plans the join script of a replacement: it does not change with
// the same provider, so the plan does not print it. The script of a new
// configuration is not planned, for the same reason. During an apply the two
// cases cannot be distinguished; then the script is planned, because a planned
// value must not change.
func (r *Resource) planScript(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	set := func(name string, value any) {
		resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root(name), value)...)
	}
	set("user_data_format", int64(userdata.Format))
	was := private.Kept[*prior](ctx, req.Private, priorKey, &resp.Diagnostics)
	if was == nil && (r.backend == nil || !r.backend.Applying.Load()) {
		return
	}
	var given types.Object
	resp.Diagnostics.Append(resp.Plan.GetAttribute(ctx, path.Root("bootstrap"), &given)...)
	boot := bootstrap.From(ctx, given, &resp.Diagnostics)
	static := boot != nil && boot.Protocol.ValueString() == bootstrap.ProtocolStatic
	if !given.IsUnknown() && (boot == nil || !boot.Protocol.IsUnknown()) && (!static || !boot.Environment.IsUnknown()) {
		set("join_script_base64gzip", scriptFor(boot).Base64Gzip)
	}
}

// planRole plans whether a new configuration is for an initial member, if that is
// certain: for a name among the initial members, and for every other name if the names
// are known. If only their number is known, the cluster may exist by the apply.
func (m model) planRole(ctx context.Context, resp *resource.ModifyPlanResponse) {
	if resp.Diagnostics.HasError() || m.Bootstrap.IsUnknown() || m.Name.IsUnknown() {
		return
	}
	p := m.planOf(ctx, &resp.Diagnostics)
	if p.boot != nil && (p.boot.Complete.IsUnknown() || p.boot.Founders.IsUnknown()) {
		return
	}
	if p.role != roleFounder || p.founders != nil {
		resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root("founder"), p.role == roleFounder)...)
	}
}

// leftOut reports whether an initial member was left out: the bootstrap is
// complete, and the cluster has formed without that member. With another
// configuration it joins the cluster.
func leftOut(status types.String, was, now bootstrap.Bootstrap) bool {
	return status.ValueString() == statusStale && !was.Complete.ValueBool() && now.Complete.ValueBool()
}

// neverFormed reports whether a member of that status has never been seen in
// the cluster.
func neverFormed(status string) bool {
	switch status {
	case statusMember, statusRemoved, statusRetired, statusUnreachable, statusFailed:
		return false
	default:
		return true
	}
}

// keepSet keeps the value of a set from the creation.
type keepSet struct{ attribute.Described }

func (keepSet) PlanModifySet(_ context.Context, req planmodifier.SetRequest, resp *planmodifier.SetResponse) {
	if !req.State.Raw.IsNull() && !req.StateValue.IsNull() && !req.ConfigValue.IsNull() {
		resp.PlanValue = req.StateValue
	}
}
