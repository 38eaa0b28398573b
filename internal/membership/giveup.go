// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

import (
	"slices"
	"strings"
)

// A cluster is given up if a restored one takes its place, or if its members are
// forgotten in a destroy. Their machines are destroyed next. So each voter counts as
// one that may serve, also if it is silent or its power is off, unless it is proven
// or stated to be gone for good.
//
// Another cluster may have taken its place at the same addresses, by an apply whose state was
// not stored, or by hand. Its machines would be destroyed then. So whatever gives all nodes new
// machines or forgets all members refuses while any server answers for a cluster that is not
// named, see [GiveUpRequest.Named].

// Heard is what one address answered. The zero value is a server that may be a member
// with a quorum, such as one whose certificate cannot be verified.
type Heard struct {
	Endpoint string
	// Silent is true if nothing was heard: the address does not answer, refuses
	// connections, or was not asked.
	Silent bool
	// Cluster and Member are in the header of the answer, 0 if there is none.
	Cluster ClusterID
	Member  MemberID
	// Literal is true if the endpoint is an IP address that was asked itself. A host
	// name and the address map may lead to another machine than before.
	Literal bool
	// Refuses is true if what answers is a server of etcd that does not let the provider
	// ask it: for its certificate or login, as a learner or without a quorum, or because
	// the credentials must not go there.
	Refuses bool
	// Detail is for people.
	Detail string
}

// Evidence is what is known about the loss of a cluster. The zero value says that
// no address was asked.
type Evidence struct {
	// Snapshot is the zero value if no member list could be read.
	Snapshot Snapshot
	// Heard has one element for each known address, and one for each further cluster that
	// answers there, sorted.
	Heard []Heard
	// Lists are the members of other clusters that answer, for people.
	Lists map[ClusterID][]Member
}

// GiveUpRequest is the request to give up a cluster, or to form one.
type GiveUpRequest struct {
	// Cluster is the cluster that is given up, by its ID in the state. In a restore,
	// replaces_cluster has the same ID.
	Cluster ClusterID
	// Forms is true if no cluster is given up: one forms at addresses at which nothing may
	// run. Silence is no reason against that.
	Forms bool
	// Known are its members that the state has. One whose ID is not known has the
	// ID 0.
	Known []Member
	// Named are the other clusters that may answer: the restored cluster if the one before
	// it is given up, and the one before if the restored cluster is. The state of the same
	// etcd_cluster has both. No other cluster is named, whatever else has it: neither
	// another resource of the state, because the machines at these addresses are destroyed,
	// nor ETCD_CLUSTER_LOST, which states that it does not answer.
	Named []ClusterID
	// Gone are the voters that the operator states are gone for good, by name, or
	// by ID if they have none.
	Gone []string
}

// states reports whether the operator states that the member is gone.
func (r GiveUpRequest) states(m Member) bool {
	return slices.Contains(r.Gone, m.Label()) || slices.Contains(r.Gone, m.ID.String())
}

// Label is the name, or the ID of a member without a name that is safe in a command.
func (m Member) Label() string {
	const safe = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"
	if m.ID != 0 && (m.Name == "" || strings.Trim(m.Name, safe) != "") {
		return m.ID.String()
	}
	return m.Name
}

// answers reports whether a server answers that may be the voter. It may serve. Such an
// answer is stronger than every proof of its loss.
func (e Evidence) answers(v Member, r GiveUpRequest) bool {
	return slices.ContainsFunc(e.Heard, func(h Heard) bool { return h.isFrom(v, r) })
}

// isGone reports whether another member of its cluster, or a named cluster, answers at each of
// the voter's own addresses. Otherwise a voter that does not answer may serve where it is not
// reached, or its power may return.
func (e Evidence) isGone(v Member, r GiveUpRequest) bool {
	its := keep(e.Heard, func(h Heard) bool { return slices.Contains(v.ClientURLs, h.Endpoint) })
	others := keep(its, func(h Heard) bool { return !h.Silent && h.Cluster != 0 && h.Literal && e.knows(h, v, r) })
	return len(its) > 0 && len(others) == len(its)
}

