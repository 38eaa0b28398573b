// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package cluster

import (
	"slices"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// memberList is a member list together with the cluster that gave it, and the
// member that did.
type memberList struct {
	cluster membership.ClusterID
	from    membership.MemberID
	members []membership.Member
	quorum  bool // linearizable: a quorum stands behind it, if the member is honest
}

// owners says whose word an answer is, by a member list.
type owners struct {
	addressMap map[string]string
	configured []string
	// by is which members advertise a URL, by what is dialled for it.
	by map[string][]membership.MemberID
}

func (c *Client) ownersOf(members []membership.Member) owners {
	w := owners{addressMap: c.settings.AddressMap, configured: c.settings.Endpoints, by: map[string][]membership.MemberID{}}
	for _, m := range members {
		for _, u := range askable(m.ClientURLs) {
			to := w.target(u)
			w.by[to] = append(w.by[to], m.ID)
		}
	}
	return w
}

// target is what is dialled for an endpoint.
func (w owners) target(endpoint string) string {
	if to, ok := w.addressMap[endpoint]; ok {
		return to
	}
	return endpoint
}

// at returns the members that advertise the endpoint.
func (w owners) at(endpoint string) []membership.MemberID { return w.by[w.target(endpoint)] }

// own reports whether an answer from the endpoint with the member's ID is the
// member's own word: if the member advertises it, or if it is configured and
// nobody does.
func (w owners) own(endpoint string, id membership.MemberID) bool {
	if at := w.at(endpoint); len(at) > 0 {
		return slices.Contains(at, id)
	}
	return slices.Contains(w.configured, endpoint)
}

// votes are the voters on a list that gave this very list, and those that gave
// another one.
type votes struct{ given, against []membership.MemberID }

// votesOn counts who gave a list, of the voters on it. A voter that gave different
// ones, at several of its addresses, is against it.
func votesOn(l memberList, probes []probe, who owners) votes {
	var v votes
	for _, m := range l.members {
		gave, other := false, false
		for _, p := range probes {
			if len(p.lists) == 0 || !p.lists[0].quorum || p.lists[0].from != m.ID || p.lists[0].cluster != l.cluster || !who.own(p.endpoint, m.ID) {
				continue
			}
			if sameMembers(p.lists[0].members, l.members) {
				gave = true
			} else {
				other = true
			}
		}
		switch {
		case m.Learner:
		case other:
			v.against = append(v.against, m.ID)
		case gave:
			v.given = append(v.given, m.ID)
		}
	}
	return v
}

// ballot is a list with all that speaks for it.
type ballot struct {
	memberList
	votes
	confirmed bool
	endpoints int // that gave it
}

// choose picks the list to believe: of the expected cluster where one is
// expected, confirmed by a majority of its voters where one is, read through a
// quorum otherwise, and at last the one that most endpoints gave. Of two confirmed
// lists of one cluster one is made up: then neither is.
func (c *Client) choose(probes []probe, want membership.ClusterID) (ballot, bool) {
	var all []ballot
	for _, p := range probes {
		for _, l := range p.lists {
			if i := slices.IndexFunc(all, func(b ballot) bool {
				return b.cluster == l.cluster && b.quorum == l.quorum && sameMembers(b.members, l.members)
			}); i >= 0 {
				all[i].endpoints++
				continue
			}
			b := ballot{memberList: l, votes: votesOn(l, probes, c.ownersOf(l.members)), endpoints: 1}
			b.confirmed = l.quorum && len(b.given) >= membership.Snapshot{Members: l.members}.Quorum()
			all = append(all, b)
		}
	}
	if len(all) == 0 {
		return ballot{}, false
	}
	best := all[0]
	for _, b := range all[1:] {
		if b.before(best, want) {
			best = b
		}
	}
	for _, b := range all {
		if best.confirmed && b.confirmed && b.cluster == best.cluster && !sameMembers(b.members, best.members) {
			best.confirmed, best.against = false, slices.Concat(best.against, b.given)
		}
	}
	slices.Sort(best.against)
	best.against = slices.Compact(best.against)
	return best, true
}

// before reports whether a list is rather to be believed than another one.
func (b ballot) before(other ballot, want membership.ClusterID) bool {
	switch {
	case (b.cluster == want) != (other.cluster == want):
		return b.cluster == want
	case b.confirmed != other.confirmed:
		return b.confirmed
	case b.quorum != other.quorum:
		return b.quorum
	case b.endpoints != other.endpoints:
		return b.endpoints > other.endpoints
	default:
		return b.cluster < other.cluster
	}
}

func sameMembers(a, b []membership.Member) bool {
	return slices.EqualFunc(a, b, func(x, y membership.Member) bool {
		return x.ID == y.ID && x.Name == y.Name && x.Learner == y.Learner && slices.Equal(x.PeerURLs, y.PeerURLs) && slices.Equal(x.ClientURLs, y.ClientURLs)
	})
}

// askable returns the client URLs in the form in which endpoints are
// compared. Members publish theirs with a scheme; one that does not parse
// cannot be asked and is left out.
func askable(clientURLs []string) []string {
	var out []string
	for _, u := range clientURLs {
		if n, err := connection.ParseEndpoint(u, false); err == nil {
			out = append(out, n)
		}
	}
	return out
}
