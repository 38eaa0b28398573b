// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package clustermember

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

// lostVoters are the lost voters that were observed; none if Evidence is empty.
type lostVoters struct {
	Lost     []membership.MemberID `json:"lost,omitempty"`
	Evidence string                `json:"evidence,omitempty"`
}

// lost observes from Terraform and from the leader, for as long as an election may
// take, which voters a standby could stand in for.
func (r *Resource) lost(ctx context.Context, m model, diags *diag.Diagnostics) (seen lostVoters) {
	if r.role != roleLearner || !m.Failover.ValueBool() || m.Role.ValueString() != string(roleLearner) || r.Backend.Unknown {
		return lostVoters{}
	}
	_, id, bad := m.ids()
	c, err := r.reach(ctx, m, diags)
	if err != nil || bad != nil {
		return lostVoters{}
	}
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

// takeOver promotes the standby. If a lost voter must be removed first and nothing
// removes it, the standby stays a learner with a warning, and the rest of the apply
// continues.
func takeOver(lost []membership.MemberID) join {
	return func(e *reconfigure.Engine, ctx context.Context, req reconfigure.JoinRequest) (reconfigure.Joined, error) {
		return e.Failover(ctx, req, lost)
	}
}
