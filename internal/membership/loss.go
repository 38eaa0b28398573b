// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

// Loss is what two independent views say of a member.
type Loss uint8

const (
	// Present: it answers, or has not come yet, or is not in the list.
	Present Loss = iota
	// Unreachable: it does not answer here, and that is all that is known: the
	// leader still sees it, or could not be asked, or the rest has no quorum
	// that could say so.
	Unreachable
	// Vanished: it does not answer here, and the leader, whom a quorum of the
	// rest follows, has no connection to it either.
	Vanished
	// Unsettled: it does not answer here, and the others are about to elect a
	// leader who could say more: it may have been the leader itself.
	Unsettled
)

// JudgeLoss says what is known of a member that may be gone. seen are the
// leader's connections to the others, as its metrics show them. Two views are
// needed because one alone is often wrong: a member that cannot be reached from
// here may serve everybody else.
func JudgeLoss(s Snapshot, id MemberID, seen map[MemberID]bool) Loss {
	m, listed := s.Member(id)
	if !listed || !m.Started() || s.Alive(id) {
		return Present
	}
	if s.conditionOf(m) != down {
		return Unreachable
	}
	gate := s.Gate(id).Verdict
	leader, _, _ := s.MajorityLeader()
	active, known := seen[id]
	switch {
	case gate == Wait, gate == Go && leader == id:
		return Unsettled
	case gate != Go || !known || active:
		return Unreachable
	default:
		return Vanished
	}
}