// isFrom reports whether the answer may come from the member: it has its ID, or none
// and comes from its address.
func (h Heard) isFrom(m Member, r GiveUpRequest) bool {
	if h.Cluster != 0 {
		return h.Cluster == r.Cluster && h.Member == m.ID
	}
	return !h.Silent && slices.Contains(m.ClientURLs, h.Endpoint)
}

// knows reports whether the answer is from a named cluster, or from a listed member of
// this cluster, at an address that no other member advertises.
func (e Evidence) knows(h Heard, v Member, r GiveUpRequest) bool {
	shared := func(m Member) bool {
		return (m.ID != v.ID || m.Name != v.Name) && slices.Contains(m.ClientURLs, h.Endpoint)
	}
	if slices.ContainsFunc(append(e.votersOf(r), e.Snapshot.Learners()...), shared) {
		return false
	}
	_, listed := e.Snapshot.Member(h.Member)
	return h.Cluster == r.Cluster && listed || slices.Contains(r.Named, h.Cluster)
}

// The codes of [DecideGiveUp].
const (
	// HasQuorum: the cluster answers, and may have its quorum.
	HasQuorum Code = "has quorum"
	// OtherServes: servers answer for clusters that are not named, see [Evidence.Unnamed].
	OtherServes Code = "another cluster answers"
	// Contradicted: Names are stated to be gone, and answer.
	Contradicted Code = "stated to be gone, and answers"
	// MayServe: servers answer that may be members with a quorum.
	MayServe Code = "may serve"
	// NotStated: the voters that are neither proven nor stated to be gone may have
	// a quorum. Names are all that are not proven to be gone and do not answer.
	NotStated Code = "loss not stated"
)

// DecideGiveUp decides whether a cluster may be given up, or formed. It checks in this order:
// the cluster itself has no quorum; no server answers for a cluster that is not named; a
// cluster that forms finds no server that refuses; nothing contradicts the statement; and
// the voters that are neither proven nor stated to be gone are fewer than the quorum. How
// many that is, only a list says that has every member of the state that is not gone.
// Otherwise, none may be left. An answer that no member of the list can have given refuses.
func DecideGiveUp(e Evidence, r GiveUpRequest) Decision {
	if e.Snapshot.ClusterID != r.Cluster || r.Cluster == 0 {
		e.Snapshot = Snapshot{}
	}
	switch {
	case e.Snapshot.mayDecide():
		return refuse(HasQuorum, Facts{})
	case len(e.Unnamed(r)) > 0:
		return refuse(OtherServes, Facts{})
	case r.Forms && slices.ContainsFunc(e.Heard, func(h Heard) bool { return h.Refuses }):
		return refuse(MayServe, Facts{})
	case r.Forms:
		return Decision{Verdict: Go}
	}
	limit := Quorum(len(e.Snapshot.Voters())) // 1 without a list
	voters := e.votersOf(r)
	serving := keep(voters, func(v Member) bool { return e.answers(v, r) })
	silent := keep(voters, func(v Member) bool { return !e.answers(v, r) && !e.isGone(v, r) })
	unlisted := func(m Member) bool { return !slices.Contains(IDs(e.Snapshot.Members), m.ID) }
	contradicted := keep(serving, r.states)
	open := append(keep(silent, func(m Member) bool { return !r.states(m) }), serving...)
	switch {
	case len(contradicted) > 0:
		return refuse(Contradicted, Facts{Names: each(contradicted, Member.Label)})
	case len(serving) >= limit, slices.ContainsFunc(serving, unlisted), slices.ContainsFunc(e.Heard, func(h Heard) bool { return e.isStray(h, r) }):
		return refuse(MayServe, Facts{})
	case len(open) >= limit, slices.ContainsFunc(open, unlisted), r.Cluster == 0, len(r.Known)+len(e.Snapshot.Members)+len(r.Gone) == 0:
		return refuse(NotStated, Facts{Names: each(silent, Member.Label)})
	}
	return Decision{Verdict: Go}
}

// Unnamed returns the clusters that answer and are not named, each with the addresses at which
// it answers. One server is enough, at any address that is known, also through a host name or
// the address map, and without a quorum: what it has is not known.
func (e Evidence) Unnamed(r GiveUpRequest) map[ClusterID][]string {
	out := map[ClusterID][]string{}
	for _, h := range e.Heard {
		if h.Cluster != 0 && h.Cluster != r.Cluster && !slices.Contains(r.Named, h.Cluster) {
			out[h.Cluster] = append(out[h.Cluster], h.Endpoint)
		}
	}
	return out
}

