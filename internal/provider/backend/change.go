// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package backend

import (
	"context"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
)

// A look from before a change is worth nothing after it, however young it is: a
// data source that depends on a member must see that member.
func (c *Cluster) forgetViews() { c.changes.Add(1) }

// Join is [reconfigure.Engine.Join], after which [Cluster.View] looks anew.
func (c *Cluster) Join(ctx context.Context, r reconfigure.JoinRequest) (reconfigure.Joined, error) {
	defer c.forgetViews()
	return c.Engine.Join(ctx, r)
}

// Failover is [reconfigure.Engine.Failover], after which [Cluster.View] looks
// anew.
func (c *Cluster) Failover(ctx context.Context, r reconfigure.JoinRequest, lost []membership.MemberID) (reconfigure.Joined, error) {
	defer c.forgetViews()
	return c.Engine.Failover(ctx, r, lost)
}

// Leave is [reconfigure.Engine.Leave], after which [Cluster.View] looks anew.
func (c *Cluster) Leave(ctx context.Context, r reconfigure.LeaveRequest) (reconfigure.Removal, error) {
	defer c.forgetViews()
	return c.Engine.Leave(ctx, r)
}

// Withdraw is [reconfigure.Engine.Withdraw], after which [Cluster.View] looks
// anew.
func (c *Cluster) Withdraw(ctx context.Context, r reconfigure.WithdrawRequest) (reconfigure.Withdrawn, error) {
	defer c.forgetViews()
	return c.Engine.Withdraw(ctx, r)
}

// UpdatePeerURLs is [reconfigure.Engine.UpdatePeerURLs], after which
// [Cluster.View] looks anew.
func (c *Cluster) UpdatePeerURLs(ctx context.Context, r reconfigure.UpdateRequest) (reconfigure.Updated, error) {
	defer c.forgetViews()
	return c.Engine.UpdatePeerURLs(ctx, r)
}

// Defragment is [reconfigure.Engine.Defragment], after which [Cluster.View]
// looks anew.
func (c *Cluster) Defragment(ctx context.Context, r reconfigure.DefragmentRequest, report func(reconfigure.Step)) error {
	defer c.forgetViews()
	return c.Engine.Defragment(ctx, r, report)
}

// MoveLeader is [reconfigure.Engine.MoveLeader], after which [Cluster.View]
// looks anew.
func (c *Cluster) MoveLeader(ctx context.Context, to membership.MemberID, report func(reconfigure.Step)) (membership.MemberID, error) {
	defer c.forgetViews()
	return c.Engine.MoveLeader(ctx, to, report)
}

// Disarm is [reconfigure.Engine.Disarm], after which [Cluster.View] looks anew.
func (c *Cluster) Disarm(ctx context.Context, kind string, confirmed bool, report func(reconfigure.Step)) error {
	defer c.forgetViews()
	return c.Engine.Disarm(ctx, kind, confirmed, report)
}
