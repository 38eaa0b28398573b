// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package clustermember implements the resources etcd_member and etcd_learner.
package clustermember

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/backend"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/private"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/report"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

// role distinguishes etcd_member, for voting members, from etcd_learner.
type role string

// typeName returns the resource type of the role. provider is "etcd".
func (r role) typeName(provider string) string {
	return provider + map[role]string{roleVoter: "_member", roleLearner: "_learner"}[r]
}

// Resource is etcd_member or etcd_learner.
type Resource struct {
	backend.Resource
	role role
}

// NewResource returns etcd_member.
func NewResource() resource.Resource { return newResource(roleVoter) }

// NewLearnerResource returns etcd_learner.
func NewLearnerResource() resource.Resource { return newResource(roleLearner) }

func newResource(r role) *Resource { return &Resource{backend.Resource{Type: r.typeName("")}, r} }

// ValidateConfig implements resource.ResourceWithValidateConfig.
func (r *Resource) ValidateConfig(ctx context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse) {
	argumentsOf(ctx, req.Config, &resp.Diagnostics).check(&resp.Diagnostics)
}

const (
	// The defaults of timeouts.
	defaultJoin  = 10 * time.Minute
	defaultLeave = 5 * time.Minute
)

// Create implements resource.Resource. An error leaves no state, but the cluster has a
// record of an added member, and the next Create continues from there.
func (r *Resource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	r.Backend.Table.Apply()
	diags := &resp.Diagnostics
	m := r.role.model(ctx, req.Plan, diags)
	ctx = connection.TrustHosts(ctx, m.given()...)
	timeout, d := m.Timeouts.Create(ctx, defaultJoin)
	diags.Append(d...)
	if diags.HasError() {
		return
	}
	join := m.toRequest(ctx)
	if m.nodeID() != "" {
		join.Restart = timeout / 3 // the script on its machine joins as a new member
	}
	r.ensure(ctx, &m, timeout, reconfigure.ActionAdd, join, nil, diags)
	if diags.HasError() {
		return
	}
	if id, _, bad := m.ids(); bad == nil {
		r.Backend.Table.Note(membership.Entry{ID: id, Effect: membership.Created})
	}
	m.store(ctx, &resp.State, resp.Identity, diags)
	diags.Append(resp.Private.SetKey(ctx, keptKey, nil)...) // of the member before
	r.trust(ctx, resp.Private, m, m.ClientURLs, diags)
}

// Read implements resource.Resource.
func (r *Resource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	diags := &resp.Diagnostics
	ctx = trusted(ctx, req.Private, diags)
	m := r.role.model(ctx, req.State, diags)
	r.Backend.Table.Read(m.ID.ValueString())
	if diags.HasError() {
		return
	}
	m.identify(ctx, resp.Identity, diags)
	if !r.refresh(ctx, &m, diags) {
		resp.State.RemoveResource(ctx)
		return
	}
	// Terraform plans a replacement with the private data of what is gone.
	if k := (kept{Moved: keptOf(ctx, req.Private, diags).Moved, Failover: r.lost(ctx, m, diags)}); k.Moved != "" || k.Failover.Evidence != "" {
		private.Keep(ctx, resp.Private, keptKey, k, diags)
	} else {
		diags.Append(resp.Private.SetKey(ctx, keptKey, nil)...)
	}
	diags.Append(resp.State.Set(ctx, m.stored())...)
}

// Update implements resource.Resource. It updates the ownership record and the peer
// URLs, and promotes a learner, for etcd_learner only with promote = true or in a
// failover. Other changes concern only this resource.
func (r *Resource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	r.Backend.Table.Apply()
	diags := &resp.Diagnostics
	m, state := r.role.model(ctx, req.Plan, diags), r.role.model(ctx, req.State, diags)
	timeout, d := m.Timeouts.Update(ctx, defaultJoin)
	diags.Append(d...)
	if diags.HasError() {
		return
	}
	ctx = connection.TrustHosts(ctx, m.given()...)
	learner := state.Role.ValueString() == string(roleLearner)
	join := m.toRequest(ctx)
	var bad error
	join.ID, join.Cluster, bad = m.ids()
	join.Goal, join.Replaces = reconfigure.Voting, nil
	if bad != nil {
		report.Error(diags, text.BadID(m.Name.ValueString(), bad))
	}
	before := keptOf(ctx, req.Private, diags)
	r.own(ctx, cmp.Or(before.Moved, state.owner()), m, state, diags)
	r.readdress(ctx, m, state, timeout, diags)
	switch {
	case diags.HasError():
		return
	case learner && (r.role == roleVoter || m.promote.ValueBool()):
		r.ensure(ctx, &m, timeout, reconfigure.ActionPromote, join, nil, diags)
	case learner && m.failover.ValueBool() && m.Role.IsUnknown():
		r.ensure(ctx, &m, timeout, reconfigure.ActionPromote, join, &before.Failover, diags)
	}
	m.keepUnknown(state)
	if !diags.HasError() {
		diags.Append(resp.Private.SetKey(ctx, keptKey, nil)...)
		r.trust(ctx, resp.Private, m, state.ClientURLs, diags)
		m.store(ctx, &resp.State, resp.Identity, diags)
	}
}

