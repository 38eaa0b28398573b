// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package cluster

import (
	"cmp"
	"reflect"
	"slices"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// memberList is a member list with the cluster and the member that gave it.
type memberList struct {
	cluster membership.ClusterID
	from    membership.MemberID
	members []membership.Member
	quorum  bool // linearizable: a quorum confirmed it, if the member is honest
}

// owners maps endpoints to the members that advertise them, by a member list.
type owners struct {
	settings connection.Settings
	// by lists the members that advertise a URL, by the address that is dialled
	// for it.
	by map[string][]membership.MemberID
}

func (c *Client) ownersOf(members []membership.Member) owners {
	w := owners{settings: c.settings, by: map[string][]membership.MemberID{}}
	for _, m := range members {
		for _, u := range m.ClientURLs {
			to := w.settings.Dialled(u)
			w.by[to] = append(w.by[to], m.ID)
		}
	}
	return w
}

// at returns the members that advertise the endpoint.
func (w owners) at(endpoint string) []membership.MemberID { return w.by[w.settings.Dialled(endpoint)] }

// isOwnAddress reports whether an answer from the endpoint with the member's ID counts
// as the member's own: if the member advertises the endpoint, or if the
// endpoint is configured and no member advertises it.
func (w owners) isOwnAddress(endpoint string, id membership.MemberID) bool {
	if at := w.at(endpoint); len(at) > 0 {
		return slices.Contains(at, id)
	}
	return slices.Contains(w.settings.Endpoints, endpoint)
}

// named reports whether the operator configured the endpoint or has it in the
// address map.
func (w owners) named(endpoint string) bool {
	_, mapped := w.settings.AddressMap[endpoint]
	return mapped || slices.Contains(w.settings.Endpoints, endpoint)
}

// ballot is a list with the evidence for it.
type ballot struct {
	memberList
	who       owners
	endpoints int // the number that gave it
	// confirmed is true if a majority of the voters on it gave it; against are those that
	// gave another list.
	confirmed bool
	against   []membership.MemberID
}

// maxLists limits the different lists that are counted. If there are more, none
// is confirmed.
const maxLists = 16

// choose returns the best list. It prefers, in this order, a list of the expected
// cluster, a list confirmed by a majority of its voters, a linearizable list, and
// the list that most endpoints gave. If two different lists of the cluster are
// confirmed, one of them is forged, so neither counts as confirmed.
func (c *Client) choose(probes []probe, want membership.ClusterID) (ballot, bool) {
	var all []*ballot
	for _, p := range probes {
		for _, l := range p.lists {
			i := slices.IndexFunc(all, func(b *ballot) bool { return b.quorum == l.quorum && b.same(l) })
			if i < 0 {
				i, all = len(all), append(all, &ballot{memberList: l, who: c.ownersOf(l.members)})
			}
			all[i].endpoints++
		}
	}
	if len(all) == 0 {
		return ballot{}, false
	}
	if len(all) <= maxLists {
		trusted := trustedOf(all, probes)
		for _, b := range all {
			b.count(probes, trusted)
		}
	}
	best := slices.MinFunc(all, func(a, b *ballot) int { return a.compare(b, want) })
	forged := slices.ContainsFunc(all, func(b *ballot) bool { return b.confirmed && b.cluster == best.cluster && !b.same(best.memberList) })
	if !best.confirmed || forged {
		best.confirmed, best.against = false, best.others(probes)
	}
	return *best, true
}

// trustedOf returns the lists from endpoints that the operator named, or every list if no
// such endpoint answers.
func trustedOf(all []*ballot, probes []probe) []*ballot {
	trusted := slices.DeleteFunc(slices.Clone(all), func(b *ballot) bool {
		return !slices.ContainsFunc(probes, func(p probe) bool {
			l, ok := p.strong()
			return ok && b.who.named(p.endpoint) && b.same(l)
		})
	})
	if len(trusted) == 0 {
		return all
	}
	return trusted
}

// same reports whether two lists are equal.
func (l memberList) same(other memberList) bool {
	return l.cluster == other.cluster && reflect.DeepEqual(l.members, other.members)
}

// count confirms a linearizable list that a majority of the voters on it gave. A voter that
// gave different lists at several addresses counts against it.
func (b *ballot) count(probes []probe, trusted []*ballot) {
	if !b.quorum {
		return
	}
	gave := map[membership.MemberID]bool{} // false if it gave another list, too
	for _, p := range probes {
		if l, ok := p.strong(); ok && l.cluster == b.cluster && b.counts(l.from, p.endpoint, trusted) {
			before, again := gave[l.from]
			gave[l.from] = l.same(b.memberList) && (before || !again)
		}
	}
	given := 0
	for _, m := range b.members {
		switch agrees, counts := gave[m.ID]; {
		case agrees && !m.Learner:
			given++
		case counts && !m.Learner:
			b.against = append(b.against, m.ID)
		}
	}
	b.confirmed = given >= membership.Snapshot{Members: b.members}.Quorum()
}

// counts reports whether an answer with the ID of a member, from that endpoint, counts as the
// answer of this voter:
//
//	the endpoint is not the member's own by this list (see isOwnAddress)    no
//	the operator named the endpoint                                yes
//	every trusted list has the endpoint for the member             yes
//
// and in any other case no: one endpoint could invent a cluster with an endpoint for each
// member.
func (b *ballot) counts(id membership.MemberID, endpoint string, trusted []*ballot) bool {
	switch {
	case !b.who.isOwnAddress(endpoint, id):
		return false
	case b.who.named(endpoint):
		return true
	}
	return !slices.ContainsFunc(trusted, func(t *ballot) bool {
		return t.quorum && t.cluster == b.cluster && !slices.Contains(t.who.at(endpoint), id)
	})
}

// others returns the voters on the list in whose name another list was given.
func (b *ballot) others(probes []probe) (out []membership.MemberID) {
	for _, m := range b.members {
		if !m.Learner && slices.ContainsFunc(probes, func(p probe) bool {
			l, ok := p.strong()
			return ok && l.from == m.ID && l.cluster == b.cluster && !l.same(b.memberList)
		}) {
			out = append(out, m.ID)
		}
	}
	return out
}

// compare is negative if a list is preferred to another one.
func (b *ballot) compare(other *ballot, want membership.ClusterID) int {
	return cmp.Or(
		cmp.Compare(rank(b.cluster == want), rank(other.cluster == want)),
		cmp.Compare(rank(b.confirmed), rank(other.confirmed)),
		cmp.Compare(rank(b.quorum), rank(other.quorum)),
		cmp.Compare(other.endpoints, b.endpoints),
		cmp.Compare(b.cluster, other.cluster),
	)
}

// rank is less if a condition is true.
func rank(is bool) int {
	if is {
		return 0
	}
	return 1
}
