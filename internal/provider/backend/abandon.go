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

// GoneKey is the key of the voters that the configuration states are gone for good, for
// the Delete of a plan that gives their cluster up.
const GoneKey = "gone"

// GuardAbandon refuses a plan that gives up a cluster, unless the answers of every
// known address and the statement of the operator allow it. c is nil if no address is
// known. members are those of the resource, gone the
// voters that the configuration states are gone for good.
func (b *Backend) GuardAbandon(ctx context.Context, c *Cluster, id membership.ClusterID, members []membership.Member, gone []string, diags *diag.Diagnostics) {
	b.state.Know(id, members...)
	err := b.giveUp(ctx, c, id, gone, (*reconfigure.Engine).MayGiveUp)
	if err != nil && b.FirstTime("given up: "+err.Error()) { // one error is enough to refuse the plan
		report.Error(diags, text.NotGivenUp(err, text.ForRestore))
	}
}

// Abandon forgets a member of an abandoned cluster, its configuration, or the
// bootstrap of the cluster. It does not change that cluster. It asks again what the
// plan has asked. m is the zero value for what is destroyed only after the machines.
func (b *Backend) Abandon(ctx context.Context, c *Cluster, id membership.ClusterID, m membership.Member, gone []string, diags *diag.Diagnostics) {
	if m.ID != 0 {
		b.state.Know(id, m)
	}
	err := b.giveUp(ctx, c, id, gone, (*reconfigure.Engine).GiveUp)
	log.Debug(ctx, log.Membership, "forgetting a member of an abandoned cluster", "member", m.Name, "cluster", id, "error", err)
	if err != nil {
		report.Error(diags, text.NotGivenUp(err, text.ForRestore))
		return
	}
	b.state.Forget(id, m)
}

// CheckLost is [reconfigure.CheckLost] for a member without an address to ask.
func (b *Backend) CheckLost(id membership.ClusterID, m membership.Member, cause error) error {
	b.state.Know(id, m)
	return reconfigure.CheckLost(membership.Evidence{}, b.state.Request(id, b.Lost, nil), cause)
}

func (b *Backend) giveUp(ctx context.Context, c *Cluster, id membership.ClusterID, gone []string, ask func(*reconfigure.Engine, context.Context, membership.ClusterID, []string) error) error {
	if c == nil || b.Unknown {
		return reconfigure.CheckLost(membership.Evidence{}, b.state.Request(id, b.Lost, gone), nil)
	}
	return ask(c.Engine, ctx, id, gone)
}
