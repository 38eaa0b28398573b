// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

import (
	"cmp"
	"slices"
	"strings"
)

// Effect is what a plan does to a member.
type Effect uint8

// The effects. A later one of a member replaces an earlier one: with -replace, the
// first call of a replacement looks like that of a member that is held.
const (
	// Held: a state has the member. Whether it stays is not known.
	Held Effect = iota
	// Removed: the member is removed permanently.
	Removed
	// Replaced: the member is removed, and added again.
	Replaced
	// Created: no state has the member, and the plan adds it.
	Created
)

// Unknown is the ID of a node or a machine that the plan creates.
const Unknown = "(known after apply)"

// Side is a member before the plan, as its state has it, or after it.
type Side struct {
	// Node and Machine are IDs. They are empty if the member names none, or [Unknown].
	Node, Machine string
	// PeerURLs are empty if they are not known yet.
	PeerURLs []string
}

// Entry is what one resource does to one member. All that a rule needs is in it or in
// the [Known] beside it; nothing is concluded from an entry that is missing.
type Entry struct {
	// Object numbers the resources of a plan. It is 0 for a note of what a state has,
	// which comes before the resource is planned, and also if it is tainted, and for what
	// the plan of etcd_cluster does to a member ([NodesPlan.Effects]).
	Object uint64
	// Cluster is 0 if it is not known yet, ID is 0 for a new member.
	Cluster ClusterID
	ID      MemberID
	Name    string
	Effect  Effect
	// Before is nil for a new member, After for a note and for a removal.
	Before, After *Side
	// Learner is true for an etcd_learner, Adopter for an etcd_member that adopts one.
	// They may stand for the same member.
	Learner, Adopter bool
	// Votes is true if the member was seen to vote, HasRun if its process has run.
	Votes, HasRun bool
	// BeforeMachine is true if the creation returns before the machine exists. Readdressed
	// is true if the peer URLs change in place.
	BeforeMachine, Readdressed bool
	// Found is what [Identify] says of a new member, if the cluster was observed.
	Found Identity
	// Built is true if an earlier apply has built the node for a cluster that had formed, of
	// Initial members (0: not known). Its join script asks Peers, nil if not known.
	Built   bool
	Initial int
	Peers   []string
	// Nodes are the nodes of its etcd_cluster, as far as the state has them.
	Nodes []string
	// WindowOpen is true if the node may still form its cluster without an answer,
	// Imported if its machine does not have the user data of the node.
	WindowOpen, Imported bool
	// ByProvider is true if the member has no node and no endpoints: its cluster is what
	// the provider's endpoints reach.
	ByProvider bool
	// Read is true if this plan has read the member, and ByImport if it imports the member.
	// Unapplied is true if no apply has stored it since its import, or none together with a machine
	// ID. See [unordered].
	Read, ByImport, Unapplied bool
	// Tainted is true for a new member on a rebuilt node if the state has a member of its name,
	// which no other resource of the plan stands for so far. It is true for the replacement that
	// the creation of a tainted member is.
	Tainted bool
}

// Known is what is known of a cluster. Snapshot is nil without an observation.
type Known struct {
	Snapshot *Snapshot
	Turns    []Turn
	Lost     bool // the plan gives it up, so none of its members counts as living
	// Gone is true if nothing of it is left, see [nothingLeft]. Awaited is true once the other
	// entries of the plan were awaited, see [Known.Settled].
	Gone, Awaited bool
}

// The codes of [Judge], in addition to those of [Identify] and of the removal of a
// member ([TurnOfAnother], [OthersNotActive], [NotProbed], [URLsPending]). Names are the members.
const (
	// TwoResources: two resources stand for one member.
	TwoResources Code = "two resources"
	// SharedURL: two members have one peer URL.
	SharedURL Code = "shared peer URL"
	// SecondReaddress: the peer URLs of two members change in place.
	SecondReaddress Code = "second change of peer URLs"
	// SecondAdded: two learners are added before their machines exist.
	SecondAdded Code = "second addition"
	// ClusterCreated: members that a state has get nodes of a new etcd_cluster.
	ClusterCreated Code = "cluster created again"
	// CreatedUnobserved: the node of a new member exists, and its cluster is silent.
	CreatedUnobserved Code = "created, unobserved"
	// PeersMoved: the peers that the join script asks cannot confirm the new member.
	PeersMoved Code = "peers moved"
	// WindowStillOpen: the node could form a second cluster.
	WindowStillOpen Code = "window open"
	// OtherClusterReached: a new member would be added to another cluster than that of
	// the members in the state; see [Strays].
	OtherClusterReached Code = "other cluster reached"
	// ImportedAlone: the machine of the node does not have its user data.
	ImportedAlone Code = "imported node"
)

// OfPlan are the rules that a plan as a whole breaks. Others are about one member or two.
var OfPlan = []Code{SecondReplacement, SecondUnobserved, EveryVoterNeeded, TooFewStay, EveryVoterRemoved, ClusterCreated, SecondReaddress, SecondAdded}

