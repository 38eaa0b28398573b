// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package reconfigure

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// Plan collects what one plan would do to the members of one cluster. A plan
// is made in one process, resource by resource; each is noted once, whatever
// number of times it is planned.
type Plan struct {
	mu       sync.Mutex
	removed  map[membership.MemberID]bool
	replaced map[membership.MemberID]bool
	names    map[string]membership.MemberID
	created  map[string]bool
	phaseOne map[string]bool
	moved    map[string]bool
	inTurn   map[string]bool
	lost     string
}

// NewPlan returns an empty Plan.
func NewPlan() *Plan {
	return &Plan{
		removed: map[membership.MemberID]bool{}, replaced: map[membership.MemberID]bool{},
		names: map[string]membership.MemberID{}, created: map[string]bool{}, phaseOne: map[string]bool{}, moved: map[string]bool{},
		inTurn: map[string]bool{},
	}
}

// Keep notes a member that is in state and not planned to go, so that its name
// leads to it if it turns out to be replaced.
func (p *Plan) Keep(name string, id membership.MemberID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.names[name] = id
}

// Keeps reports whether [Plan.Keep] was told of a member of that name.
func (p *Plan) Keeps(name string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, ok := p.names[name]
	return ok
}

// Remove notes a member that goes for good.
func (p *Plan) Remove(id membership.MemberID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.removed[id] = true
}

// Replace notes that the member of that name makes room for a successor.
func (p *Plan) Replace(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if id, ok := p.names[name]; ok {
		p.replaced[id] = true
	}
}

// TakeTurns notes that the member of that name may be replaced in one plan with
// others of which the same was noted, one after the other.
func (p *Plan) TakeTurns(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.inTurn[name] = true
}

// TakesTurns reports whether [Plan.TakeTurns] was told of that name.
func (p *Plan) TakesTurns(name string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.inTurn[name]
}

// Create notes a new member.
func (p *Plan) Create(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.created[name] = true
}

// AnnounceOnly notes a learner whose creation only announces it, and returns
// the names of all such learners, sorted.
func (p *Plan) AnnounceOnly(name string) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.phaseOne[name] = true
	return keys(p.phaseOne)
}

// TakeLost reports whether the lost member of that name is the one that this
// plan replaces: of several, the first that asks.
func (p *Plan) TakeLost(name string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lost == "" {
		p.lost = name
	}
	return p.lost == name
}

// Readdress notes a member whose peer URLs change in place, and returns the
// names of all such members, sorted.
func (p *Plan) Readdress(name string) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.moved[name] = true
	return keys(p.moved)
}

// Changes returns what was noted.
func (p *Plan) Changes() membership.PlannedChanges {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := membership.PlannedChanges{Removed: keys(p.removed), Replaced: keys(p.replaced), Created: len(p.created)}
	for name := range p.inTurn {
		if id, ok := p.names[name]; ok {
			c.InTurn = append(c.InTurn, id)
		}
	}
	return c
}

func keys[K cmp.Ordered](m map[K]bool) []K { return slices.Sorted(maps.Keys(m)) }
