// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

// Quorum returns how many of n voters must agree before anything is decided:
// more than half of them.
//
// For 0 and negative numbers Quorum returns 1: a cluster without voters decides
// nothing, however many of its members are alive. Raft's own code does the
// opposite (an empty half of a joint configuration agrees to everything). Here a
// quorum of nothing that is reached would permit the removal of the last voter.
func Quorum[N int | int64](n N) N {
	if n < 1 {
		return 1
	}
	return n/2 + 1
}

// Quorum returns how many of the voters in the list must be alive. Learners
// have no vote and do not count.
func (s Snapshot) Quorum() int { return Quorum(len(s.Voters())) }

// Alive reports whether the member is in the list and answered itself, with its
// own ID and this cluster's ID, and, if it is a voter, served a linearizable
// read. "Started" is not enough: the server counts a member that has ever
// published a name as started, however long it has been dead.
func (s Snapshot) Alive(id MemberID) bool {
	m, ok := s.Member(id)
	return ok && s.answers(id) && (m.Learner || s.Answer(id).ReadOK)
}

// Down returns the members that have started and cannot be reached here, or serve
// nothing, sorted by ID. It does not say whether the others can reach them.
func (s Snapshot) Down() []MemberID { return union(s.tallyOf(s.Members, 0)[down]) }

// answers reports whether the member itself answered.
func (s Snapshot) answers(id MemberID) bool { return id != 0 && s.Answer(id).IsOf(id, s.ClusterID) }

// MajorityLeader returns the leader and term that a quorum of all voters in the
// list name, each in its own answer. ok is false if there is no such pair, or if
// the leader is not a voter in the list. The answer of one endpoint is never
// enough, because a leader that was cut off considers itself the leader until it
// finds out.
func (s Snapshot) MajorityLeader() (leader MemberID, term uint64, ok bool) {
	voters := s.Voters()
	for _, m := range voters {
		a, same := s.Answer(m.ID), 0
		for _, v := range voters {
			if b := s.Answer(v.ID); b.IsOf(v.ID, s.ClusterID) && b.Leader == a.Leader && b.Term == a.Term {
				same++
			}
		}
		if l, listed := s.Member(a.Leader); same >= Quorum(len(voters)) && listed && !l.Learner {
			return a.Leader, a.Term, true
		}
	}
	return 0, 0, false
}
