// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package member

import (
	"cmp"
	"context"

	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/backend"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
)

// Learner is etcd_learner.
type Learner struct{ backend *backend.Backend }

var (
	_ resource.ResourceWithConfigure   = (*Learner)(nil)
	_ resource.ResourceWithModifyPlan  = (*Learner)(nil)
	_ resource.ResourceWithIdentity    = (*Learner)(nil)
	_ resource.ResourceWithImportState = (*Learner)(nil)
	_ resource.ResourceWithMoveState   = (*Learner)(nil)

	_ resource.ResourceWithValidateConfig = (*Learner)(nil)
)

// NewLearnerResource returns etcd_learner.
func NewLearnerResource() resource.Resource { return &Learner{} }

// Metadata implements resource.Resource.
func (r *Learner) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_learner"
}

// Configure implements resource.ResourceWithConfigure.
func (r *Learner) Configure(_ context.Context, req resource.ConfigureRequest, resp *resource.ConfigureResponse) {
	r.backend = backend.From(req.ProviderData, &resp.Diagnostics)
}

// ValidateConfig implements resource.ResourceWithValidateConfig.
func (r *Learner) ValidateConfig(ctx context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse) {
	argumentsOf(ctx, req.Config, &resp.Diagnostics).check(&resp.Diagnostics)
}

// ModifyPlan implements resource.ResourceWithModifyPlan.
func (r *Learner) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	ctx = naming(ctx, req)
	modifyPlan(ctx, r.backend, roleLearner, req, resp)
	guardForeign(ctx, r.backend, req, resp)
	planFailover(ctx, req, resp)
	planMoved(ctx, req, resp)
}

// Create implements resource.Resource. As with members, an error leaves no
// state.
func (r *Learner) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	ctx = backend.Naming(ctx, req.Plan, named)
	var m learnerModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	timeout, diags := m.Timeouts.Create(ctx, defaultJoin)
	resp.Diagnostics.Append(diags...)
	join, diags := m.join(ctx, kindLearner)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	if m.Promote.ValueBool() && join.Goal == reconfigure.CaughtUp {
		join.Goal = reconfigure.Voting
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	resp.Diagnostics.Append(m.ensure(ctx, r.backend, reconfigure.ActionAdd, join)...)
	if !resp.Diagnostics.HasError() {
		resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
		resp.Diagnostics.Append(m.identify(ctx, resp.Identity)...)
		resp.Diagnostics.Append(resp.Private.SetKey(ctx, movedKey, nil)...) // that was the one before
		resp.Diagnostics.Append(backend.KeepNamed(ctx, resp.Private, req.Plan, named)...)
	}
}

// Read implements resource.Resource.
func (r *Learner) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	ctx = backend.Named(ctx, req.Private)
	var m learnerModel
	resp.Diagnostics.Append(req.State.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	present, diags := m.refresh(ctx, r.backend, backend.LearnerHolder)
	resp.Diagnostics.Append(diags...)
	resp.Diagnostics.Append(m.identify(ctx, resp.Identity)...)
	switch {
	case !present:
		resp.State.RemoveResource(ctx)
	case !resp.Diagnostics.HasError():
		m.lookForLost(ctx, r.backend, resp)
		resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
	}
}

// Update implements resource.Resource: promote = true gives it its vote.
func (r *Learner) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	ctx = backend.Naming(ctx, req.Plan, named)
	var m, state learnerModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	if resp.Diagnostics.HasError() {
		return
	}
	was := cmp.Or(movedOwner(ctx, req.Private), state.owner(kindLearner))
	resp.Diagnostics.Append(m.own(ctx, r.backend, kindLearner, was, state.model)...)
	if resp.Diagnostics.HasError() {
		return
	}
	resp.Diagnostics.Append(resp.Private.SetKey(ctx, movedKey, nil)...)
	resp.Diagnostics.Append(m.readdress(ctx, r.backend, kindLearner, state.model)...)
	if resp.Diagnostics.HasError() {
		return
	}
	switch learner := state.Role.ValueString() == roleLearner; {
	case learner && m.Promote.ValueBool():
		resp.Diagnostics.Append(m.promote(ctx, r.backend, kindLearner)...)
	case learner && m.Failover.ValueBool() && m.Role.IsUnknown():
		resp.Diagnostics.Append(m.takeOver(ctx, r.backend, lostVotersOf(ctx, req.Private).Lost)...)
	}
	m.settleUnknown(state.model)
	if !resp.Diagnostics.HasError() {
		resp.Diagnostics.Append(backend.KeepNamed(ctx, resp.Private, req.Plan, named)...)
		resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
		resp.Diagnostics.Append(m.identify(ctx, resp.Identity)...)
	}
}

// Delete implements resource.Resource. A learner that an etcd_member has taken
// over is that member's from then on.
func (r *Learner) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	ctx = backend.Named(ctx, req.Private)
	var m learnerModel
	resp.Diagnostics.Append(req.State.Get(ctx, &m)...)
	leg, diags := legOf(ctx, req.Private)
	resp.Diagnostics.Append(diags...)
	if !resp.Diagnostics.HasError() {
		resp.Diagnostics.Append(m.leave(ctx, r.backend, kindLearner, leg, movedOwner(ctx, req.Private))...)
	}
}
