// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package member

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/log"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/attribute"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/backend"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/private"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

// reasonKey is the key under which the plan stores the reason for Delete: Terraform
// does not tell Delete whether the member is removed permanently or replaced.
// priorKey is the key under which the first call of a plan stores the state for the
// second: for a replacement, Terraform plans a second time, without the state.
const (
	reasonKey = "delete_reason"
	priorKey  = "prior"
)

// deleteReason is the reason for a Delete. A plain removal is always planned,
// so any other reason is half of a replacement, which has the stricter rules.
type deleteReason string

const (
	deleteRemoval deleteReason = "removal" // planned without a successor
	deleteOther   deleteReason = "other"
	deleteFailed  deleteReason = "failed" // if a replacement, then of a failed member
	// deleteAbandoned is planned for a member of an abandoned cluster: it is
	// forgotten, not removed.
	deleteAbandoned deleteReason = "abandoned"
	// deleteAlone is planned for a new member whose configuration stays. Delete
	// gets it only for a tainted member, which Terraform plans like a new member.
	deleteAlone deleteReason = "alone"
)

// named is the argument that gives the member's URLs; see [backend.Naming].
const named = "peer_urls"

// prior is the state of a member that is replaced.
type prior struct {
	ID      string `json:"id"`
	Cluster string `json:"cluster"`
	Owner   string `json:"owner"`
	Name    string `json:"name"`
	Config  string `json:"config"`
	Machine string `json:"machine"`
	HasRun  bool   `json:"has_run"`
}

func (m model) prior() prior {
	return prior{
		ID: m.ID.ValueString(), Cluster: m.ClusterID.ValueString(), Owner: m.owner(),
		Name: m.Name.ValueString(), Config: m.configID(), Machine: m.MachineID.ValueString(),
		HasRun: m.Version.ValueString() != "" || len(m.ClientURLs.Elements()) > 0,
	}
}

// ModifyPlan implements resource.ResourceWithModifyPlan. It stores the reason
// for Delete, applies the guard of the plan, and plans the promotion of a
// learner.
func (r *Resource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if req.Plan.Raw.IsNull() { // there is no configuration either
		ctx = backend.Named(ctx, req.Private)
	} else {
		ctx = backend.Naming(ctx, req.Plan, named)
	}
	g := newGuard(ctx, r, req, resp)
	if g.b != nil && g.step != removed {
		given := argumentsOf(ctx, req.Config, &resp.Diagnostics)
		given.check(&resp.Diagnostics)
		given.planEnvironment(ctx, req, resp)
	}
	g.check(ctx)
	reason := g.reason(ctx)
	log.Debug(ctx, log.Membership, "planned a member", "name", g.now.Name.ValueString(), "delete_reason", string(reason))
	private.Keep(ctx, resp.Private, reasonKey, reason, &resp.Diagnostics)
	if g.step == updated && !resp.Diagnostics.HasError() {
		private.Keep(ctx, resp.Private, priorKey, g.was, &resp.Diagnostics)
		g.planVote(ctx)
	}
	g.checkForeign(ctx)
	g.checkLearnerID(ctx)
	g.planFailover(ctx)
	g.planMoved(ctx)
}

// reason returns the reason for Delete.
func (g *guard) reason(ctx context.Context) deleteReason {
	if g.isAbandoned() && g.step != updated && g.step != created {
		id, _ := membership.ParseClusterID(g.was.Cluster)
		gone, _ := g.b.Plan.Abandoned.Get(id)
		private.Keep(ctx, g.resp.Private, backend.GoneKey, gone, &g.resp.Diagnostics)
		return deleteAbandoned
	}
	switch g.step {
	case removed:
		return deleteRemoval
	case created:
		if g.now.key() != "" {
			return deleteAlone
		}
	case successor:
		if g.b != nil && !g.b.Unknown && g.b.Plan.Failed.Has(g.was.Config) {
			return deleteFailed
		}
	}
	return deleteOther
}

// planVote shows in the plan that a learner is to be promoted.
func (g *guard) planVote(ctx context.Context) {
	if g.state.Role.ValueString() == string(roleLearner) && (g.role == roleVoter || g.now.Promote.ValueBool()) {
		g.planPromotion(ctx)
	}
}

// planPromotion plans unknown values for the attributes that a promotion changes.
func (g *guard) planPromotion(ctx context.Context) {
	g.plan(ctx, "role", types.StringUnknown())
	g.plan(ctx, "client_urls", types.SetUnknown(types.StringType))
	g.plan(ctx, "version", types.StringUnknown())
}

func (g *guard) plan(ctx context.Context, attribute string, value any) {
	g.resp.Diagnostics.Append(g.resp.Plan.SetAttribute(ctx, path.Root(attribute), value)...)
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

// refuseDelete refuses problems that a plan could not see: a tainted member
// whose configuration stays, or a failed member that responds again.
func (m model) refuseDelete(ctx context.Context, c *backend.Cluster, reason deleteReason, id membership.MemberID, cluster membership.ClusterID) *text.Message {
	if reason != deleteAlone && reason != deleteFailed {
		return nil
	}
	snap, err := c.View(ctx, cluster)
	it, listed := snap.Member(id)
	switch {
	case reason == deleteFailed && err == nil && snap.Alive(id):
		return new(text.MemberBack(m.Name.ValueString()))
	case reason == deleteAlone && (err != nil || listed && len(it.ClientURLs) > 0):
		return new(text.MemberTainted(m.Name.ValueString()))
	}
	return nil
}
