// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package member implements the resources etcd_member and etcd_learner.
package member

import (
	"cmp"
	"context"

	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/attribute"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/backend"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/private"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
)

// role distinguishes etcd_member, for voting members, from etcd_learner.
type role string

// typeName returns the name of the resource and of the list for the role.
func (r role) typeName(provider string) string {
	if r == roleLearner {
		return provider + "_learner"
	}
	return provider + "_member"
}

// Resource is etcd_member or etcd_learner.
type Resource struct {
	role    role
	backend *backend.Backend
}

var (
	_ resource.ResourceWithConfigure      = (*Resource)(nil)
	_ resource.ResourceWithModifyPlan     = (*Resource)(nil)
	_ resource.ResourceWithIdentity       = (*Resource)(nil)
	_ resource.ResourceWithImportState    = (*Resource)(nil)
	_ resource.ResourceWithMoveState      = (*Resource)(nil)
	_ resource.ResourceWithValidateConfig = (*Resource)(nil)
)

// NewResource returns etcd_member.
func NewResource() resource.Resource { return &Resource{role: roleVoter} }

// NewLearnerResource returns etcd_learner.
func NewLearnerResource() resource.Resource { return &Resource{role: roleLearner} }

// Metadata implements resource.Resource.
func (r *Resource) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = r.role.typeName(req.ProviderTypeName)
}

// Configure implements resource.ResourceWithConfigure.
func (r *Resource) Configure(_ context.Context, req resource.ConfigureRequest, resp *resource.ConfigureResponse) {
	r.backend = backend.From(req.ProviderData, &resp.Diagnostics)
}

// ValidateConfig implements resource.ResourceWithValidateConfig.
func (r *Resource) ValidateConfig(ctx context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse) {
	argumentsOf(ctx, req.Config, &resp.Diagnostics).check(&resp.Diagnostics)
}

// Create implements resource.Resource. An error leaves no state, but the cluster
// has a record of an added member, and the next Create continues from there.
func (r *Resource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	ctx = backend.Naming(ctx, req.Plan, named)
	m := r.role.model(ctx, req.Plan, &resp.Diagnostics)
	timeout, diags := m.Timeouts.Create(ctx, defaultJoin)
	resp.Diagnostics.Append(diags...)
	join := m.toRequest()
	if resp.Diagnostics.HasError() {
		return
	}
	if !m.learnerID.IsNull() {
		join.ID, _ = membership.ParseMemberID(m.learnerID.ValueString()) // validated already
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	m.ensure(ctx, r.backend, reconfigure.ActionAdd, (*reconfigure.Engine).Join, join, &resp.Diagnostics)
	if !resp.Diagnostics.HasError() {
		resp.Diagnostics.Append(resp.State.Set(ctx, m.stored())...)
		resp.Diagnostics.Append(m.setIdentity(ctx, resp.Identity)...)
		resp.Diagnostics.Append(resp.Private.SetKey(ctx, movedKey, nil)...) // the predecessor's
		backend.KeepNamed(ctx, resp.Private, req.Plan, &resp.Diagnostics, r.backend.Settings.NamedOf(attribute.Texts(m.ClientURLs)), named)
	}
}

// Read implements resource.Resource.
func (r *Resource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	ctx = backend.Named(ctx, req.Private)
	m := r.role.model(ctx, req.State, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	present := m.refresh(ctx, r.backend, &resp.Diagnostics)
	if present {
		// Terraform refreshes a tainted resource, and then plans it as if it were new.
		r.backend.Plan.Hold(m.key(), m.holder())
	}
	resp.Diagnostics.Append(m.setIdentity(ctx, resp.Identity)...)
	switch {
	case !present:
		resp.State.RemoveResource(ctx)
		// Terraform plans the replacement with the private data of this resource.
		for _, key := range []string{priorKey, movedKey} {
			resp.Diagnostics.Append(resp.Private.SetKey(ctx, key, nil)...)
		}
	case !resp.Diagnostics.HasError():
		if r.role == roleLearner {
			m.lookForLost(ctx, r.backend, resp)
		}
		resp.Diagnostics.Append(resp.State.Set(ctx, m.stored())...)
	}
}

// Update implements resource.Resource. It updates the ownership record and the
// peer URLs, and promotes a learner, for etcd_learner only with promote = true
// or in a failover. Other changes concern only this resource.
func (r *Resource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	ctx = backend.Naming(ctx, req.Plan, named)
	diags := &resp.Diagnostics
	m, state := r.role.model(ctx, req.Plan, diags), r.role.model(ctx, req.State, diags)
	was := cmp.Or(private.Kept[string](ctx, req.Private, movedKey, diags), state.owner())
	if diags.HasError() {
		return
	}
	m.own(ctx, r.backend, was, state, diags)
	if diags.HasError() {
		return
	}
	diags.Append(resp.Private.SetKey(ctx, movedKey, nil)...)
	m.readdress(ctx, r.backend, state, diags)
	if diags.HasError() {
		return
	}
	switch learner := state.Role.ValueString() == string(roleLearner); {
	case learner && (r.role == roleVoter || m.Promote.ValueBool()):
		m.promote(ctx, r.backend, (*reconfigure.Engine).Join, diags)
	case learner && m.Failover.ValueBool() && m.Role.IsUnknown():
		m.promote(ctx, r.backend, takeOver(private.Kept[lostVoters](ctx, req.Private, failoverKey, diags).Lost), diags)
	}
	m.keepUnknown(state)
	if !diags.HasError() {
		backend.KeepNamed(ctx, resp.Private, req.Plan, diags, r.backend.Settings.NamedOf(attribute.Texts(state.ClientURLs)), named)
		diags.Append(resp.State.Set(ctx, m.stored())...)
		diags.Append(m.setIdentity(ctx, resp.Identity)...)
	}
}

// Delete implements resource.Resource. It does not remove a learner that an
// etcd_member has adopted.
func (r *Resource) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	ctx = backend.Named(ctx, req.Private)
	diags := &resp.Diagnostics
	m := r.role.model(ctx, req.State, diags)
	reason := private.Kept[deleteReason](ctx, req.Private, reasonKey, diags)
	was := private.Kept[string](ctx, req.Private, movedKey, diags)
	gone := private.Kept[[]string](ctx, req.Private, backend.GoneKey, diags)
	if !diags.HasError() {
		m.leave(ctx, r.backend, reason, was, gone, diags)
	}
}
