// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package member

import (
	"context"

	fwdiag "github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/diag"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/backend"
)

type fwDiagnostics = fwdiag.Diagnostics

// legKey is where the plan leaves word for Delete: Terraform does not tell it
// whether the member goes for good or makes room for its successor.
const legKey = "leg"

// leg is what a Delete is part of. They are JSON, as private state must be.
type leg string

const (
	legRemoval leg = `"removal"` // planned with nothing to follow
	legOther   leg = `"other"`
	legInTurn  leg = `"in turn"` // if a replacement, then one of several that take turns
)

// legOf reads what the plan left. A pure removal is always planned, so anything
// else is half a replacement, which is the stricter of the two.
func legOf(ctx context.Context, private interface {
	GetKey(context.Context, string) ([]byte, fwdiag.Diagnostics)
}) (leg, fwdiag.Diagnostics) {
	left, diags := private.GetKey(ctx, legKey)
	return leg(left), diags
}

// modifyPlan leaves word for Delete, refuses a machine that is replaced alone
// and a plan that no order of its steps could carry out safely, and plans the
// vote of a member that has none yet.
func modifyPlan(ctx context.Context, b *backend.Backend, want string, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	leg := legOther
	if req.Plan.Raw.IsNull() {
		leg = legRemoval
	}
	if guardPlan(ctx, b, want, req, resp) && leg == legOther {
		leg = legInTurn
	}
	resp.Diagnostics.Append(resp.Private.SetKey(ctx, legKey, []byte(leg))...)
	if req.Plan.Raw.IsNull() || req.State.Raw.IsNull() || resp.Diagnostics.HasError() {
		return
	}
	guardMachine(ctx, req, resp)
	planVote(ctx, want, req, resp)
}

// guardMachine refuses a plan in which the machine changes while the
// configuration of the member's process does not: the new machine would start
// with the old identity's settings, and without its data.
func guardMachine(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	var was, now, wasConfig, nowConfig, name types.String
	resp.Diagnostics.Append(req.State.GetAttribute(ctx, path.Root("machine_id"), &was)...)
	resp.Diagnostics.Append(req.Plan.GetAttribute(ctx, path.Root("machine_id"), &now)...)
	resp.Diagnostics.Append(req.State.GetAttribute(ctx, path.Root("config_id"), &wasConfig)...)
	resp.Diagnostics.Append(req.Plan.GetAttribute(ctx, path.Root("config_id"), &nowConfig)...)
	resp.Diagnostics.Append(req.State.GetAttribute(ctx, path.Root("name"), &name)...)
	if resp.Diagnostics.HasError() || was.IsNull() || now.IsNull() || now.Equal(was) || wasConfig.IsNull() || !nowConfig.Equal(wasConfig) {
		return
	}
	t := diag.MachineAlone(name.ValueString(), was.ValueString(), now.ValueString())
	resp.Diagnostics.AddAttributeError(path.Root("machine_id"), t.Summary, t.Detail)
}

// planVote shows in the plan that a learner is to be promoted.
func planVote(ctx context.Context, want string, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	var role types.String
	resp.Diagnostics.Append(req.State.GetAttribute(ctx, path.Root("role"), &role)...)
	if want == roleLearner {
		var promote types.Bool
		resp.Diagnostics.Append(req.Plan.GetAttribute(ctx, path.Root("promote"), &promote)...)
		if !promote.ValueBool() {
			return
		}
	}
	if resp.Diagnostics.HasError() || role.ValueString() != roleLearner {
		return
	}
	planPromotion(ctx, resp)
}

// planPromotion leaves open what a vote changes.
func planPromotion(ctx context.Context, resp *resource.ModifyPlanResponse) {
	resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root("role"), types.StringUnknown())...)
	resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root("client_urls"), types.SetUnknown(types.StringType))...)
	resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root("version"), types.StringUnknown())...)
}

// demotion replaces a learner that was promoted: a vote cannot be taken back.
type demotion struct{}

func (demotion) Description(context.Context) string { return "true to false replaces the learner" }

func (d demotion) MarkdownDescription(ctx context.Context) string { return d.Description(ctx) }

func (demotion) PlanModifyBool(_ context.Context, req planmodifier.BoolRequest, resp *planmodifier.BoolResponse) {
	if !req.State.Raw.IsNull() && req.StateValue.ValueBool() && !req.PlanValue.IsUnknown() && !req.PlanValue.ValueBool() {
		resp.RequiresReplace = true
	}
}
