// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

// Failover is what a standby learner stands by for.
type Failover struct {
	// Lost are the voters that are gone in both views, sorted.
	Lost []MemberID
	// First is true while a lost voter must leave before the learner may get a
	// vote: with one voter more, and the learner counted as failed, there would
	// be no quorum. So it is with three voters; of five, one may stay.
	First bool
	// Unsettled is true while an election keeps the others from saying who is
	// gone: look again.
	Unsettled bool
}

// JudgeFailover says whether voters are lost; seen is as in [JudgeLoss].
func JudgeFailover(s Snapshot, seen map[MemberID]bool) Failover {
	var f Failover
	voters := s.Voters()
	for _, m := range voters {
		switch JudgeLoss(s, m.ID, seen) {
		case Vanished:
			f.Lost = append(f.Lost, m.ID)
		case Unsettled:
			f.Unsettled = true
		}
	}
	f.Lost = union(f.Lost)
	f.First = len(f.Lost) > 0 && len(s.tallyOf(voters, 0).alive) < Quorum(len(voters)+1)
	return f
}
