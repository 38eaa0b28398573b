// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

// PlannedChanges is what one plan would do to the members of a cluster.
type PlannedChanges struct {
	// Removed are members that go for good, Replaced those that make room for
	// a successor; Created counts members that are new.
	Removed, Replaced []MemberID
	Created           int
	// InTurn are the members of Replaced that may be replaced in one plan, one
	// after the other, because their rollouts are parallel.
	InTurn []MemberID
	// Turns are the replacements that are on record.
	Turns []Turn
}

// The codes of [GuardPlan], beside [TurnOfAnother]: the plan would replace a
// living member while an earlier replacement of another one is not over.
const (
	// SecondReplacement: the plan would replace more than one member. The
	// others are those it would replace.
	SecondReplacement Code = "second replacement"
	// OnlyVoterReplaced: the plan would replace the only voter.
	OnlyVoterReplaced Code = "only voter replaced"
	// TooFewStay: the plan creates members and leaves fewer than a quorum of
	// today's voters in place. The others are the voters it takes out; Alive is
	// how many would stay.
	TooFewStay Code = "too few stay"
)

// GuardPlan refuses a plan, before anything is touched, that no order of its
// steps can carry out safely: one that replaces a second member although not all
// of them take turns, or a living one while the replacement of another was
// broken off; that replaces the only voter; or that creates members while fewer
// than a quorum of today's voters stay (all nodes renamed). A plain shrink, and a
// destroy of everything, pass: they end where the operator wants them to.
//
// It knows a plan only as far as it has been made, so it is asked again with
// every change that is added; what it refuses once it refuses with more.
func GuardPlan(s Snapshot, p PlannedChanges) Decision {
	voters := idsOf(s.Voters())
	replaced := in(voters, p.Replaced)
	f := Facts{Voters: len(voters), Quorum: Quorum(len(voters))}
	switch {
	case len(voters) == 1 && len(replaced) == 1:
		f.Others = replaced
		return refuse(OnlyVoterReplaced, f)
	case len(replaced) > 1 && len(in(replaced, p.InTurn)) < len(replaced):
		f.Others = replaced
		return refuse(SecondReplacement, f)
	}
	for _, id := range replaced {
		m, _ := s.Member(id)
		if d, ok := s.turnOf(m, p.Turns); !ok {
			return d
		}
	}
	// However many are replaced, one at a time is out.
	out := in(voters, union(p.Removed, replaced[:min(1, len(replaced))]))
	if f.Alive = len(voters) - len(out); p.Created > 0 && len(out) > 0 && f.Alive < f.Quorum {
		f.Others = out
		return refuse(TooFewStay, f)
	}
	return Decision{Verdict: Go}
}
