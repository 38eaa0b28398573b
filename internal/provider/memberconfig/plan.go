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

	text "github.com/terraform-provider-etcd/terraform-provider-etcd/internal/diag"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/joinscript"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/bootstrap"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/report"
)

// keepBootstrap lets bootstrap stay what it was at creation. A bootstrap that
// merely completed, or that is none of the member's business any more, plans
// nothing. A founder that was never seen in a cluster follows a bootstrap that
// starts again only if that is known to have formed no cluster
// ([bootstrap.Bootstrap.IsRetry]): a cluster that cannot be observed may live.
type keepBootstrap struct{}

func (keepBootstrap) Description(context.Context) string {
	return "stays as it was at creation, unless a founder that never formed a cluster gets another bootstrap"
}

func (k keepBootstrap) MarkdownDescription(ctx context.Context) string { return k.Description(ctx) }

func (keepBootstrap) PlanModifyObject(ctx context.Context, req planmodifier.ObjectRequest, resp *planmodifier.ObjectResponse) {
	if req.State.Raw.IsNull() || req.Plan.Raw.IsNull() || req.ConfigValue.IsNull() || req.StateValue.IsNull() {
		return
	}
	var founder types.Bool
	var status types.String
	resp.Diagnostics.Append(req.State.GetAttribute(ctx, path.Root("founder"), &founder)...)
	resp.Diagnostics.Append(req.State.GetAttribute(ctx, path.Root("status"), &status)...)
	if resp.Diagnostics.HasError() {
		return
	}
	if founder.ValueBool() && neverFormed(status.ValueString()) {
		was, diags := bootstrap.From(ctx, req.StateValue)
		resp.Diagnostics.Append(diags...)
		now, diags := bootstrap.From(ctx, req.ConfigValue)
		resp.Diagnostics.Append(diags...)
		if resp.Diagnostics.HasError() {
			return
		}
		if was != nil && now != nil && (now.IsRetry() || leftOut(status, *was, *now)) {
			resp.RequiresReplace = true
			return
		}
		if was != nil && now != nil && !was.Token.Equal(now.Token) {
			var name types.String
			resp.Diagnostics.Append(req.State.GetAttribute(ctx, path.Root("name"), &name)...)
			report.Warn(&resp.Diagnostics, text.BootstrapKept(name.ValueString()))
		}
	}
	resp.PlanValue = req.StateValue
}

// noteRetry notes for the guards of the plan that the bootstrap of this
// configuration is replaced because it formed no cluster.
func (r *Resource) noteRetry(ctx context.Context, req resource.ModifyPlanRequest) diag.Diagnostics {
	var config, state types.Object
	diags := req.Config.GetAttribute(ctx, path.Root("bootstrap"), &config)
	diags.Append(req.State.GetAttribute(ctx, path.Root("bootstrap"), &state)...)
	now, d := bootstrap.From(ctx, config)
	diags.Append(d...)
	was, d := bootstrap.From(ctx, state)
	diags.Append(d...)
	if now != nil && was != nil && now.IsRetry() {
		r.backend.Plan.ReplacedBootstraps.Set(was.Token.ValueString(), true)
	}
	return diags
}

// planScript plans the join script of a configuration that takes another one's
// place: it is the same as long as the provider is, so that the plan does not print
// it. That of a configuration that is new is not planned, for the same reason. When
// the plan is applied there is no telling one from the other any more; then it is
// planned, because what is planned once must stay.
func (r *Resource) planScript(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) diag.Diagnostics {
	prior, diags := req.Private.GetKey(ctx, priorKey)
	if len(prior) > 0 || r.backend != nil && r.backend.Order.IsApplying() {
		diags.Append(resp.Plan.SetAttribute(ctx, path.Root("join_script_base64gzip"), joinscript.Base64Gzip)...)
	}
	return diags
}

// planRole plans whether a new configuration's member is a founder, where it
// cannot turn out otherwise: a founder by name, and everyone who is none. If only
// the number of founders is known, the cluster may exist by the time of the apply.
func planRole(ctx context.Context, resp *resource.ModifyPlanResponse) (diags diag.Diagnostics) {
	var m model
	if diags.Append(resp.Plan.Get(ctx, &m)...); diags.HasError() || m.Bootstrap.IsUnknown() || m.Name.IsUnknown() {
		return diags
	}
	p, d := m.planOf(ctx)
	if diags.Append(d...); p.boot != nil && (p.boot.Complete.IsUnknown() || p.boot.Founders.IsUnknown()) {
		return diags
	}
	if p.role != roleFounder || p.founders != nil {
		diags.Append(resp.Plan.SetAttribute(ctx, path.Root("founder"), p.role == roleFounder)...)
	}
	return diags
}

// leftOut reports whether a founder was left out: the bootstrap is complete, and
// the cluster that was formed has no such member. Another configuration makes
// it a joiner.
func leftOut(status types.String, was, now bootstrap.Bootstrap) bool {
	return status.ValueString() == statusStale && !was.Complete.ValueBool() && now.Complete.ValueBool()
}

// neverFormed reports whether a member of that status has never been seen as a
// part of the cluster.
func neverFormed(status string) bool {
	switch status {
	case statusMember, statusRemoved, statusRetired, statusUnreachable, statusFailed:
		return false
	default:
		return true
	}
}

// keepSet lets a set stay what it was at creation.
type keepSet struct{}

func (keepSet) Description(context.Context) string { return "stays as it was at creation" }

func (k keepSet) MarkdownDescription(ctx context.Context) string { return k.Description(ctx) }

func (keepSet) PlanModifySet(_ context.Context, req planmodifier.SetRequest, resp *planmodifier.SetResponse) {
	if !req.State.Raw.IsNull() && !req.StateValue.IsNull() && !req.ConfigValue.IsNull() {
		resp.PlanValue = req.StateValue
	}
}
