// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package backend

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/syncmap"
)

// Plan collects facts about the resources that the current plan has reached,
// without requests to a cluster. The zero value is empty.
type Plan struct {
	// Replaced are the configurations that are replaced, by ID. Failed are
	// those that are replaced because the member has failed.
	Replaced, Failed syncmap.Map[string, bool]
	// Stays are the names of members that do not change, by the ID of their
	// configuration.
	Stays syncmap.Map[string, string]
	// WindowClosed is the time at which the bootstrap window of a configuration closed.
	WindowClosed syncmap.Map[string, time.Time]
	// ReplacedBootstraps are the tokens of bootstraps that are replaced because
	// they are known not to have formed a cluster.
	ReplacedBootstraps syncmap.Map[string, bool]
	// Abandoned are the clusters that a restored snapshot replaces, in this
	// plan or in an earlier plan: see [membership.DecideRestore]. The value are
	// those of its voters that the configuration states are gone for good.
	Abandoned syncmap.Map[membership.ClusterID, []string]

	// configs are the configurations in the state, by token and name.
	configs syncmap.Map[string, bool]
	// taken is the name of the failed member that is replaced.
	taken syncmap.Map[string, string]
	// addresses are the peer URLs that members have after the apply.
	addresses syncmap.Map[string, []string]

	mu sync.Mutex
	// counted are the changes to configurations whose cluster cannot be observed.
	counted map[configKey]Half
	// held are the resources that the state holds for a member, and made the
	// new resources, by the owner of its ownership record.
	held, made syncmap.Map[string, Holder]
	// holders are the resources in the state for a member, by its ID.
	holders map[memberKey]membership.Holders
	refused bool
}

// memberKey identifies a member of a cluster.
type memberKey struct{ cluster, id string }

// HoldConfig notes the name of a configuration in the state, with its bootstrap
// token, because another cluster may have a member of the same name.
func (p *Plan) HoldConfig(token, name string) { p.configs.Set(fmt.Sprintf("%q %q", token, name), true) }

// HoldsConfig reports whether [Plan.HoldConfig] was called with that name and
// token.
func (p *Plan) HoldsConfig(token, name string) bool {
	return p.configs.Has(fmt.Sprintf("%q %q", token, name))
}

// Half is a part of the replacement of a configuration.
type Half uint8

// The halves of a replacement. A configuration that gets another key without a
// moved block has both halves although it is not replaced.
const (
	Removed Half = 1 << iota
	Created
)

// configKey identifies a configuration that is known only from its resource.
type configKey struct{ token, name string }

// Count notes a change of the configuration of that name, whose cluster cannot
// be observed. It decides about all changes noted with the same bootstrap
// token, or without a token. founders is the number of members that are known
// to have formed that cluster.
func (p *Plan) Count(token, name string, h Half, founders int) membership.Decision {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.counted == nil {
		p.counted = map[configKey]Half{}
	}
	p.counted[configKey{token, name}] |= h
	var replaced []string
	for k, halves := range p.counted {
		if halves == Removed|Created && (k.token == token || k.token == "" || token == "") {
			replaced = append(replaced, k.name)
		}
	}
	slices.Sort(replaced)
	d := membership.GuardUnobserved(replaced, founders)
	if d.Verdict == membership.Refuse && p.refused {
		return membership.Decision{Verdict: membership.Go} // the whole plan is refused once
	}
	p.refused = p.refused || d.Verdict == membership.Refuse
	return d
}

// Holder is the kind of a resource that manages a member.
type Holder uint8

// The holders of a member. A member may have two at the same time: the etcd_learner
// that added it, and the etcd_member that adopts that learner by learner_id.
const (
	noHolder Holder = iota
	MemberHolder
	LearnerHolder
	// AdopterHolder is an etcd_member that adopts a learner.
	AdopterHolder
	// RemovedHolder is removed from the state: another holder would replace it.
	RemovedHolder
)

func (h Holder) excludes(other Holder) bool {
	switch {
	case h == noHolder || other == noHolder:
		return false
	case h == LearnerHolder:
		return other != AdopterHolder
	case h == AdopterHolder:
		return other != LearnerHolder
	default:
		return true
	}
}

// Hold notes a resource that the state holds for a member. It reports whether
// the plan creates another resource that conflicts with it or would replace it.
func (p *Plan) Hold(member string, h Holder) (twice bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if held, _ := p.held.Get(member); held != RemovedHolder {
		p.held.Set(member, h)
	}
	made, _ := p.made.Get(member)
	return h.excludes(made)
}

// Make notes a new resource for a member. It reports whether the state or the
// plan has a resource that conflicts with it or that it would replace.
func (p *Plan) Make(member string, h Holder) (twice bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	held, _ := p.held.Get(member)
	made, _ := p.made.Set(member, h)
	return h.excludes(held) || h.excludes(made)
}

// CountHolders adds to the numbers of kept and removed resources of a member,
// and decides about all of them. cluster and id identify the member.
func (p *Plan) CountHolders(cluster, id string, kept, gone int) membership.Decision {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.holders == nil {
		p.holders = map[memberKey]membership.Holders{}
	}
	key := memberKey{cluster, id}
	h := p.holders[key]
	h.Kept += kept
	h.Gone += gone
	p.holders[key] = h
	return membership.GuardHolders(h)
}

// Address notes the peer URLs that a member has after the apply. It returns a
// URL that another member also has, and the name of that member. It is for
// members of the cluster at the provider's own endpoints.
func (p *Plan) Address(name string, peerURLs []string) (url, other string) {
	var mine []string
	for _, u := range peerURLs {
		if n, err := membership.NormalizeURL(u); err == nil {
			mine = append(mine, n)
		}
	}
	_, names := p.addresses.Set(name, mine)
	for _, other := range names {
		theirs, _ := p.addresses.Get(other)
		if i := slices.IndexFunc(theirs, func(u string) bool { return slices.Contains(mine, u) }); i >= 0 && other != name {
			return theirs[i], other
		}
	}
	return "", ""
}

// TakeFailed reports whether the failed member of that name is the member that
// this plan replaces: of several, that of the first call.
func (p *Plan) TakeFailed(name string) bool {
	return p.taken.GetOrMake("failed", func() string { return name }) == name
}
