// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package backend

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/log"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/report"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

// GuardAbandon refuses a plan that gives up a cluster, unless the answers of every
// known address allow it and the operator states the loss. c is nil if no address is
// known.
func (b *Backend) GuardAbandon(ctx context.Context, c *Cluster, id membership.ClusterID, diags *diag.Diagnostics) {
	err := b.giveUp(ctx, c, id, (*reconfigure.Engine).MayGiveUp)
	if err != nil && b.FirstTime("given up: "+err.Error()) { // one error is enough to refuse the plan
		report.Error(diags, text.NotGivenUp(err))
	}
}

// Abandon forgets a member of an abandoned cluster, its configuration, or the
// bootstrap of the cluster. It does not change that cluster. It asks again what the
// plan has asked.
func (b *Backend) Abandon(ctx context.Context, c *Cluster, id membership.ClusterID, name string, diags *diag.Diagnostics) {
	err := b.giveUp(ctx, c, id, (*reconfigure.Engine).GiveUp)
	log.Debug(ctx, log.Membership, "forgetting a member of an abandoned cluster", "member", name, "cluster", id, "error", err)
	if err != nil {
		report.Error(diags, text.NotGivenUp(err))
	}
}

func (b *Backend) giveUp(ctx context.Context, c *Cluster, id membership.ClusterID, ask func(*reconfigure.Engine, context.Context, membership.ClusterID) error) error {
	if c == nil || b.Unknown {
		return reconfigure.CheckLost(membership.Evidence{}, id, b.Lost, nil)
	}
	return ask(c.Engine, ctx, id)
}

// ClearReplaced deletes the records of the clusters that the cluster replaces.
// The plan knows that it is restored in their place. Records that remain do no
// harm.
func (c *Cluster) ClearReplaced(ctx context.Context, in membership.ClusterID, plan *Plan) {
	for _, id := range plan.Abandoned.Keys() {
		if id != in {
			err := c.ClearAbandoned(ctx, id)
			log.Debug(ctx, log.Membership, "cleared the records of an abandoned cluster", "cluster", id, "error", err)
		}
	}
}
