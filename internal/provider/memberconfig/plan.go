// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package memberconfig

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"

	text "github.com/terraform-provider-etcd/terraform-provider-etcd/internal/diag"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/joinscript"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/bootstrap"
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
			t := text.BootstrapKept(name.ValueString())
			resp.Diagnostics.AddWarning(t.Summary, t.Detail)
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
		r.backend.NoteBootstrapReplaced(was.Token.ValueString())
	}
	return diags
}

// scriptKey is where the first call of a plan leaves the join script for a
// successor, for the second one; see [priorKey]. It is left out if that is the one
// of this build.
const scriptKey = "join_script"

// planScript plans the join script of a configuration that takes another one's
// place: it is the same, so that the plan does not print it. That of a
// configuration that is new is not planned, for the same reason.
func planScript(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) (diags diag.Diagnostics) {
	if !req.State.Raw.IsNull() {
		var was types.String
		diags.Append(req.State.GetAttribute(ctx, scriptPath, &was)...)
		var keep []byte
		if next := joinscript.Successor(was.ValueString()); next != joinscript.Base64Gzip {
			keep = fmt.Appendf(nil, "%q", next)
		}
		diags.Append(resp.Private.SetKey(ctx, scriptKey, keep)...)
		return diags
	}
	prior, d := req.Private.GetKey(ctx, priorKey)
	diags.Append(d...)
	if len(prior) == 0 {
		return diags
	}
	script := joinscript.Base64Gzip
	if raw, d := req.Private.GetKey(ctx, scriptKey); len(raw) > 0 {
		diags.Append(d...)
		_ = json.Unmarshal(raw, &script) // what cannot be read is this build's
	}
	diags.Append(resp.Plan.SetAttribute(ctx, scriptPath, script)...)
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

var scriptPath = path.Root("join_script_base64gzip")

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
