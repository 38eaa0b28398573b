// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package member

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/backend"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/private"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/report"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

// failoverKey is the key under which Read stores the lost voters for the plan,
// because a plan must give the same result when it is applied.
const failoverKey = "failover"

// lostVoters are the lost voters that were observed; none if Evidence is empty.
type lostVoters struct {
	Lost     []membership.MemberID `json:"lost"`
	Evidence string                `json:"evidence"`
}

// lookForLost stores which voters are lost.
func (m model) lookForLost(ctx context.Context, b *backend.Backend, resp *resource.ReadResponse) {
	var seen lostVoters
	if m.Failover.ValueBool() && m.Role.ValueString() == string(roleLearner) && !b.Unknown {
		seen = m.lost(ctx, b, &resp.Diagnostics)
	}
	private.Keep(ctx, resp.Private, failoverKey, seen, &resp.Diagnostics)
}

// lost observes from Terraform and from the leader, for as long as an election may take.
func (m model) lost(ctx context.Context, b *backend.Backend, diags *diag.Diagnostics) lostVoters {
	var bad diag.Diagnostics
	_, id := m.ids(&bad)
	c, _, err := m.reach(b, diags)
	if err != nil || bad.HasError() {
		return lostVoters{}
	}
	var seen lostVoters
	c.WatchLoss(ctx, m.Name.ValueString(), func() (membership.Loss, time.Duration) {
		snap, err := c.View(ctx, id)
		if err != nil {
			return membership.Unreachable, 0 // the refresh reports it
		}
		f := membership.JudgeFailover(snap, cluster.SeenByLeader(ctx, c.Cluster, snap, snap.Down()))
		switch {
		case len(f.Lost) > 0:
			seen = lostVoters{f.Lost, text.FailoverEvidence(snap, f)}
			return membership.Vanished, 0
		case f.Unsettled:
			return membership.Unsettled, 0
		default:
			return membership.Present, 0
		}
	})
	return seen
}

// planFailover shows in the plan that a standby is to be promoted.
func (g *guard) planFailover(ctx context.Context) {
	evidence := private.Kept[lostVoters](ctx, g.req.Private, failoverKey, &g.resp.Diagnostics).Evidence
	if g.step != updated || g.resp.Diagnostics.HasError() || evidence == "" ||
		!g.now.Failover.ValueBool() || g.now.Promote.ValueBool() || g.state.Role.ValueString() != string(roleLearner) {
		return
	}
	g.planPromotion(ctx)
	report.Warn(&g.resp.Diagnostics, text.FailoverPlanned(g.state.Name.ValueString(), evidence))
}

// takeOver promotes the standby. If a lost voter must be removed first and
// nothing removes it, the standby stays a learner with a warning, and the rest
// of the apply continues.
func takeOver(lost []membership.MemberID) join {
	return func(e *reconfigure.Engine, ctx context.Context, req reconfigure.JoinRequest) (reconfigure.Joined, error) {
		return e.Failover(ctx, req, lost)
	}
}
