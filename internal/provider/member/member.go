// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package member is the resources etcd_member and etcd_learner.
package member

import (
	"cmp"
	"context"

	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/backend"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
)

// Member is etcd_member.
type Member struct{ backend *backend.Backend }

var (
	_ resource.ResourceWithConfigure   = (*Member)(nil)
	_ resource.ResourceWithModifyPlan  = (*Member)(nil)
	_ resource.ResourceWithIdentity    = (*Member)(nil)
	_ resource.ResourceWithImportState = (*Member)(nil)
	_ resource.ResourceWithMoveState   = (*Member)(nil)

	_ resource.ResourceWithValidateConfig = (*Member)(nil)
)

// NewResource returns etcd_member.
func NewResource() resource.Resource { return &Member{} }

// Metadata implements resource.Resource.
func (r *Member) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_member"
}

// Configure implements resource.ResourceWithConfigure.
func (r *Member) Configure(_ context.Context, req resource.ConfigureRequest, resp *resource.ConfigureResponse) {
	r.backend = backend.From(req.ProviderData, &resp.Diagnostics)
}

// ValidateConfig implements resource.ResourceWithValidateConfig.
func (r *Member) ValidateConfig(ctx context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse) {
	argumentsOf(ctx, req.Config, &resp.Diagnostics).check(&resp.Diagnostics)
}

// ModifyPlan implements resource.ResourceWithModifyPlan.
func (r *Member) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	ctx = naming(ctx, req)
	modifyPlan(ctx, r.backend, roleVoter, req, resp)
	guardForeign(ctx, r.backend, req, resp)
	guardLearnerID(ctx, r.backend, req, resp)
	planMoved(ctx, req, resp)
}

// Create implements resource.Resource. An error leaves no state: what was
// announced is recorded in the cluster, and the next create carries on.
func (r *Member) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	ctx = backend.Naming(ctx, req.Plan, named)
	var m memberModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	timeout, diags := m.Timeouts.Create(ctx, defaultJoin)
	resp.Diagnostics.Append(diags...)
	join, diags := m.join(ctx, m.kind())
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	if !m.LearnerID.IsNull() {
		// Validated already; zero would be refused as not a member.
		join.ID, _ = membership.ParseMemberID(m.LearnerID.ValueString())
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
func (r *Member) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	ctx = backend.Named(ctx, req.Private)
	var m memberModel
	resp.Diagnostics.Append(req.State.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	present, diags := m.refresh(ctx, r.backend, holder(roleVoter, planned{LearnerID: m.LearnerID}))
	resp.Diagnostics.Append(diags...)
	resp.Diagnostics.Append(m.identify(ctx, resp.Identity)...)
	switch {
	case !present:
		resp.State.RemoveResource(ctx)
	case !resp.Diagnostics.HasError():
		resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
	}
}

// Update implements resource.Resource: it gives the member the vote it has not
// got yet. Everything else that changes in place only concerns this resource.
func (r *Member) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	ctx = backend.Naming(ctx, req.Plan, named)
	var m, state memberModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	if resp.Diagnostics.HasError() {
		return
	}
	was := cmp.Or(movedOwner(ctx, req.Private), state.owner(state.kind()))
	resp.Diagnostics.Append(m.own(ctx, r.backend, m.kind(), was, state.model)...)
	if resp.Diagnostics.HasError() {
		return
	}
	resp.Diagnostics.Append(resp.Private.SetKey(ctx, movedKey, nil)...)
	resp.Diagnostics.Append(m.readdress(ctx, r.backend, m.kind(), state.model)...)
	if resp.Diagnostics.HasError() {
		return
	}
	if state.Role.ValueString() != roleVoter {
		resp.Diagnostics.Append(m.promote(ctx, r.backend, m.kind())...)
	}
	m.settleUnknown(state.model)
	if !resp.Diagnostics.HasError() {
		resp.Diagnostics.Append(backend.KeepNamed(ctx, resp.Private, req.Plan, named)...)
		resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
		resp.Diagnostics.Append(m.identify(ctx, resp.Identity)...)
	}
}

// Delete implements resource.Resource.
func (r *Member) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	ctx = backend.Named(ctx, req.Private)
	var m memberModel
	resp.Diagnostics.Append(req.State.Get(ctx, &m)...)
	leg, diags := legOf(ctx, req.Private)
	resp.Diagnostics.Append(diags...)
	if !resp.Diagnostics.HasError() {
		resp.Diagnostics.Append(m.leave(ctx, r.backend, m.kind(), leg, movedOwner(ctx, req.Private))...)
	}
}

// promote gives the member its vote.
func (m *model) promote(ctx context.Context, b *backend.Backend, k kind) (diags fwDiagnostics) {
	timeout, diags := m.Timeouts.Update(ctx, defaultJoin)
	join, d := m.join(ctx, k)
	diags.Append(d...)
	if diags.HasError() {
		return diags
	}
	id, cluster, d := m.ids()
	diags.Append(d...)
	if diags.HasError() {
		return diags
	}
	join.ID, join.Cluster, join.Goal = id, cluster, reconfigure.Voting
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	diags.Append(m.ensure(ctx, b, reconfigure.ActionPromote, join)...)
	return diags
}

// settleUnknown gives what the plan left open, and no promotion filled in, its
// former value.
func (m *model) settleUnknown(state model) {
	if m.Role.IsUnknown() {
		m.Role = state.Role
	}
	if m.ClientURLs.IsUnknown() {
		m.ClientURLs = state.ClientURLs
	}
	if m.Version.IsUnknown() {
		m.Version = state.Version
	}
}
