// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

import "slices"

// PlannedChanges is what one plan would do to the members of a cluster. A member
// counts as removed or replaced if its configuration is, whether or not the
// member itself is in the plan: with its configuration it loses its machine.
type PlannedChanges struct {
	// Removed are members that are removed for good, Replaced those that make
	// room for a successor; Created counts the names of new members.
	Removed, Replaced []MemberID
	Created           int
	// InTurn are the names of members that may be replaced in one plan, one
	// after the other, because their rollouts take turns.
	InTurn []string
	// Turns are the replacements that are on record.
	Turns []Turn
}

// The codes of [GuardPlan], beside [TurnOfAnother] and [OthersNotActive].
const (
	// SecondReplacement: the plan would replace more than one member. The
	// others are those it would replace.
	SecondReplacement Code = "second replacement"
	// EveryVoterNeeded: the plan would replace one of so few voters that there is
	// no quorum without it. Its machine can be replaced before it is removed: if
	// the etcd_member is not in the plan. The others are those that it replaces.
	EveryVoterNeeded Code = "every voter needed"
	// TooFewStay: the plan creates members and leaves fewer than a quorum of
	// today's voters in place. The others are the voters it removes; Alive is
	// how many would stay.
	TooFewStay Code = "too few stay"
	// EveryVoterRemoved (warning): the plan removes every voter, the others.
	EveryVoterRemoved Code = "every voter removed"
)

// GuardPlan refuses a plan, before anything is touched, that no order of its
// steps can carry out safely: one that replaces a member while the replacement of
// another one is not over; that replaces one of two voters, or the only one, of
// which each is needed for the quorum; that replaces a second member although not
// all of them take turns; that replaces a member that may be alive while another
// member is not active; or that creates members while fewer than a quorum of
// today's voters stay (all nodes renamed). A plain shrink and a destroy of
// everything pass: they end where the operator wants them to. A plan that removes
// every voter is warned about, and one that replaces a living voter while a learner stays:
// whether the servers take its successor as another one can be read nowhere
// ([LearnerSlotTaken]).
//
// It knows a plan only as far as it has been made, so it is asked again with
// every change that is added; what it refuses once it refuses with more.
func GuardPlan(s Snapshot, p PlannedChanges) Decision {
	voters := IDs(s.Voters())
	replaced := in(voters, p.Replaced)
	f := Facts{Voters: len(voters), Quorum: Quorum(len(voters))}
	outOfTurn := func(id MemberID) bool {
		m, _ := s.Member(id)
		return !slices.Contains(p.InTurn, m.Name)
	}
	for _, id := range replaced {
		m, _ := s.Member(id)
		if d, ok := s.turnOf(m, p.Turns); !ok {
			return d
		}
	}
	f.Others = replaced
	switch {
	case len(replaced) > 0 && f.Quorum == f.Voters:
		return refuse(EveryVoterNeeded, f)
	case len(replaced) > 1 && slices.ContainsFunc(replaced, outOfTurn):
		return refuse(SecondReplacement, f)
	}
	for _, id := range replaced {
		m, _ := s.Member(id)
		// Members that take turns wait for each other when they are removed.
		if d, ok := s.othersActive(m, nil); !ok && outOfTurn(id) {
			return d
		}
	}
	// However many are replaced, one at a time is out.
	out := in(voters, union(p.Removed, replaced[:min(1, len(replaced))]))
	if f.Alive = len(voters) - len(out); p.Created > 0 && len(out) > 0 && f.Alive < f.Quorum {
		f.Others = out
		return refuse(TooFewStay, f)
	}
	d := Decision{Verdict: Go}
	if removed := in(voters, p.Removed); len(voters) > 0 && len(removed) == len(voters) {
		f.Others = removed
		d.Warnings = []Warning{{EveryVoterRemoved, f}}
	}
	var learners []MemberID
	for _, m := range s.Members {
		if m.Learner && !slices.Contains(union(p.Removed, p.Replaced), m.ID) {
			learners = append(learners, m.ID)
		}
	}
	living := slices.IndexFunc(replaced, s.Alive)
	if len(learners) > 0 && living >= 0 {
		d.Warnings = append(d.Warnings, Warning{LearnerSlotTaken, Facts{Subject: replaced[living], Others: learners}})
	}
	return d
}

// The codes of [GuardUnobserved]; Names are the configurations that the plan would
// replace, Voters is how many members formed the cluster.
const (
	// SecondUnobserved: the plan would replace more than one.
	SecondUnobserved Code = "second replacement, unobserved"
	// NeededUnobserved: as far as is known, the quorum needs every voter.
	NeededUnobserved Code = "every voter needed, unobserved"
)

