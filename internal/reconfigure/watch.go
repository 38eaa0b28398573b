// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package reconfigure

import (
	"context"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// Glance returns what can be seen of a cluster within the time, at once or after
// looking again: if the member list is not confirmed, and if nobody answers and
// patient. The error is that of the last look that the end of the time did not cut
// short.
func (e *Engine) Glance(ctx context.Context, within time.Duration, patient bool) (membership.Snapshot, error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	var seen membership.Snapshot // the last look that saw a cluster
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

// WatchLoss judges a member that may be lost until it is back, or until judge says
// that no time is left before it counts as lost. An election that keeps the others
// from saying who is gone is waited for as well, as long as one may take.
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
