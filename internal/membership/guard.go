// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

import "slices"

// PlannedChanges describes what one plan would do to the members of a cluster. A
// member counts as removed or replaced if its configuration is, even if the member
// itself is not in the plan: its machine is lost together with its configuration.
type PlannedChanges struct {
	// Removed are members that are removed permanently, Replaced are members that
	// make room for a successor, Created counts the names of new members.
	Removed, Replaced []MemberID
	Created           int
	// Turns are the replacements on record.
	Turns []Turn
}

// The codes of [GuardPlan], in addition to [TurnOfAnother] and [OthersNotActive].
const (
	// SecondReplacement: the plan would replace more than one member, the others.
	SecondReplacement Code = "second replacement"
	// EveryVoterNeeded: the plan would replace a voter, the others, but there are
	// so few voters that the quorum needs each. The machine can be replaced
	// before the member is removed, if the etcd_member is not in the plan.
	EveryVoterNeeded Code = "every voter needed"
	// TooFewStay: the plan creates members and leaves fewer than a quorum of
	// today's voters in place. The others are the voters it removes; Alive is
	// how many would stay.
	TooFewStay Code = "too few stay"
	// EveryVoterRemoved (warning): the plan removes every voter, the others.
	EveryVoterRemoved Code = "every voter removed"
)

// GuardPlan refuses a plan that no order of its steps can carry out safely, before
// anything is changed. It refuses to replace a member while the replacement of
// another member is not over; to replace one of two voters, or the only one,
// because the quorum needs each; to replace a second member; to replace a member
// that may be alive while another member is not active; and to create members
// while fewer than a quorum of today's voters stay (all nodes renamed). A plain
// shrink and a destroy of everything pass, because they end as the operator wants. It warns if the plan removes every voter, and if
// it replaces a living voter while a learner stays: whether the servers accept the
// successor as another learner cannot be read ([LearnerSlotTaken]).
//
// GuardPlan sees a plan only as far as it is made, so it is called again with
// every change that is added. A plan that it refuses stays refused with more
// changes.
func GuardPlan(s Snapshot, p PlannedChanges) Decision {
	voters := IDs(s.Voters())
	replaced := in(voters, p.Replaced)
	f := Facts{Voters: len(voters), Quorum: Quorum(len(voters))}
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
	case len(replaced) > 1:
		return refuse(SecondReplacement, f)
	}
	for _, id := range replaced {
		m, _ := s.Member(id)
		if d, ok := s.othersActive(m, nil); !ok {
			return d
		}
	}
	out := in(voters, union(p.Removed, replaced))
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

// The codes of [GuardUnobserved]. Names are the configurations that the plan
// would replace, Voters is the number of initial members.
const (
	// SecondUnobserved: the plan would replace more than one configuration.
	SecondUnobserved Code = "second replacement, unobserved"
	// NeededUnobserved: as far as is known, the quorum needs every voter.
	NeededUnobserved Code = "every voter needed, unobserved"
)

// GuardUnobserved is [GuardPlan] for a cluster that cannot be observed. Its
// voters are not known, so their configurations are counted instead. One plan may
// replace at most one of those that bootstrapped together or joined that cluster,
// and none if so few members formed the cluster that the quorum needed each of
// them. founders is the number of initial members, 0 if the cluster is not known
// to have formed.
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

// Holders counts the resources that state has for one member, as far as the plan
// is made: Kept by the plan, or Gone because the plan uses them to remove or
// replace the member. A learner that an etcd_member adopted does not count as
// Gone: its destroy does not remove the member.
type Holders struct{ Kept, Gone int }

// StillHeld is the code of [GuardHolders].
const StillHeld Code = "still held"

// GuardHolders refuses to remove or replace a member if another resource of that
// member stays in state. Two resources of a member may be kept or removed together.
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
	// NotGiven: the member does not name this part.
	NotGiven Fate = iota
	// Stays: the plan keeps it as it is, or updates it in place.
	Stays
	// Changes: the plan replaces it, or the member gets another one.
	Changes
)

// NodePlan is what a plan does to one node.
type NodePlan struct {
	Config, Machine, Member Fate
	// HasRun is true if the process of the member has run, or may have run.
	HasRun bool
}

// The codes of [GuardNode].
const (
	// MemberAlone: the member is replaced, and its configuration stays.
	MemberAlone Code = "member replaced alone"
	// ProcessStays: a member without a configuration is replaced, and the plan
	// does not replace its machine.
	ProcessStays Code = "process stays"
	// MachineStays: configuration and member are replaced, the machine stays.
	MachineStays Code = "machine stays"
	// MachineAlone: the machine is replaced, the configuration stays.
	MachineAlone Code = "machine replaced alone"
	// ProcessAlone: a member without a configuration gets another machine that
	// exists, and stays.
	ProcessAlone Code = "process replaced alone"
	// ConfigAlone: the configuration is replaced, the member stays.
	ConfigAlone Code = "configuration replaced alone"
)

// GuardNode refuses a plan that replaces some parts of a node and keeps others.
// After a member that has run is removed, neither its data nor its configuration
// can be used again, and a new machine must not start with the settings of an
// identity that has run. A member that has never run leaves nothing behind.
func GuardNode(n NodePlan) Decision {
	switch {
	case n.Member == Stays && n.Config == Changes:
		return Decision{Code: ConfigAlone}
	case n.Member == Stays && n.Config == Stays && n.Machine == Changes:
		return Decision{Code: MachineAlone}
	case n.Member == Stays && n.Machine == Changes && n.HasRun:
		return Decision{Code: ProcessAlone}
	case n.Member != Changes || !n.HasRun:
		return Decision{Verdict: Go}
	case n.Config == Stays:
		return Decision{Code: MemberAlone}
	case n.Config == NotGiven && n.Machine != Changes:
		return Decision{Code: ProcessStays}
	case n.Machine == Stays:
		return Decision{Code: MachineStays}
	default:
		return Decision{Verdict: Go}
	}
}

// MemberOf returns the member of a configuration: the member with exactly its peer
// URLs, otherwise a member with any of them, otherwise the member with its name.
func (s Snapshot) MemberOf(name string, peerURLs []string) (Member, bool) {
	if m, ok := byURLs(s, peerURLs); ok {
		return m, true
	}
	if m, ok := s.first(func(m Member) bool { return shareURL(m.PeerURLs, peerURLs) }); ok {
		return m, true
	}
	return s.first(func(m Member) bool { return name != "" && m.Name == name })
}

// InTheWay returns the members that block a new configuration with that name and
// those peer URLs: members that have run and have the name, which come first, or
// any of the URLs. It leaves out the member that the configuration replaces. It
// does not check whether the members are alive.
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