// Delete implements resource.Resource. It does not remove a learner that an etcd_member
// has adopted, nor a member for which this run has created a resource.
func (r *Resource) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	r.Backend.Table.Apply()
	diags := &resp.Diagnostics
	ctx = trusted(ctx, req.Private, diags)
	m := r.role.model(ctx, req.State, diags)
	plan := keptOf(ctx, req.Private, diags)
	owner := cmp.Or(plan.Moved, m.owner())
	timeout, d := m.Timeouts.Delete(ctx, defaultLeave)
	diags.Append(d...)
	if id, _, bad := m.ids(); bad == nil && r.Backend.Table.HasJoined(id) {
		report.Warn(diags, text.New("Member "+m.Name.ValueString()+" stays",
			"This Terraform run has created a resource for the member before it destroyed the one from before, so the member was not removed. "+
				"Remove create_before_destroy from the lifecycle block of the resource."))
		return
	}
	if !diags.HasError() {
		r.leave(ctx, m, owner, plan, timeout, diags)
	}
}

// plannedAlone is the warning for a member whose etcd_cluster this process does not plan.
func plannedAlone(name string) text.Message {
	return text.New("Member "+name+" is planned without its etcd_cluster",
		"No etcd_cluster of this provider block has the node of %s: the etcd_cluster has another provider block, or is in another state. Terraform runs a process for each provider block, "+
			"and each process judges only the members that it plans: two of them together can replace two voters in one plan. "+
			"Use one provider block for an etcd_cluster and all of its members: set the same provider argument, or none, in each of their blocks and modules.", name)
}

// own records the present owner of the member: for an imported member that got its
// node, or a member without its former learner_id.
func (r *Resource) own(ctx context.Context, was string, m, state model, diags *diag.Diagnostics) {
	if m.owner() == was || diags.HasError() {
		return
	}
	id, at, _ := state.ids() // Update has read them
	r.act(ctx, m, reconfigure.ActionRecord, diags, func(c *backend.Cluster) error {
		return c.RecordOwner(ctx, reconfigure.OwnerRequest{
			Was: was, Owner: m.owner(), Cluster: at, ID: id, Name: m.Name.ValueString(), PeerURLs: state.peers(),
		})
	})
}

// readdress updates the member's peer URLs if they have changed.
func (r *Resource) readdress(ctx context.Context, m, state model, timeout time.Duration, diags *diag.Diagnostics) {
	want, name := m.peers(), m.Name.ValueString()
	if slices.Equal(want, state.peers()) || diags.HasError() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	id, at, _ := state.ids() // Update has read them
	var updated reconfigure.Outcome
	if !r.act(ctx, m, reconfigure.ActionUpdate, diags, func(c *backend.Cluster) (err error) {
		updated, err = c.UpdatePeerURLs(ctx, reconfigure.UpdateRequest{Owner: m.owner(), ID: id, Cluster: at, Name: name, PeerURLs: want})
		return err
	}) {
		return
	}
	report.Done(diags, reconfigure.ActionUpdate, name, updated)
	report.Warn(diags, text.New("Restart member "+name+" with its new peer URLs",
		"The cluster now reaches %s at %s. Until its process listens there (ETCD_LISTEN_PEER_URLS, ETCD_INITIAL_ADVERTISE_PEER_URLS), the others cannot reach it. "+
			"Restart it now. Until the metrics show that they reach it there, no change relies on this member, and no other member's peer URLs change.", name, want))
}
