// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package backend

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"

	fwdiag "github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/diag"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/report"
)

// Guard collects what the plan that is being made would do to the members of one
// cluster, however many sets of endpoints lead to it. A plan is made in one
// process, resource by resource; each is noted once, whatever number of times it
// is planned.
type Guard struct {
	Cluster membership.ClusterID
	// At is where the cluster can be asked.
	At *Cluster

	mu                sync.Mutex
	names             map[string]bool
	removed, replaced map[membership.MemberID]bool
	created, inTurn   map[string]bool
	addOnly, moved    map[string]bool
	refused, warned   bool
}

// Guard returns the guard of that cluster, 0 where none is known yet.
func (b *Backend) Guard(id membership.ClusterID, at *Cluster) *Guard {
	b.clusters.mu.Lock()
	defer b.clusters.mu.Unlock()
	if b.clusters.guards == nil {
		b.clusters.guards = map[membership.ClusterID]*Guard{}
	}
	g, ok := b.clusters.guards[id]
	if !ok {
		g = &Guard{
			Cluster: id, At: at, names: map[string]bool{},
			removed: map[membership.MemberID]bool{}, replaced: map[membership.MemberID]bool{},
			created: map[string]bool{}, inTurn: map[string]bool{}, addOnly: map[string]bool{}, moved: map[string]bool{},
		}
		b.clusters.guards[id] = g
	}
	return g
}

// GuardOf returns the guard of the cluster that has a member of that name, or
// of the only cluster there is; nil for neither.
func (b *Backend) GuardOf(name string) *Guard {
	b.clusters.mu.Lock()
	defer b.clusters.mu.Unlock()
	var found *Guard
	for _, g := range b.clusters.guards {
		if g.keeps(name) || len(b.clusters.guards) == 1 {
			if found != nil {
				return nil // two of them: it may be either
			}
			found = g
		}
	}
	return found
}

// Keep notes the name of a member that is in state and stays.
func (g *Guard) Keep(name string) { note(g, g.names, name) }

func (g *Guard) keeps(name string) bool { return noted(g, g.names, name) }

// Remove notes a member that is removed for good, by itself or with its
// configuration.
func (g *Guard) Remove(id membership.MemberID) { note(g, g.removed, id) }

// Replace notes that a member makes room for a successor, or that its
// configuration does.
func (g *Guard) Replace(id membership.MemberID) { note(g, g.replaced, id) }

// Create notes the name of a new member, or of a new configuration.
func (g *Guard) Create(name string) { note(g, g.created, name) }

// TakeTurns notes that the member of that name may be replaced in one plan with
// others of which the same was noted, one after the other.
func (g *Guard) TakeTurns(name string) { note(g, g.inTurn, name) }

// TakesTurns reports whether [Guard.TakeTurns] was told of that name.
func (g *Guard) TakesTurns(name string) bool { return noted(g, g.inTurn, name) }

// AddOnly notes a learner whose creation returns before its machine is made, and
// returns the names of all such learners, sorted.
func (g *Guard) AddOnly(name string) []string { return note(g, g.addOnly, name) }

// Readdress notes a member whose peer URLs change in place, and returns the
// names of all such members, sorted.
func (g *Guard) Readdress(name string) []string { return note(g, g.moved, name) }

func note[K cmp.Ordered](g *Guard, to map[K]bool, key K) []K {
	g.mu.Lock()
	defer g.mu.Unlock()
	to[key] = true
	return slices.Sorted(maps.Keys(to))
}

func noted[K cmp.Ordered](g *Guard, in map[K]bool, key K) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return in[key]
}

// Report adds to a resource's diagnostics what is decided about the plan as far as
// it has been noted. address is as in [diag.PlanRefused].
func (g *Guard) Report(ctx context.Context, snap membership.Snapshot, address string, diags *fwdiag.Diagnostics) {
	d := g.judge(ctx, snap)
	if d.Verdict == membership.Refuse {
		report.Error(diags, diag.PlanRefused(d, snap, address))
	}
	for _, w := range d.Warnings {
		report.Warn(diags, diag.EveryVoterRemoved(w, snap))
	}
}

// judge decides about the plan. It returns the same refusal, or warning, once
// only: the plan as a whole is refused, not each of its resources.
func (g *Guard) judge(ctx context.Context, snap membership.Snapshot) membership.Decision {
	g.mu.Lock()
	p := membership.PlannedChanges{
		Removed: slices.Sorted(maps.Keys(g.removed)), Replaced: slices.Sorted(maps.Keys(g.replaced)),
		Created: len(g.created), InTurn: slices.Sorted(maps.Keys(g.inTurn)),
	}
	g.mu.Unlock()
	if len(p.Replaced) > 0 {
		// What cannot be read now is read again before a member is removed.
		p.Turns, _ = g.At.OpenTurns(ctx, snap)
	}
	d := membership.GuardPlan(snap, p)
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case d.Verdict == membership.Refuse && !g.refused:
		g.refused = true
	case d.Verdict == membership.Go && len(d.Warnings) > 0 && !g.warned:
		g.warned = true
	default:
		return membership.Decision{Verdict: membership.Go}
	}
	return d
}
