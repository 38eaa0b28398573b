// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package backend

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// Plan collects what is known, without asking any cluster, of the resources that
// the plan which is being made has come by: which configurations it replaces,
// which members the state holds, and what is new.
type Plan struct {
	mu sync.Mutex
	// replaced are the configurations that are replaced, by ID; true where that
	// is because the member has failed.
	replaced map[string]bool
	// stays are the names of members that stay as they are, by the ID of their
	// configuration.
	stays map[string]string
	// counted is what happens to configurations whose cluster cannot be observed.
	counted map[counted]Half
	// configs are the configurations that the state holds.
	configs map[counted]bool
	// held and made are the resources that the state holds for a member, and those
	// that are new, by the owner of its ownership record.
	held, made map[string]Holder
	// addresses are the peer URLs that members have after the apply.
	addresses map[string]map[string]bool
	// closed is when the bootstrap window of a configuration closed.
	closed map[string]time.Time
	failed string
	said   map[string]bool
}

func newPlan() *Plan {
	return &Plan{
		replaced: map[string]bool{}, stays: map[string]string{}, counted: map[counted]Half{}, configs: map[counted]bool{},
		held: map[string]Holder{}, made: map[string]Holder{}, addresses: map[string]map[string]bool{}, closed: map[string]time.Time{}, said: map[string]bool{},
	}
}

// Plan is what the plan that is being made does, as far as it has been made.
func (b *Backend) Plan() *Plan {
	b.clusters.mu.Lock()
	defer b.clusters.mu.Unlock()
	if b.clusters.plan == nil {
		b.clusters.plan = newPlan()
	}
	return b.clusters.plan
}

// ReplaceConfig notes that a configuration is replaced, and returns the name of
// the member of it that was planned to stay, "" if none was.
func (p *Plan) ReplaceConfig(id string) (stays string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, noted := p.replaced[id]; !noted {
		p.replaced[id] = false
	}
	return p.stays[id]
}

// CloseWindow notes that the member of a configuration may not form its cluster any
// more, since end.
func (p *Plan) CloseWindow(config string, end time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed[config] = end
}

// WindowClosed returns what [Plan.CloseWindow] noted.
func (p *Plan) WindowClosed(config string) (end time.Time, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	end, ok = p.closed[config]
	return end, ok
}

// FailConfig notes that a configuration is about to be replaced because its
// member has failed.
func (p *Plan) FailConfig(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.replaced[id] = true
}

// Stay notes that the member of a configuration stays as it is, and reports
// whether the configuration is replaced.
func (p *Plan) Stay(config, name string) (replaced bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stays[config] = name
	_, replaced = p.replaced[config]
	return replaced
}

// HasFailed reports whether a configuration is replaced because its member has
// failed.
func (p *Plan) HasFailed(config string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.replaced[config]
}

// Half is a part of the replacement of a configuration.
type Half uint8

// The halves of a replacement. A configuration that gets another key without a
// moved block has both without being replaced.
const (
	Removed Half = 1 << iota
	Created
)

// Count notes what happens to the configuration of that name although its cluster
// cannot be observed, and decides about all of which that was noted with the same
// bootstrap token, or with none.
func (p *Plan) Count(token, name string, h Half) membership.Decision {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := counted{token, name}
	p.counted[key] |= h
	var replaced []string
	for k, halves := range p.counted {
		if halves == Removed|Created && (k.token == token || k.token == "" || token == "") {
			replaced = append(replaced, k.name)
		}
	}
	slices.Sort(replaced)
	d := membership.GuardUnobserved(replaced)
	if d.Verdict == membership.Refuse && p.said["unobserved"] {
		return membership.Decision{Verdict: membership.Go} // the whole plan is refused once
	}
	p.said["unobserved"] = p.said["unobserved"] || d.Verdict == membership.Refuse
	return d
}

// counted is a configuration that nothing but its resource tells of.
type counted struct{ token, name string }

// HoldConfig notes the name of a configuration that the state holds, with its
// bootstrap token: another cluster may have a member of the same name.
func (p *Plan) HoldConfig(token, name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.configs[counted{token, name}] = true
}

// HoldsConfig reports whether [Plan.HoldConfig] was told of that name with that
// token.
func (p *Plan) HoldsConfig(token, name string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.configs[counted{token, name}]
}

// Holder is the kind of a resource that stands for a member.
type Holder uint8

// The holders of a member. A member may have two at a time: the etcd_learner
// that added it, and the etcd_member that adopts that learner by learner_id.
const (
	NoHolder Holder = iota
	MemberHolder
	LearnerHolder
	// AdopterHolder is an etcd_member that adopts a learner.
	AdopterHolder
	// RemovedHolder leaves the state: another one would be in its place.
	RemovedHolder
)

func (h Holder) excludes(other Holder) bool {
	switch {
	case h == NoHolder || other == NoHolder:
		return false
	case h == LearnerHolder:
		return other != AdopterHolder
	case h == AdopterHolder:
		return other != LearnerHolder
	default:
		return true
	}
}

// Hold notes a resource that the state holds for a member, and reports whether
// the plan creates another one that cannot stand beside it, or in its place.
func (p *Plan) Hold(member string, h Holder) (twice bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.held[member] != RemovedHolder {
		p.held[member] = h
	}
	return h.excludes(p.made[member])
}

// Make notes a new resource for a member, and reports whether the state or the
// plan has one beside which it cannot stand, or in whose place it would be.
func (p *Plan) Make(member string, h Holder) (twice bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	twice = h.excludes(p.held[member]) || h.excludes(p.made[member])
	p.made[member] = h
	return twice
}

// Address notes the peer URLs that a member has after the apply, and returns one
// of them that another member has as well, and the name of that one. It is for
// members of the cluster at the provider's own endpoints.
func (p *Plan) Address(name string, peerURLs []string) (url, other string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	mine := map[string]bool{}
	for _, u := range peerURLs {
		if n, err := membership.NormalizeURL(u); err == nil {
			mine[n] = true
		}
	}
	p.addresses[name] = mine
	for _, other := range slices.Sorted(maps.Keys(p.addresses)) {
		for u := range p.addresses[other] {
			if other != name && mine[u] {
				return u, other
			}
		}
	}
	return "", ""
}

// TakeFailed reports whether the failed member of that name is the one that this
// plan replaces: of several, the first that asks.
func (p *Plan) TakeFailed(name string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failed == "" {
		p.failed = name
	}
	return p.failed == name
}