// GuardUnobserved is [GuardPlan] for a cluster that cannot be observed: nothing is
// known of its voters then, so that their configurations are counted instead. At
// most one of those that bootstrapped together, or joined what was bootstrapped,
// is replaced in one plan; none of a cluster that was formed by so few that each
// of them was needed for the quorum. founders is how many formed it, 0 if it is
// not known to have formed.
func GuardUnobserved(replaced []string, founders int) Decision {
	f := Facts{Names: replaced, Voters: founders}
	switch {
	case len(replaced) > 1:
		return refuse(SecondUnobserved, f)
	case len(replaced) > 0 && founders > 0 && Quorum(founders) == founders:
		return refuse(NeededUnobserved, f)
	}
	return Decision{Verdict: Go}
}

// Holders counts the resources that the state has for one member, as far as a plan
// has come by them: those that the plan keeps, and those with which it removes or
// replaces the member. A learner that an etcd_member has adopted does not count as
// the latter: its destroy leaves the member alone.
type Holders struct{ Kept, Gone int }

// StillHeld is the code of [GuardHolders].
const StillHeld Code = "still held"

// GuardHolders refuses to remove or replace a member for which another resource
// stays in the state. Two resources of one member may stay, or go, together.
func GuardHolders(h Holders) Decision {
	if h.Gone > 0 && h.Kept > 0 {
		return refuse(StillHeld, Facts{})
	}
	return Decision{Verdict: Go}
}

// Fate is what a plan does to one of the three parts of a node: the
// configuration, the machine and the member.
type Fate uint8

const (
	// NotGiven: the member names no such part.
	NotGiven Fate = iota
	// Stays: the plan keeps it as it is, or updates it in place.
	Stays
	// Changes: the plan replaces it, or the member gets another one.
	Changes
)

// NodePlan is what a plan does to one node.
type NodePlan struct {
	Config, Machine, Member Fate
	// HasRun is whether the process of the member has ever run, or may have.
	HasRun bool
}

// The codes of [GuardNode].
const (
	// MemberAlone: the member is replaced, its configuration or whatever else
	// is known of its process stays.
	MemberAlone Code = "member replaced alone"
	// MachineStays: configuration and member are replaced, the machine stays.
	MachineStays Code = "machine stays"
	// MachineAlone: the machine is replaced, the configuration stays.
	MachineAlone Code = "machine replaced alone"
	// ConfigAlone: the configuration is replaced, the member stays.
	ConfigAlone Code = "configuration replaced alone"
)

// GuardNode refuses a plan that replaces some parts of a node and leaves others
// behind: once a member that has run is removed, neither its data nor its
// configuration can be used again, and a new machine must not start with the
// settings of an identity that has run. A member that never ran has nothing to
// leave behind.
func GuardNode(n NodePlan) Decision {
	switch {
	case n.Member == Stays && n.Config == Changes:
		return Decision{Code: ConfigAlone}
	case n.Member == Stays && n.Config == Stays && n.Machine == Changes:
		return Decision{Code: MachineAlone}
	case n.Member != Changes || !n.HasRun:
		return Decision{Verdict: Go}
	case n.Config == Stays, n.Config == NotGiven && n.Machine != Changes:
		return Decision{Code: MemberAlone}
	case n.Machine == Stays:
		return Decision{Code: MachineStays}
	default:
		return Decision{Verdict: Go}
	}
}

// MemberOf returns the member that a configuration is of: the one with exactly
// its peer URLs, else one that shares any, else the one of its name.
func (s Snapshot) MemberOf(name string, peerURLs []string) (Member, bool) {
	if m, ok := byURLs(s, peerURLs); ok {
		return m, true
	}
	if m, ok := s.first(func(m Member) bool { return shareURL(m.PeerURLs, peerURLs) }); ok {
		return m, true
	}
	return s.first(func(m Member) bool { return name != "" && m.Name == name })
}

// InTheWay returns the members that keep a new configuration of that name and
// those peer URLs from being made: those that bear the name, which come first, or
// any of the URLs, and have run. It leaves out the member that the configuration
// takes the place of. Whether they live is another question.
func (s Snapshot) InTheWay(name string, peerURLs []string, instead MemberID) []Member {
	named := func(m Member) bool { return name != "" && m.Name == name }
	found := func(is bool) []Member {
		return s.filter(func(m Member) bool {
			return m.ID != instead && len(m.ClientURLs) > 0 && named(m) == is && (is || shareURL(m.PeerURLs, peerURLs))
		})
	}
	return append(found(true), found(false)...)
}

func shareURL(a, b []string) bool {
	return slices.ContainsFunc(a, func(u string) bool {
		return slices.ContainsFunc(b, func(v string) bool { return SameURLs([]string{u}, []string{v}) })
	})
}
