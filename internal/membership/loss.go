// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

// Loss is what two independent views show about a member.
type Loss uint8

const (
	// Present: the member answers, or has not started yet, or is not in the list.
	Present Loss = iota
	// Unreachable: the member does not answer here, and nothing else is known:
	// the leader still sees it, or could not be asked, or the rest has no quorum.
	Unreachable
	// Vanished: the member does not answer here, and the leader, which a quorum
	// of the rest follows, has no connection to it either.
	Vanished
	// Unsettled: the member does not answer here, and the others are about to elect
	// a leader that can tell more. The member may have been the leader itself.
	Unsettled
)

// JudgeLoss returns what is known about a member that may be gone. seen holds the
// leader's connections to the others, as its metrics show them. It needs two
// views, because one alone is often wrong: a member that is unreachable from here
// may serve all other clients.
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
