// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

import "slices"

// The codes of what a plan does to several members; see [Judge].
const (
	// SecondReplacement: the plan would replace more than one living voter, the others.
	SecondReplacement Code = "second replacement"
	// SecondUnobserved is [SecondReplacement] for a cluster that cannot be observed.
	SecondUnobserved Code = "second replacement, unobserved"
	// EveryVoterNeeded: the plan would replace a voter, the others, but there are
	// so few voters that the quorum needs each. The machine can be replaced
	// before the member is removed.
	EveryVoterNeeded Code = "every voter needed"
	// NeededUnobserved is [EveryVoterNeeded] for a cluster that cannot be observed.
	// Voters is the number of initial members.
	NeededUnobserved Code = "every voter needed, unobserved"
	// TooFewStay: the plan creates members and leaves fewer than a quorum of
	// today's voters in place. The others are the voters it removes; Alive is
	// how many would stay.
	TooFewStay Code = "too few stay"
	// EveryVoterRemoved (warning): the plan removes every voter, the others.
	EveryVoterRemoved Code = "every voter removed"
	// ProcessStays: a member without a node is replaced, and the plan does not
	// replace its machine.
	ProcessStays Code = "process stays"
	// MachineStays: the node and the member are replaced, the machine stays.
	MachineStays Code = "machine stays"
)

// TaintedBy reports whether a new member is one that the state has and Terraform plans as if it were
// new, by the entries so far: the rebuilt node does not say yet which peer URLs it has.
func (e Entry) TaintedBy(entries []Entry) bool {
	isSame := func(n Entry) bool { return n.Name == e.Name && n.Learner == e.Learner && !n.IsOfCluster() }
	same := keep(entries, isSame)
	planned := func(n Entry) bool { return n.Object != 0 }
	return e.Effect == Created && e.isAnew() && len(same) > 0 && !slices.ContainsFunc(same, planned)
}

// forgotten returns the replacement that the creation of a member is which is in the
// cluster and in no state, if the plan gives it a new machine: the one before is destroyed.
func (p planned) forgotten(e Entry) (Entry, bool) {
	if p.Snapshot == nil || e.isAnew() || e.After.Machine != Unknown {
		return e, false
	}
	m, listed := p.Snapshot.memberAt(e.Name, e.After.PeerURLs)
	e.ID, e.Effect, e.HasRun = m.ID, Replaced, m.Started()
	e.Read = true        // no state has it, so there is nothing to read
	e.WindowOpen = false // a first apply that was interrupted must go on, and the cluster answers
	e.Before = &Side{Node: e.After.Node, PeerURLs: m.PeerURLs}
	return e, listed && m.Name == e.Name
}

// needs reports whether the quorum needs a voter that is silent, and may be alive.
func (p planned) needs(m Member) bool {
	others := keep(p.Snapshot.Voters(), func(o Member) bool { return p.livingVoter(o.ID) })
	return !m.Learner && !p.Lost && !p.livingVoter(m.ID) && len(others)+1 == p.Snapshot.Quorum()
}

// silent: nothing removes a member that no state has before its machine goes, so the quorum
// must not need one that does not answer here.
func silent(p planned) (out []Ruling) {
	for _, e := range p.with(Created) {
		if p.Snapshot == nil || !e.isAnew() && e.After.Machine != Unknown {
			continue
		}
		m, found := p.Snapshot.memberAt(e.Name, e.After.PeerURLs)
		if found && m.Name == e.Name && p.needs(m) {
			out = append(out, e.breaks(NotProbed, Facts{Subject: m.ID, Others: p.Snapshot.tallyOf(p.Snapshot.Voters(), m.ID).missing()}))
		}
	}
	return out
}

// newcomers: a new member is not added over one that is not its own.
func newcomers(p planned) (out []Ruling) {
	for _, e := range p.with(Created) {
		if p.Snapshot != nil && e.isAnew() && !e.Tainted {
			if m, found := p.Snapshot.memberAt(e.Name, e.After.PeerURLs); found && p.livingVoter(m.ID) {
				e.Found = m.refused(AlreadyMember, m.Name)
			}
		}
		if e.Found.Code != "" {
			out = append(out, e.breaks(e.Found.Code, e.Found.Facts))
		}
	}
	return out
}