// Ruling is a rule that is broken. Facts.Names are the members that break it; Entry is
// one of them.
type Ruling struct {
	Code  Code
	Facts Facts
	Entry Entry
}

func (e Entry) isAnew() bool { return e.After != nil && e.After.Node == Unknown }

// Judge returns the rules that a plan breaks, as far as it is made: the entries about
// one cluster, in any order. It depends on nothing but its arguments, and with one entry
// more no rule is broken less.
func Judge(entries []Entry, known Known) (broken []Ruling) {
	p := known.of(entries)
	// Terraform plans a tainted member as if it were new. The note of what the state has
	// shows that it is replaced. The cluster shows it of one that no state has.
	for _, e := range p.with(Created) {
		if lost, ok := p.forgotten(e); ok {
			p.entries = append(p.entries, lost)
		}
		for _, note := range entries {
			named := e.Tainted && note.Name == e.Name
			if note.Object == 0 && !note.IsOfCluster() && note.Learner == e.Learner && (named || isOne(note, e)) {
				e.ID, e.Effect, e.Before, e.Votes, e.HasRun = note.ID, Replaced, note.Before, note.Votes, note.HasRun
				e.Read, e.Tainted = note.Read, true
				p.entries = append(p.entries, e)
			}
		}
	}
	for _, rule := range []func(planned) []Ruling{
		replacements, unobserved, removals, twice, newcomers, silent, successors, unordered, dropped,
	} {
		broken = append(broken, rule(p)...)
	}
	return broken
}

// planned are the entries about one cluster, with what is known of it.
type planned struct {
	Known
	entries []Entry
}

func (p planned) with(effects ...Effect) []Entry {
	return keep(p.entries, func(e Entry) bool { return slices.Contains(effects, e.Effect) })
}

// living are the members with an effect that vote and may live, each once.
func (p planned) living(effects ...Effect) (out []Entry) {
	for _, e := range p.with(effects...) {
		if p.lives(e) && !slices.ContainsFunc(out, func(x Entry) bool { return x.ID == e.ID }) {
			out = append(out, e)
		}
	}
	return out
}

// lives reports whether the member votes and may live. Of a cluster that was not observed, it
// is a member that has voted.
func (p planned) lives(e Entry) bool {
	if p.Snapshot != nil {
		return p.livingVoter(e.ID)
	}
	return e.Votes && !p.Lost
}

func (p planned) livingVoter(id MemberID) bool {
	m, listed := p.Snapshot.Member(id)
	return listed && !p.Lost && !m.Learner && !p.Snapshot.provenDead(m)
}

// brokenBy returns a ruling about the members of entries.
func brokenBy(code Code, f Facts, entries ...Entry) Ruling {
	f.Names = slices.Compact(slices.Sorted(slices.Values(each(entries, func(e Entry) string { return e.Name }))))
	known := keep(entries, func(e Entry) bool { return e.ID != 0 })
	f.Others = union(each(known, func(e Entry) MemberID { return e.ID }))
	of := entries[0]
	if tainted, is := find(entries, func(e Entry) bool { return e.Tainted && e.Effect == Replaced }); is {
		of = tainted
	}
	return Ruling{code, f, of}
}

// breaks returns the ruling of a decision about one member.
func (e Entry) breaks(code Code, f Facts) Ruling {
	f.Names = []string{e.Name}
	return Ruling{code, f, e}
}

// rebuilt returns the names of the living voters whose nodes the plan of etcd_cluster rebuilds.
func (p planned) rebuilt() string {
	isRebuilt := func(e Entry) bool { return e.IsOfCluster() && p.lives(e) }
	return strings.Join(each(keep(p.with(Replaced), isRebuilt), func(e Entry) string { return e.Name }), ", ")
}

// replacements: at most one living voter is replaced, not one of one or two (the
// machine can go first), and not while another member is not active or another
// replacement is open. Dead voters and learners are always replaceable.
func replacements(p planned) (out []Ruling) {
	replaced := p.living(Replaced)
	if p.Snapshot == nil || len(replaced) == 0 {
		return nil
	}
	f := Facts{Votes: Votes{Voters: len(p.Snapshot.Voters()), Quorum: p.Snapshot.Quorum()}}
	if len(replaced) > 1 {
		f.Detail = p.rebuilt()
		out = append(out, brokenBy(SecondReplacement, f, replaced...))
		f.Detail = ""
	}
	if f.Quorum == f.Voters {
		out = append(out, brokenBy(EveryVoterNeeded, f, replaced...))
	}
	for _, e := range replaced {
		m, _ := p.Snapshot.Member(e.ID)
		place := DecidePlace(*p.Snapshot, RemoveRequest{ID: e.ID, Replacement: true}, nil)
		for _, d := range []Decision{p.Snapshot.turnOf(m, p.Turns), p.Snapshot.othersActive(m, nil), place} {
			if d.Verdict == Refuse {
				out = append(out, e.breaks(d.Code, d.Facts))
			}
		}
	}
	return out
}

