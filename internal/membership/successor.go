// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

import "slices"

// forgotten returns the replacement that the creation of a member is which is in the
// cluster and in no state, if the plan gives it a new machine: the one before is destroyed.
func (p planned) forgotten(e Entry) (Entry, bool) {
	if p.Snapshot == nil || e.isAnew() || e.After.Machine != Unknown {
		return e, false
	}
	m, listed := p.Snapshot.memberAt(e.Name, e.After.PeerURLs)
	e.ID, e.Effect, e.HasRun = m.ID, Replaced, m.Started()
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

// stranded returns why the process of a replaced member would not start, or "".
func (p planned) stranded(e Entry) Code {
	isVoter := func(url string) bool {
		return slices.ContainsFunc(p.Snapshot.Voters(), func(m Member) bool { return m.ID != e.ID && shareURL(m.PeerURLs, []string{url}) })
	}
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
	case e.Peers != nil && p.Snapshot != nil && !slices.ContainsFunc(e.Peers, isVoter):
		return PeersMoved
	}
	return ""
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