// votersOf returns the voters of the list, each also with the addresses that the state
// has, and the members of the state that are not in the list.
func (e Evidence) votersOf(r GiveUpRequest) []Member {
	out := e.Snapshot.Voters()
	for _, k := range r.Known {
		is := func(m Member) bool { return k.ID != 0 && m.ID == k.ID || k.ID == 0 && m.Name == k.Name }
		if i := slices.IndexFunc(out, is); i >= 0 {
			out[i].ClientURLs = slices.Concat(out[i].ClientURLs, k.ClientURLs)
		} else if !slices.ContainsFunc(e.Snapshot.Learners(), is) {
			out = append(out, k)
		}
	}
	return out
}

// isStray reports whether a server answers that is none of the members, as behind a
// load balancer: any voter may have answered.
func (e Evidence) isStray(h Heard, r GiveUpRequest) bool {
	return !h.Silent && (h.Cluster == 0 || h.Cluster == r.Cluster) &&
		!slices.ContainsFunc(append(e.votersOf(r), e.Snapshot.Learners()...), func(m Member) bool { return h.isFrom(m, r) })
}

// mayDecide reports whether the voters that answer may have a quorum: they are
// enough for an election, or the cluster served a linearizable read.
func (s Snapshot) mayDecide() bool {
	answering := keep(s.Voters(), func(m Member) bool { return s.answers(m.ID) })
	return s.Linearizable || len(answering) >= s.Quorum() || slices.ContainsFunc(answering, func(m Member) bool { return s.Alive(m.ID) })
}

// Loss is what two independent views show about a member.
type Loss uint8

const (
	// Present: the member answers, or has not started yet, or is not in the list.
	Present Loss = iota
	// Unreachable: the member does not answer here, and nothing else is known:
	// the leader still sees it, or could not be asked, or the rest has no quorum.
	Unreachable
	// Vanished: the member does not answer here, and the leader, which a quorum
	// of the rest follows, has no connection to it either.
	Vanished
	// Unsettled: the member does not answer here, and the others are about to elect
	// a leader that can tell more. The member may have been the leader itself.
	Unsettled
)

// JudgeLoss returns what is known about a member that may be gone. seen holds the
// leader's connections to the others, as its metrics show them. It needs two
// views, because one alone is often wrong: a member that is unreachable from here
// may serve all other clients.
func JudgeLoss(s Snapshot, id MemberID, seen map[MemberID]bool) Loss {
	m, listed := s.Member(id)
	if !listed || !m.Started() || s.Alive(id) {
		return Present
	}
	if s.conditionOf(m) != down {
		return Unreachable
	}
	gate := s.Gate(id).Verdict
	leader, _, _ := s.MajorityLeader()
	active, known := seen[id]
	switch {
	case gate == Wait, gate == Go && leader == id:
		return Unsettled
	case gate != Go || !known || active:
		return Unreachable
	}
	return Vanished
}

// Failover describes the lost voters that a standby learner may replace.
type Failover struct {
	// Lost are the voters that are gone in both views, sorted by ID.
	Lost []MemberID
	// First is true if a lost voter must be removed before the learner may be
	// promoted: with one voter more, and the learner counted as failed, there would
	// be no quorum. This is so with three voters; of five, one lost voter may stay.
	First bool
	// Unsettled is true while an election keeps the others from telling which
	// voters are gone: observe the cluster again.
	Unsettled bool
}

// JudgeFailover returns which voters are lost; seen is as in [JudgeLoss].
func JudgeFailover(s Snapshot, seen map[MemberID]bool) Failover {
	voters := s.Voters()
	are := func(l Loss) []MemberID {
		return keep(IDs(voters), func(id MemberID) bool { return JudgeLoss(s, id, seen) == l })
	}
	f := Failover{Lost: are(Vanished), Unsettled: len(are(Unsettled)) > 0}
	f.First = len(f.Lost) > 0 && len(s.tallyOf(voters, 0)[alive]) < Quorum(len(voters)+1)
	return f
}
