// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

// Failover describes the lost voters that a standby learner may replace.
type Failover struct {
	// Lost are the voters that are gone in both views, sorted by ID.
	Lost []MemberID
	// First is true if a lost voter must be removed before the learner may be
	// promoted: with one voter more, and the learner counted as failed, there would
	// be no quorum. This is so with three voters; of five, one lost voter may stay.
	First bool
	// Unsettled is true while an election keeps the others from telling which
	// voters are gone: observe the cluster again.
	Unsettled bool
}

// JudgeFailover returns which voters are lost; seen is as in [JudgeLoss].
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
	f.First = len(f.Lost) > 0 && len(s.tallyOf(voters, 0)[alive]) < Quorum(len(voters)+1)
	return f
}
