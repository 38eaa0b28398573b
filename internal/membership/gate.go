// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

// condition is what is known about one member.
type condition uint8

const (
	// unprobed: nothing is known.
	unprobed condition = iota
	// down: it does not answer, or cannot serve, or another cluster's process
	// answers in its place.
	down
	// unstarted: it was announced and has never published its attributes.
	unstarted
	// alive: see [Snapshot.Alive].
	alive
)

// conditionOf classifies a member. That it has not started is known from the
// list, so a member without an address to ask at is unstarted, not unprobed.
func (s Snapshot) conditionOf(m Member) condition {
	a := s.Answer(m.ID)
	switch {
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
type tally struct {
	alive, down, unstarted, unprobed []MemberID
}

// tallyOf sorts the members into conditions, leaving out the one member given.
func (s Snapshot) tallyOf(members []Member, without MemberID) tally {
	var t tally
	for _, m := range members {
		if m.ID == without {
			continue
		}
		switch s.conditionOf(m) {
		case alive:
			t.alive = append(t.alive, m.ID)
		case down:
			t.down = append(t.down, m.ID)
		case unstarted:
			t.unstarted = append(t.unstarted, m.ID)
		default:
			t.unprobed = append(t.unprobed, m.ID)
		}
	}
	return t
}

// votes says whether enough members are alive, as VoteResult of raft's quorum
// package does of votes.
type votes uint8

const (
	// lost: there are not enough, whoever the unprobed are.
	lost votes = iota
	// pending: the unprobed decide it.
	pending
	// won: there are enough.
	won
)

// reaches says whether as many are alive as a quorum is.
func (t tally) reaches(quorum int) votes {
	switch alive := len(t.alive); {
	case alive >= quorum:
		return won
	case alive+len(t.unprobed) >= quorum:
		return pending
	default:
		return lost
	}
}

// project returns the figures of a change after which there are that many
// voters, of whom those in the tally are alive, and whether they have a quorum.
func (t tally) project(subject MemberID, voters int) (Facts, votes) {
	f := Facts{Subject: subject, Voters: voters, Quorum: Quorum(voters), Alive: len(t.alive)}
	return f, t.reaches(f.Quorum)
}

// gone returns the members known not to be alive.
func (t tally) gone() []MemberID { return union(t.down, t.unstarted) }

// missing returns the members not known to be alive.
func (t tally) missing() []MemberID { return union(t.down, t.unstarted, t.unprobed) }

// goneCode is the code for the members that are known not to be alive:
// [MemberDown] where one of them has lived, else [MemberUnstarted].
func (t tally) goneCode() Code {
	if len(t.down) > 0 {
		return MemberDown
	}
	return MemberUnstarted
}

// Gate holds what every change, of the subject if it is about a member, and
// everything that is written of the member list needs, in this order:
//
//  1. One cluster. Endpoints of several make every other figure meaningless.
//  2. A quorum of today's voters that answer. Without one no change can be
//     made, and every call would hang until its deadline; so this refusal comes
//     before any reason to wait. It is [QuorumLost] only where it must be so:
//     where voters that could not be asked may make up the number, or where the
//     cluster served a linearizable request and so has a quorum somewhere, it is
//     [NotProbed]. To send somebody to their snapshots without need would be the
//     worst thing to say.
//  3. One leader and term, named by a quorum of voters, and a quorum that
//     serves reads: otherwise an election is going on, and time may end it.
//  4. A list that was confirmed by a majority, and did not change. This comes
//     after the leader because without a leader the list cannot be confirmed, and
//     the leader is the reason to name.
//
// When the verdict is Go, [Snapshot.MajorityLeader] names the leader.
func (s Snapshot) Gate(subject MemberID) Decision {
	if len(s.Others) > 0 {
		return refuse(MixedClusters, Facts{Subject: subject})
	}
	voters := s.Voters()
	var answering tally
	for _, m := range voters {
		switch c := s.conditionOf(m); {
		case s.answers(m.ID):
			answering.alive = append(answering.alive, m.ID)
		case c == unprobed:
			answering.unprobed = append(answering.unprobed, m.ID)
		default:
			answering.down = append(answering.down, m.ID)
		}
	}
	today, living := s.tallyOf(voters, 0).project(subject, len(voters))
	if answered := answering.reaches(today.Quorum); answered != won {
		today.Others = answering.missing()
		switch {
		case s.Linearizable || today.Alive > 0:
			return refuse(NotProbed, today)
		case answered == pending || len(voters) == 0:
			today.Others = answering.unprobed
			return refuse(NotProbed, today)
		default:
			return refuse(QuorumLost, today)
		}
	}
	if _, _, agreed := s.MajorityLeader(); !agreed || living != won {
		return wait(NoLeader, today)
	}
	switch {
	case s.Linearizable:
		return Decision{Verdict: Go}
	case len(s.Dissent) > 0:
		return wait(ListsDiffer, Facts{Subject: subject, Others: s.Dissent, Voters: today.Voters, Quorum: today.Quorum})
	default:
		return wait(ListMoved, Facts{Subject: subject})
	}
}

func refuse(c Code, f Facts) Decision { return Decision{Verdict: Refuse, Code: c, Facts: f} }
func wait(c Code, f Facts) Decision   { return Decision{Verdict: Wait, Code: c, Facts: f} }
