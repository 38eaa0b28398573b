// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package backend

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/log"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/report"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/syncmap"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

// Guard collects the effects of the current plan on the members of one cluster,
// however many sets of endpoints lead to it. A plan is made in one process,
// resource by resource. Each resource is noted once, however often it is
// planned.
type Guard struct {
	ID membership.ClusterID
	// Cluster is the cluster at endpoints where it can be observed.
	Cluster *Cluster

	// Kept are the names of members in the state that stay, Created the names
	// of new members or new configurations.
	Kept, Created syncmap.Map[string, bool]
	// AddOnly are the names of learners whose creation returns before their
	// machines exist. Readdressed are the names of members whose peer URLs
	// change in place.
	AddOnly, Readdressed syncmap.Map[string, bool]
	// Removed are members that are removed permanently, directly or through
	// their configurations. Replaced are members that a successor replaces,
	// directly or through their configurations.
	Removed, Replaced syncmap.Map[membership.MemberID, bool]

	reported syncmap.Map[membership.Verdict, bool]
}

// Guard returns the guard of cluster id, which is 0 if it is not known yet.
func (b *Backend) Guard(id membership.ClusterID, at *Cluster) *Guard {
	return b.guards.GetOrMake(id, func() *Guard { return &Guard{ID: id, Cluster: at} })
}

// GuardOf returns the guard of the cluster that has a member of that name, or
// of the only known cluster; nil if there is none or more than one.
func (b *Backend) GuardOf(name string) (found *Guard) {
	all := b.guards.Keys()
	for _, id := range all {
		if g, _ := b.guards.Get(id); g.Kept.Has(name) || len(all) == 1 {
			if found != nil {
				return nil // ambiguous
			}
			found = g
		}
	}
	return found
}

// Report adds the decision about the plan so far to a resource's diagnostics.
// address is as in [text.PlanRefused].
func (g *Guard) Report(ctx context.Context, snap membership.Snapshot, address string, diags *diag.Diagnostics) {
	d := g.judge(ctx, snap)
	if d.Verdict == membership.Refuse {
		report.Error(diags, text.PlanRefused(d, snap, address))
	}
	for _, w := range d.Warnings {
		report.Warn(diags, text.PlanWarning(w, snap))
	}
}

// judge decides about the plan. It returns each verdict only once, because the
// plan as a whole is refused, not each of its resources.
func (g *Guard) judge(ctx context.Context, snap membership.Snapshot) membership.Decision {
	p := membership.PlannedChanges{Removed: g.Removed.Keys(), Replaced: g.Replaced.Keys(), Created: len(g.Created.Keys())}
	if len(p.Replaced) > 0 {
		// If the turns cannot be read now, they are read again before a removal.
		p.Turns, _ = g.Cluster.OpenTurns(ctx, snap)
	}
	d := membership.GuardPlan(snap, p)
	if d.Verdict == membership.Refuse || len(d.Warnings) > 0 {
		log.Debug(ctx, log.Membership, "plan checked by its rules", "refused", d.Verdict == membership.Refuse, "code", string(d.Code), "cluster", g.ID)
		if reported, _ := g.reported.Set(d.Verdict, true); !reported {
			return d
		}
	}
	return membership.Decision{Verdict: membership.Go}
}