// unobserved: nothing is replaced twice while the cluster is silent, nor a voter that
// its quorum needs as far as is known, and a member whose node exists is not created.
func unobserved(p planned) (out []Ruling) {
	if p.Snapshot != nil {
		return nil
	}
	replaced := p.living(Replaced)
	if len(replaced) > 1 {
		out = append(out, brokenBy(SecondUnobserved, Facts{}, replaced...))
	}
	for _, e := range replaced {
		if e.Initial > 0 && Quorum(e.Initial) == e.Initial {
			out = append(out, brokenBy(NeededUnobserved, Facts{Votes: Votes{Voters: e.Initial}}, e))
		}
	}
	for _, e := range p.with(Created) {
		// The state may not have that the cluster has formed, but has one of its voters.
		formed := slices.ContainsFunc(p.entries, func(x Entry) bool { return x.Votes && x.Before != nil && slices.Contains(e.Nodes, x.Before.Node) })
		switch {
		case !formed && (!e.Built || e.Cluster == 0):
		case p.Gone && !formed:
			out = append(out, brokenBy(AllNew, Facts{}, e))
		default:
			out = append(out, brokenBy(CreatedUnobserved, Facts{}, e))
		}
	}
	return out
}

// removals: a plan that removes voters and adds members leaves a quorum of today's voters
// in place. A plain shrink and a destroy of all pass, the latter with a warning.
func removals(p planned) (out []Ruling) {
	if p.Snapshot == nil {
		return nil
	}
	voters := p.Snapshot.Voters()
	f := Facts{Votes: Votes{Voters: len(voters), Quorum: p.Snapshot.Quorum()}}
	lost := p.living(Removed, Replaced)
	f.Alive = len(slices.DeleteFunc(slices.Clone(voters), func(m Member) bool {
		return p.Snapshot.provenDead(m) || p.Snapshot.isPending(m.ID) || slices.ContainsFunc(lost, func(e Entry) bool { return e.ID == m.ID })
	}))
	mixed := len(p.living(Removed)) > 0 && len(p.living(Replaced)) > 0
	f.Detail = p.rebuilt()
	if f.Alive < f.Quorum && (mixed || len(lost) > 0 && len(p.with(Created)) > 0) {
		out = append(out, brokenBy(TooFewStay, f, lost...))
	}
	f.Detail = ""
	if p.removesAll() {
		out = append(out, brokenBy(EveryVoterRemoved, f, p.with(Removed)...))
	}
	return out
}

// twice: two resources for one member, two members with one peer URL, two changes of
// peer URLs in place, also if an earlier apply made the first one, and two learners that
// wait for one slot.
func twice(p planned) (out []Ruling) {
	objects := keep(p.entries, func(e Entry) bool { return e.Object != 0 })
	for i, a := range objects {
		for _, b := range objects[:i] {
			switch {
			case a.Object == b.Object || a.Learner && b.Adopter || b.Learner && a.Adopter:
			case a.ID != 0 && a.ID == b.ID || (a.Effect == Created || b.Effect == Created) && isOne(a, b):
				out = append(out, brokenBy(TwoResources, Facts{}, a, b))
			case a.After != nil && b.After != nil && shareURL(a.After.PeerURLs, b.After.PeerURLs):
				out = append(out, brokenBy(SharedURL, Facts{}, a, b))
			case sharesMachine(a, b):
				out = append(out, brokenBy(SharedMachine, Facts{Detail: a.After.Machine}, a, b))
			}
		}
	}
	moved := keep(p.entries, func(e Entry) bool { return e.Readdressed })
	if slices.ContainsFunc(moved, func(e Entry) bool { return e.ID != moved[0].ID }) { // a replacement has two entries
		out = append(out, brokenBy(SecondReaddress, Facts{}, moved...))
	}
	for _, e := range moved {
		if p.Snapshot == nil || e.After == nil {
			continue
		}
		if d := p.Snapshot.oneAtATime(e.ID, e.After.PeerURLs); d.Verdict != Go {
			out = append(out, e.breaks(d.Code, d.Facts))
		}
	}
	if waiting := keep(p.entries, func(e Entry) bool { return e.Effect == Created && e.Learner && e.BeforeMachine }); len(waiting) > 1 {
		out = append(out, brokenBy(SecondAdded, Facts{}, waiting...))
	}
	return out
}

// isOne reports whether two entries are about one member, of which one is new: it has
// the same node, or the same name and a peer URL.
func isOne(a, b Entry) bool {
	x, y := cmp.Or(a.Before, a.After), cmp.Or(b.Before, b.After)
	if x.Node != "" && x.Node != Unknown && x.Node == y.Node {
		return true
	}
	return a.Name == b.Name && shareURL(x.PeerURLs, y.PeerURLs)
}
