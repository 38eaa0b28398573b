// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

import (
	"cmp"
	"slices"
)

// SurvivorLeft: the quorum is lost, and the subject has the most data of those
// that answer. Code of advice alone.
const SurvivorLeft Code = "survivor left"

// DecideSave decides whose data is saved, or whether that of a certain member,
// from, may be. before is an earlier observation of the same cluster.
//
// Without a wish a quorum must stand behind the data: a member that was cut off may
// be far behind. What is saved then has every write that was acknowledged before
// the earlier observation. A follower that serves a linearizable read has them. A
// learner serves none, so it must have applied as much as a voter that served one
// in the earlier observation. The order spares those that clients wait for:
// learners, followers, the leader; of equals, the most advanced.
//
// A certain member's data is saved also if that is all there is left, with a
// warning.
//
// When the verdict is Go, Facts.Subject is the member.
func DecideSave(s, before Snapshot, from MemberID) Decision {
	d := s.Gate(from)
	switch {
	case d.Verdict != Go && (from == 0 || d.Code == MixedClusters):
		return d
	case from == 0:
		return Decision{Verdict: Go, Facts: Facts{Subject: s.leastBusy(before)}}
	}
	f := Facts{Subject: from, Detail: s.Answer(from).Detail}
	if _, listed := s.Member(from); !listed {
		return refuse(NotMember, f)
	}
	if !s.answers(from) {
		return refuse(NotAlive, f)
	}
	out := Decision{Verdict: Go, Facts: Facts{Subject: from}}
	if d.Verdict != Go {
		out.Warnings = []Warning{{Code: d.Code, Facts: d.Facts}}
	}
	return out
}

// leastBusy returns the member of a cluster with a leader whose data is saved.
func (s Snapshot) leastBusy(before Snapshot) MemberID {
	leader, _, _ := s.MajorityLeader()
	voters := s.tallyOf(s.Voters(), 0).alive
	var learners []MemberID
	for _, id := range s.tallyOf(s.Learners(), 0).alive {
		if slices.ContainsFunc(voters, func(v MemberID) bool {
			return before.ClusterID == s.ClusterID && before.Alive(v) && s.Answer(id).Applied >= s.Answer(v).Applied
		}) {
			learners = append(learners, id)
		}
	}
	followers := slices.DeleteFunc(voters, func(id MemberID) bool { return id == leader })
	for _, candidates := range [][]MemberID{learners, followers} {
		if len(candidates) > 0 {
			return s.successor(candidates, nil)
		}
	}
	return leader
}

// Survivor returns the member to save once the quorum is lost: of those that
// answer, the one with the most data. ok is false while a quorum holds, or may
// hold (see [Snapshot.Gate]), and if no member answers.
//
// The most data is the highest applied index. What a member has applied was
// committed, and no other member ever applies anything else at the same index
// (raft's state machine safety), so the higher index includes the lower one. The
// term does not matter: it is the member's current one, which grows with each
// election that it tries to win, and not that of its last entry. A learner receives
// and applies the same entries, so it counts as a voter does. A member that raised
// CORRUPT comes last: its data differs from the others' at the same index.
func (s Snapshot) Survivor() (id MemberID, ok bool) {
	if s.Gate(0).Code != QuorumLost {
		return 0, false
	}
	answering := s.filter(func(m Member) bool { return s.answers(m.ID) })
	if len(answering) == 0 {
		return 0, false
	}
	return slices.MinFunc(answering, func(a, b Member) int {
		x, y := s.Answer(a.ID), s.Answer(b.ID)
		return cmp.Or(last(s.corrupt(a.ID))-last(s.corrupt(b.ID)), cmp.Compare(y.Applied, x.Applied), cmp.Compare(y.Index, x.Index),
			last(a.Learner)-last(b.Learner), byName(a, b))
	}).ID, true
}

// last orders those of which it is so behind the others.
func last(is bool) int {
	if is {
		return 1
	}
	return 0
}
