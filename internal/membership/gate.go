// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

// condition is what is known about one member.
type condition uint8

const (
	// unprobed: nothing is known.
	unprobed condition = iota
	// down: the member does not answer, or cannot serve, or a process of another
	// cluster answers in its place.
	down
	// unstarted: the member was added and has never published its attributes.
	unstarted
	// unproven: alive, and its change of peer URLs is pending. The quorum of today counts
	// it. Nothing that a change must bear may rely on it, because its next restart may cut
	// it off: for every projection it is a member that has failed.
	unproven
	// alive: see [Snapshot.Alive].
	alive
)

// conditionOf classifies a member. The list alone shows that a member has not
// started, so such a member without an address is unstarted, not unprobed.
func (s Snapshot) conditionOf(m Member) condition {
	a := s.Answer(m.ID)
	switch {
	case s.Alive(m.ID) && s.isPending(m.ID):
		return unproven
	case s.Alive(m.ID):
		return alive
	case a.State == WrongCluster,
		a.State == Answered && a.MemberID == m.ID: // another cluster's, or no read
		return down
	case !m.Started():
		return unstarted
	case a.State == Silent:
		return down
	default: // never asked, or another member answered
		return unprobed
	}
}

// tally is a set of members by condition, each list sorted by ID.
type tally map[condition][]MemberID

// tallyOf groups the members by condition, except the member with the given ID.
func (s Snapshot) tallyOf(members []Member, without MemberID) tally {
	t := tally{}
	for _, m := range members {
		if c := s.conditionOf(m); m.ID != without {
			t[c] = append(t[c], m.ID)
		}
	}
	return t
}

// voteResult says whether enough members are alive, like VoteResult in raft's quorum
// package.
type voteResult uint8

const (
	// lost: there are not enough, even if all unprobed members are alive.
	lost voteResult = iota
	// pending: the unprobed members decide.
	pending
	// won: there are enough.
	won
)

// reach says whether a quorum is reached by members that count, and by others that may.
func reach(quorum, count, may int) voteResult {
	switch {
	case count >= quorum:
		return won
	case count+may >= quorum:
		return pending
	}
	return lost
}

// project returns the facts of a change that results in that many voters, of
// which the tally has those alive, and whether they have a quorum.
func (t tally) project(subject MemberID, voters int) (Facts, voteResult) {
	f := Facts{Subject: subject, Votes: Votes{voters, Quorum(voters), len(t[alive])}}
	return f, reach(f.Quorum, f.Alive, len(t[unprobed]))
}

// gone returns the members on which no change may rely.
func (t tally) gone() []MemberID { return union(t[down], t[unstarted], t[unproven]) }

// missing returns the members not known to be alive, and those on which no change may rely.
func (t tally) missing() []MemberID { return union(t.gone(), t[unprobed]) }

// goneCode returns the code for the members that are gone: that of the worst of them.
func (t tally) goneCode() Code {
	switch {
	case len(t[down]) > 0:
		return MemberDown
	case len(t[unstarted]) > 0:
		return MemberUnstarted
	}
	return URLsPending
}

// Gate checks what every change needs, and everything that is written from the
// member list. subject is the member that the change is about, if any. The order:
//
//  1. One cluster. Endpoints of several make every other figure meaningless.
//  2. A quorum of today's voters that answer. Without it no change can be made,
//     and every call would hang until its deadline, so this refusal comes before
//     any reason to wait. It is [QuorumLost] only if the loss is certain. It is
//     [NotProbed] if voters that could not be asked may make up the number, or if
//     the cluster served a linearizable request and so has a quorum somewhere.
//     Sending an operator to the snapshots without need would be the worst
//     outcome.
//  3. One leader and term, named by a quorum of voters, and a quorum that serves
//     reads. Otherwise an election is going on, and time may end it.
//  4. A list that a majority confirmed and that did not change. This comes after
//     the leader, because the list cannot be confirmed without one, and the
//     missing leader is the reason to report.
//
// When the verdict is Go, [Snapshot.MajorityLeader] returns the leader.
func (s Snapshot) Gate(subject MemberID) Decision {
	if len(s.Others) > 0 {
		return refuse(MixedClusters, Facts{Subject: subject})
	}
	voters := s.Voters()
	all := s.tallyOf(voters, 0)
	all[alive] = union(all[alive], all[unproven])
	today, serving := all.project(subject, len(voters))
	silent := keep(voters, func(m Member) bool { return !s.answers(m.ID) })
	quiet := s.tallyOf(silent, 0)
	answering := reach(today.Quorum, len(voters)-len(silent), len(quiet[unprobed]))
	_, _, agreed := s.MajorityLeader()
	switch {
	case answering != won && (s.Linearizable || today.Alive > 0):
		return refuse(NotProbed, today.of(quiet.missing()))
	case answering == pending, len(voters) == 0:
		return refuse(NotProbed, today.of(quiet[unprobed]))
	case answering == lost:
		return refuse(QuorumLost, today.of(quiet.missing()))
	case !agreed || serving != won:
		return wait(NoLeader, today)
	case s.Linearizable:
		return Decision{Verdict: Go}
	case len(s.Dissent) > 0:
		return wait(ListsDiffer, today.of(s.Dissent))
	}
	return wait(ListMoved, Facts{Subject: subject})
}

// about returns a decision about another subject.
func (d Decision) about(id MemberID) Decision {
	d.Facts.Subject = id
	return d
}

func refuse(c Code, f Facts) Decision { return Decision{Verdict: Refuse, Code: c, Facts: f} }
func wait(c Code, f Facts) Decision   { return Decision{Verdict: Wait, Code: c, Facts: f} }

// firstOf returns the first of the decisions that is not Go, or Go.
func firstOf(decisions ...Decision) Decision {
	for _, d := range decisions {
		if d.Verdict != Go {
			return d
		}
	}
	return Decision{Verdict: Go}
}
