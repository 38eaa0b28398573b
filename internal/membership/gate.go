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

// gate holds what every change needs, in this order:
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
// ok is true when all hold; then leader and term are the majority's.
func (s Snapshot) gate(subject MemberID) (d Decision, leader MemberID, term uint64, ok bool) {
	if len(s.Others) > 0 {
		return refuse(MixedClusters, Facts{Subject: subject}), 0, 0, false
	}
	voters := s.Voters()
	var answering, silent, unknown []MemberID
	for _, m := range voters {
		switch c := s.conditionOf(m); {
		case s.answers(m.ID):
			answering = append(answering, m.ID)
		case c == unprobed:
			unknown = append(unknown, m.ID)
		default:
			silent = append(silent, m.ID)
		}
	}
	living, quorum := len(s.tallyOf(voters, 0).alive), Quorum(len(voters))
	today := Facts{Subject: subject, Voters: len(voters), Quorum: quorum, Alive: living}
	if len(answering) < quorum {
		switch {
		case s.Linearizable || living > 0:
			today.Others = union(silent, unknown)
			return refuse(NotProbed, today), 0, 0, false
		case len(answering)+len(unknown) >= quorum || len(voters) == 0:
			today.Others = unknown
			return refuse(NotProbed, today), 0, 0, false
		default:
			today.Others = union(silent, unknown)
			return refuse(QuorumLost, today), 0, 0, false
		}
	}
	leader, term, agreed := s.MajorityLeader()
	if !agreed || living < quorum {
		return wait(NoLeader, today), 0, 0, false
	}
	switch {
	case s.Linearizable:
		return Decision{}, leader, term, true
	case len(s.Dissent) > 0:
		return wait(ListsDiffer, Facts{Subject: subject, Others: s.Dissent, Voters: len(voters), Quorum: quorum}), 0, 0, false
	default:
		return wait(ListMoved, Facts{Subject: subject}), 0, 0, false
	}
}

// Settled decides whether what is written, such as a configuration for a new
// member, may rest on the member list: on one that a majority of its voters
// confirms, or none is meant. It waits and refuses as every change does.
func Settled(s Snapshot) Decision {
	d, _, _, ok := s.gate(0)
	if ok {
		d.Verdict = Go
	}
	return d
}

func refuse(c Code, f Facts) Decision { return Decision{Verdict: Refuse, Code: c, Facts: f} }
func wait(c Code, f Facts) Decision   { return Decision{Verdict: Wait, Code: c, Facts: f} }
