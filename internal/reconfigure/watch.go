// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package reconfigure

import (
	"context"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

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
