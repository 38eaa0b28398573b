// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package reconfigure

import (
	"context"
	"slices"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// successionTimeout is how long a standby waits for the removal of the lost
// voter to begin: in the same Terraform run it begins immediately.
const successionTimeout = 15 * time.Second

// HeldUp means that a standby was not promoted, because all lost voters are healthy
// again, or because they must be removed first and no operation removes them.
type HeldUp struct {
	Lost     []membership.MemberID
	Back     bool
	Snapshot membership.Snapshot
}

// Error implements error.
func (h *HeldUp) Error() string {
	if h.Back {
		return "the lost voters are back"
	}
	return "lost voters must leave the list first"
}

// Failover promotes a standby learner in place of lost voters. If one of them must
// be removed first, it waits for that without the lock, which the removal needs.
// The error is [*HeldUp] if no operation removes it, or if all are healthy again.
func (e *Engine) Failover(ctx context.Context, r JoinRequest, lost []membership.MemberID) (Joined, error) {
	var held streak
	err := e.repeat(ctx, ActionPromote, r.Name, func() error {
		snap, err := e.observe(ctx, r.Cluster)
		switch {
		case err != nil && unrecoverable(err):
			return err
		case err != nil:
			return retrying(err)
		}
		f := membership.JudgeFailover(snap, cluster.SeenByLeader(ctx, e.Cluster, snap, snap.Down()))
		if len(lost) > 0 && !slices.ContainsFunc(lost, func(id membership.MemberID) bool { return !snap.Alive(id) }) {
			return &HeldUp{Lost: lost, Back: true, Snapshot: snap}
		}
		if m, _ := snap.Member(r.ID); !m.Learner || !f.First && !f.Unsettled {
			return nil
		}
		leaving := e.Process.leaving.Keys()
		switch {
		case slices.ContainsFunc(f.Lost, func(id membership.MemberID) bool { return slices.Contains(leaving, id) }):
			held = streak{}
		case held.lasts(e.Clock.Now()) > successionTimeout:
			return &HeldUp{Lost: f.Lost, Snapshot: snap}
		}
		return retrying(note("a lost voter must leave first"))
	})
	if err != nil {
		return Joined{}, err
	}
	r.Goal, r.standby = Voting, true
	return e.Join(ctx, r)
}

// WatchLoss judges a member that may have failed until it is healthy again, or
// until judge returns that no time is left. It also waits for an election that
// keeps the other members from reporting failures, as long as an election may take.
func (e *Engine) WatchLoss(ctx context.Context, name string, judge func() (loss membership.Loss, left time.Duration)) (loss membership.Loss) {
	_ = e.repeat(ctx, ActionRead, name, func() error {
		var left time.Duration
		loss, left = judge()
		switch {
		case loss == membership.Unsettled:
			return doubting(note("an election is under way"))
		case loss == membership.Vanished && left > 0:
			return retrying(note("the member does not answer"))
		default:
			return nil
		}
	})
	return loss
}
