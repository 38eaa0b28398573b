// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package backend

import (
	"context"
	"errors"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/log"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/report"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

// MayGiveUp refuses a plan that gives up a cluster, unless the answers of every known
// address and the statement of the operator allow it. c is nil if no address is known.
func (b *Backend) MayGiveUp(ctx context.Context, c *Cluster, g membership.GivingUp, diags *diag.Diagnostics) {
	b.giveUp(ctx, c, g, (*reconfigure.Engine).MayGiveUp, diags)
}

// GiveUp asks again during the apply what [Backend.MayGiveUp] has asked. It does not
// change the cluster.
func (b *Backend) GiveUp(ctx context.Context, c *Cluster, g membership.GivingUp, diags *diag.Diagnostics) {
	b.giveUp(ctx, c, g, (*reconfigure.Engine).GiveUp, diags)
}

// CheckLost is [reconfigure.CheckLost] for a member without an address to ask.
func (b *Backend) CheckLost(id membership.ClusterID, m membership.Member, cause error) error {
	b.state.Know(id, m)
	return reconfigure.CheckLost(membership.Evidence{}, b.state.Request(id, b.Lost, nil), cause)
}

func (b *Backend) giveUp(ctx context.Context, c *Cluster, g membership.GivingUp, ask func(*reconfigure.Engine, context.Context, membership.ClusterID, []string) error, diags *diag.Diagnostics) {
	b.state.Know(g.Cluster, g.Known...)
	for _, other := range g.Others {
		if other != 0 {
			b.state.Know(other)
		}
	}
	var err error
	if c == nil || b.Unknown {
		err = reconfigure.CheckLost(membership.Evidence{}, b.state.Request(g.Cluster, b.Lost, g.Gone), nil)
	} else {
		err = ask(c.Engine, ctx, g.Cluster, g.Gone)
	}
	log.Debug(ctx, log.Membership, "giving up a cluster", "cluster", g.Cluster, "again", g.Again, "error", err)
	kept, refused := errors.AsType[*reconfigure.NotGivenUp](err)
	if refused && g.Again && kept.Decision.Code == membership.NotStated {
		return
	}
	if err != nil {
		report.Error(diags, text.NotGivenUp(err, g.Why))
	}
}
