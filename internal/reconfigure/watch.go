// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package reconfigure

import (
	"context"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// Glance returns a snapshot of the cluster within the time. It observes again
// if the member list is not confirmed and, if patient is true, if no endpoint
// answers. The error is that of the last observation that was not cut short by
// the end of the time.
func (e *Engine) Glance(ctx context.Context, within time.Duration, patient bool) (membership.Snapshot, error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	var seen membership.Snapshot // the last snapshot of a cluster
	err := e.repeat(ctx, ActionConfigure, "", func() error {
		snap, err := e.Cluster.Observe(ctx, 0)
		switch {
		case err != nil && patient && !unrecoverable(err):
			return retrying(err)
		case err != nil:
			return err
		}
		seen = snap
		if d := snap.Gate(0); d.Verdict != membership.Go {
			return retrying(note(d.Code))
		}
		return nil
	})
	if seen.ClusterID != 0 {
		err = nil
	}
	return seen, err
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