// successors: a member that has run gets a new node with a new machine only; without a
// node, a new machine. With the node that it has, it must find its cluster, and found
// no other. The nodes of a cluster are not new all together.
func successors(p planned) (out []Ruling) {
	anew := keep(p.entries, func(e Entry) bool { return e.Before != nil && e.Before.Node != "" && e.isAnew() })
	if !p.Lost && slices.ContainsFunc(anew, func(e Entry) bool { return e.ID != anew[0].ID }) {
		out = append(out, brokenBy(ClusterCreated, Facts{}, anew...))
	}
	for _, e := range p.with(Replaced) {
		if e.After == nil {
			continue // the plan of etcd_cluster shows it, and the member itself says more
		}
		if code := p.stranded(e); code != "" && e.HasRun {
			out = append(out, brokenBy(code, Facts{}, e))
		}
	}
	return out
}

// stranded returns why the process of a replaced member would not start, or "".
func (p planned) stranded(e Entry) Code {
	sameMachine := e.Before.Machine == e.After.Machine
	switch {
	case e.After.Node == "" && sameMachine:
		return ProcessStays
	case e.After.Node != "" && e.Before.Node != e.After.Node && sameMachine && e.After.Machine != "":
		return MachineStays
	case e.Before.Node != e.After.Node && e.Before.Node != "" || e.After.Node == "":
		return "" // without a node before, as after an import, the machine has that of no other one
	case e.Imported:
		return ImportedAlone
	case e.WindowOpen:
		return WindowStillOpen
	case e.Peers != nil && p.Snapshot != nil && !p.confirmable(e):
		return PeersMoved
	}
	return ""
}

// confirmable reports whether the peers that the join script of the member asks can give it the
// answer that it waits for: the same list from a majority of the other voters on it, or from a
// majority of the peers of its environment, which then name the others (judge.sh). Peers that the
// list has as learners do not count. Voters that are dead or that the plan removes give no list.
func (p planned) confirmable(e Entry) bool {
	others := keep(p.Snapshot.Members, func(m Member) bool { return m.ID != e.ID })
	removed := each(p.with(Removed), func(r Entry) MemberID { return r.ID })
	var voters, answering, told, asked int
	for _, m := range others {
		if m.Learner {
			continue
		}
		answers := !p.Snapshot.provenDead(m) && !slices.Contains(removed, m.ID)
		named := shareURL(m.PeerURLs, e.Peers)
		voters, answering = voters+1, answering+last(answers)
		asked, told = asked+last(named), told+last(named && answers)
	}
	for _, url := range e.Peers { // those that no member has any more are waited for, too
		has := func(m Member) bool { return shareURL(m.PeerURLs, []string{url}) }
		asked += last(!slices.ContainsFunc(others, has) && !shareURL(e.After.PeerURLs, []string{url}))
	}
	return 2*told > voters || 2*told > asked && 2*answering > voters
}

// Strays returns the new members that a plan would add to another cluster than that of a
// member in a state, if nothing but the provider's endpoints says which cluster is meant:
// the endpoints lead elsewhere than before. The entries are those of all clusters.
func Strays(entries []Entry) (broken []Ruling) {
	for _, e := range entries {
		elsewhere := func(x Entry) bool { return x.ByProvider && x.ID != 0 && x.Cluster != 0 && x.Cluster != e.Cluster }
		if e.Effect == Created && e.ByProvider && e.Cluster != 0 && slices.ContainsFunc(entries, elsewhere) {
			broken = append(broken, brokenBy(OtherClusterReached, Facts{}, e))
		}
	}
	return broken
}

// memberAt returns the member of a name and peer URLs: the member with exactly its peer
// URLs, otherwise a member with any of them, otherwise the member with its name.
func (s Snapshot) memberAt(name string, peerURLs []string) (Member, bool) {
	if m, ok := byURLs(s, peerURLs); ok {
		return m, true
	}
	if m, ok := find(s.Members, func(m Member) bool { return shareURL(m.PeerURLs, peerURLs) }); ok {
		return m, true
	}
	return find(s.Members, func(m Member) bool { return name != "" && m.Name == name })
}
