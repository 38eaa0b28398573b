// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package member

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/diag"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/backend"
)

// guardPlan notes what is planned for this member and refuses what all that
// was planned so far would come to. It stays silent where the cluster cannot be
// asked: then nothing is known of its voters, and each change is decided about
// by itself. It reports whether the member may be replaced in one plan with
// others, one after the other.
func guardPlan(ctx context.Context, b *backend.Backend, want string, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) (inTurn bool) {
	if b == nil || b.Unknown {
		return false
	}
	var state, plan model
	if !req.State.Raw.IsNull() {
		for attribute, to := range map[string]any{
			"id": &state.ID, "cluster_id": &state.ClusterID, "client_urls": &state.ClientURLs, "name": &state.Name, "endpoints": &state.Endpoints,
		} {
			resp.Diagnostics.Append(req.State.GetAttribute(ctx, path.Root(attribute), to)...)
		}
	}
	plan.Name, plan.Endpoints = state.Name, state.Endpoints
	if !req.Plan.Raw.IsNull() {
		resp.Diagnostics.Append(req.Plan.GetAttribute(ctx, path.Root("name"), &plan.Name)...)
		resp.Diagnostics.Append(req.Plan.GetAttribute(ctx, path.Root("endpoints"), &plan.Endpoints)...)
	}
	if resp.Diagnostics.HasError() {
		return false
	}
	name := plan.Name.ValueString()
	defer b.Chains().Member(name)
	guard := guardOf(ctx, b, state, plan, req, resp)
	if guard == nil {
		return false
	}
	inTurn = guard.TakesTurns(name)
	if !noteChange(ctx, guard, want, name, state.ID.ValueString(), req, resp) {
		return inTurn
	}
	snap, err := guard.At.View(ctx, guard.Cluster)
	if err != nil {
		return inTurn
	}
	changes := guard.Changes()
	if len(changes.Replaced) > 0 {
		// What cannot be read now is read again before anybody leaves.
		changes.Turns, _ = guard.At.OpenTurns(ctx, snap)
	}
	if d := membership.GuardPlan(snap, changes); d.Verdict == membership.Refuse {
		t := diag.PlanRefused(d, snap)
		resp.Diagnostics.AddError(t.Summary, t.Detail)
	}
	return inTurn
}

// guardOf returns the guard of the member's cluster: by its ID where the member
// is in state, by looking for a new one. Endpoints that are known after apply
// only are a new machine's: then it is the cluster that has a member of the
// name, or the only one there is. nil means that nothing can be known.
func guardOf(ctx context.Context, b *backend.Backend, state, plan model, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) *backend.Guard {
	if !req.State.Raw.IsNull() {
		_, id, diags := state.ids()
		at := plan.Endpoints
		if someUnknown(at) {
			at = state.Endpoints
		}
		endpoints, d := list(ctx, at)
		diags.Append(d...)
		resp.Diagnostics.Append(diags...)
		c, err := b.Cluster(endpoints)
		if err != nil || diags.HasError() {
			return nil // said where it matters
		}
		resp.Diagnostics.Append(state.expect(ctx, c)...)
		return b.Guard(id, c)
	}
	if someUnknown(plan.Endpoints) {
		return b.GuardOf(plan.Name.ValueString())
	}
	endpoints, diags := list(ctx, plan.Endpoints)
	resp.Diagnostics.Append(diags...)
	c, err := b.Cluster(endpoints)
	if err != nil {
		t := diag.Explain("reach", plan.Name.ValueString(), err)
		resp.Diagnostics.AddError(t.Summary, t.Detail)
		return nil
	}
	id := c.Expected()
	if snap, err := c.View(ctx, id); err == nil {
		id = snap.ClusterID
	}
	return b.Guard(id, c)
}

// someUnknown reports whether a list, or anything in it, is unknown.
func someUnknown(l types.List) bool {
	for _, e := range l.Elements() {
		if e.IsUnknown() {
			return true
		}
	}
	return l.IsUnknown()
}

// noteChange notes what is planned and reports whether it matters to the guard.
// The second half of a replacement shows as a creation with private state.
func noteChange(ctx context.Context, guard *backend.Guard, want, name, id string, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) bool {
	member, _ := membership.ParseMemberID(id) // zero, which is nobody, where there is none
	leg, diags := req.Private.GetKey(ctx, legKey)
	resp.Diagnostics.Append(diags...)
	switch {
	case req.Plan.Raw.IsNull():
		guard.Remove(member)
	case !req.State.Raw.IsNull():
		guard.Keep(name, member)
		guardReaddress(ctx, guard, name, req, resp)
		return false
	case len(leg) > 0:
		guard.Replace(name)
	case want == roleLearner:
		guardAnnouncement(ctx, guard, name, req, resp)
		return false
	default:
		guard.Create(name)
	}
	return true
}

// guardReaddress refuses a second member whose peer URLs change in place: the
// process of the first has to be restarted before.
func guardReaddress(ctx context.Context, guard *backend.Guard, name string, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	var was, now types.Set
	var wasConfig, nowConfig types.String
	resp.Diagnostics.Append(req.State.GetAttribute(ctx, path.Root("peer_urls"), &was)...)
	resp.Diagnostics.Append(req.Plan.GetAttribute(ctx, path.Root("peer_urls"), &now)...)
	resp.Diagnostics.Append(req.State.GetAttribute(ctx, path.Root("config_id"), &wasConfig)...)
	resp.Diagnostics.Append(req.Plan.GetAttribute(ctx, path.Root("config_id"), &nowConfig)...)
	replaced := !wasConfig.IsNull() && !nowConfig.Equal(wasConfig)
	if resp.Diagnostics.HasError() || replaced || now.IsUnknown() || now.Equal(was) {
		return
	}
	if names := guard.Readdress(name); len(names) > 1 {
		t := diag.SecondReaddress(names)
		resp.Diagnostics.AddAttributeError(path.Root("peer_urls"), t.Summary, t.Detail)
	}
}

// guardAnnouncement refuses a second learner that is only announced: it would
// wait for the slot of the first, whose machine waits for it.
func guardAnnouncement(ctx context.Context, guard *backend.Guard, name string, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	var until types.String
	resp.Diagnostics.Append(req.Plan.GetAttribute(ctx, path.Root("wait_until"), &until)...)
	if until.ValueString() != waitAnnounced {
		return
	}
	if names := guard.AnnounceOnly(name); len(names) > 1 {
		t := diag.SecondAnnouncement(names)
		resp.Diagnostics.AddError(t.Summary, t.Detail)
	}
}
