// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package cluster

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	port "github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/backend"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/report"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

// healthKey is the key under which Read stores its [health].
const healthKey = "health"

// health is what a refresh found, for the plans that follow.
type health struct {
	membership.NodesHealth
	// Silent are the members that do not answer, by the name of their node.
	Silent map[string]silence `json:"silent,omitempty"`
	// Other is the record of another etcd_cluster, if the cluster has one.
	Other port.ObjectRecord `json:"other,omitzero"`
	// NoAddress is true if no address of the cluster is known.
	NoAddress bool `json:"no_address,omitempty"`
}

// silence describes a member that does not answer.
type silence struct {
	// Since is the time at which it was first found silent in both views.
	Since time.Time `json:"since"`
	// Evidence is a text for the operator.
	Evidence string `json:"evidence"`
}

// judge observes the nodes of a cluster. was is what the last refresh stored. after is the
// time after which a member that is unreachable has failed, 0 if there is none. c has
// answered with snap.
func judge(ctx context.Context, c *backend.Cluster, snap membership.Snapshot, nodes []membership.Node, was health, after time.Duration) health {
	owned := map[string]membership.Ownership{}
	var open []membership.Turn
	if snap.Linearizable { // without a quorum they cannot be read
		turns, err := c.OpenTurns(ctx, snap)
		if err != nil {
			return health{} // not known is not healthy
		}
		open = turns
		if snap, err = c.WithPending(ctx, snap); err != nil {
			return health{}
		}
		for _, n := range nodes {
			r, ok, err := c.Cluster.Records(snap.ClusterID).Get(ctx, n.ID)
			if err != nil {
				return health{}
			}
			owned[n.ID] = membership.Ownership{Recorded: ok, ID: r.ID(), PeerURLs: r.PeerURLs, Removed: r.State == port.Removed}
		}
	}
	now := health{NodesHealth: membership.JudgeNodes(snap, owned, open, nodes), Silent: map[string]silence{}}
	for i, e := range now.Members {
		if e.Status != membership.NodeUnreachable || e.Node == "" {
			continue
		}
		seen := was.Silent[e.Name]
		if seen.Since.After(c.Clock.Now()) {
			seen = silence{} // by the clock of another computer
		}
		failed, seen := watch(ctx, c, snap, e, seen, after)
		if now.Silent[e.Name] = seen; failed {
			now.Members[i].Status = membership.NodeFailed
		}
	}
	return now
}

// warn says which members do not answer and are not replaced.
func (h health) warn(c *backend.Cluster, diags *diag.Diagnostics) {
	for _, e := range h.Members {
		seen := h.Silent[e.Name]
		if e.Status == membership.NodeUnreachable && !seen.Since.IsZero() && c.FirstTime("silent "+e.Name) {
			report.Warn(diags, silentMember(e.Name, seen))
		}
	}
}

// watch observes a member that does not answer, until it has been silent for the time.
func watch(ctx context.Context, c *backend.Cluster, snap membership.Snapshot, e membership.NodeHealth, seen silence, after time.Duration) (failed bool, _ silence) {
	left := func() time.Duration { return after - c.Clock.Now().Sub(seen.Since) }
	look := func(snap membership.Snapshot) membership.Loss {
		connected := port.SeenByLeader(ctx, c.Cluster, snap, []membership.MemberID{e.Member})
		seen.Evidence = text.FailureEvidence(snap, e.Member)
		return membership.JudgeLoss(snap, e.Member, connected)
	}
	first := true
	loss := c.WatchLoss(ctx, e.Name, func() (membership.Loss, time.Duration) {
		if !first {
			var err error
			if snap, err = c.View(ctx, snap.ClusterID); err != nil {
				return membership.Unreachable, 0
			}
		}
		first = false
		loss := look(snap)
		switch {
		case after == 0 && loss == membership.Unsettled:
			return membership.Unreachable, 0
		case loss == membership.Vanished && seen.Since.IsZero():
			seen.Since = c.Clock.Now().UTC().Truncate(time.Second)
		case loss == membership.Present:
			seen = silence{}
		}
		return loss, left()
	})
	return loss == membership.Vanished && after > 0 && left() <= 0, seen
}

// after returns the time after which a member has failed, 0 if there is none.
func (m model) after(diags *diag.Diagnostics) time.Duration {
	if m.ReplaceUnreachableAfter.IsNull() || m.ReplaceUnreachableAfter.IsUnknown() {
		return 0
	}
	d, err := time.ParseDuration(m.ReplaceUnreachableAfter.ValueString())
	if err != nil {
		diags.AddError("Invalid replace_unreachable_after", err.Error())
	}
	return d
}
