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

// CheckLost is [reconfigure.CheckLost] for a member without an address to ask.
func (b *Backend) CheckLost(id membership.ClusterID, m membership.Member, cause error) error {
	b.state.Know(id, m)
	return reconfigure.CheckLost(membership.Evidence{}, b.state.Request(id, b.Lost, nil), cause)
}

// GiveUp refuses a plan that gives up a cluster, unless the answers of every known address
// and the statement of the operator allow it. c is nil if no address is known. during is
// true if the apply asks that again. It does not change the cluster.
func (b *Backend) GiveUp(ctx context.Context, c *Cluster, g membership.GivingUp, during bool, diags *diag.Diagnostics) {
	b.state.Know(g.Cluster, g.Known...)
	for _, other := range g.Others {
		if other != 0 {
			b.state.Know(other)
		}
	}
	var err error
	switch {
	case c == nil || b.Unknown:
		err = reconfigure.CheckLost(membership.Evidence{}, b.state.Request(g.Cluster, b.Lost, g.Gone), nil)
	case during:
		err = c.GiveUp(ctx, g.Cluster, g.Gone)
	default:
		err = c.MayGiveUp(ctx, g.Cluster, g.Gone)
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
