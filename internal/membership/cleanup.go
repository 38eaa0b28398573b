// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

// CleanUpRequest is what the backstop has about a member when the configuration
// of its process is destroyed.
type CleanUpRequest struct {
	// Name and PeerURLs are those of the configuration. PeerURLs is empty if the
	// addresses are not known before the machine exists.
	Name     string
	PeerURLs []string
	// RecordName is the name in its ownership record, Ownership is the rest of it.
	RecordName string
	Ownership  Ownership
	// Replacement is true if another configuration follows.
	Replacement bool
	// Seen holds the leader's connections to the others, see [JudgeLoss].
	Seen map[MemberID]bool
}

// DecideCleanUp decides what happens to the member that was added for a
// configuration when that configuration is destroyed: the backstop. The machine was
// destroyed before, and the member should have been removed by then. The order:
//
//  1. What every change needs: one cluster, quorum, leader, confirmed list.
//  2. The record names no member in the list: done.
//  3. Record, configuration and list disagree ([CleanUpRequest.agrees]): done with
//     a warning, and nothing is removed. A record is a hint: a forged or stale
//     record removes nothing.
//  4. A learner is removed, alive or not.
//  5. A dead voter is removed like any other ([DecideRemove]). It is dead if it
//     does not answer and the leader has no connection to it.
//  6. Any other voter stays. For half of a replacement the verdict is [Wait], until
//     its machine ends; otherwise it is Done, with a warning. While an election
//     keeps the leader from telling which members are alive, the verdict is [Wait].
//
// When the verdict is Go, Facts.Subject is the member to remove. When it is Done,
// the caller deletes the record.
func DecideCleanUp(s Snapshot, r CleanUpRequest) Decision {
	d := s.Gate(r.Ownership.ID)
	if d.Verdict != Go {
		return d
	}
	m, listed := s.MemberOnRecord(r.Ownership)
	f := Facts{Subject: m.ID}
	loss := s.lossOf(m, r.Seen)
	switch {
	case !listed:
		return Decision{Verdict: Done}
	case !r.agrees(m):
		return Decision{Verdict: Done, Warnings: []Warning{{RecordDisagrees, f}}}
	case !m.Learner && loss != Vanished:
		if r.Replacement || loss == Unsettled {
			return wait(VoterLives, f)
		}
		return Decision{Verdict: Done, Warnings: []Warning{{Unmanaged, f}}}
	}
	return DecideRemove(s, RemoveRequest{ID: m.ID, PeerURLs: m.PeerURLs, Replacement: r.Replacement && !m.Learner}).about(m.ID)
}

// MemberOnRecord returns the member in the list that an ownership record names:
// the member with its ID, or, if only the intent was recorded, the member with
// exactly its peer URLs. The record of a removed member names none: an ID never
// returns.
func (s Snapshot) MemberOnRecord(o Ownership) (Member, bool) {
	switch {
	case !o.Recorded || o.Removed:
		return Member{}, false
	case o.ID == 0:
		return byURLs(s, o.PeerURLs)
	}
	return s.Member(o.ID)
}

// agrees reports whether the record, the configuration and the list agree on a
// member:
//
//   - The peer URLs in the list are those of the record, and those of the
//     configuration if it has any.
//   - The name in the list, once the member has published one, is that of the
//     configuration. If it has none, and the configuration has no peer URLs, the
//     record must have the configuration's name and the member must be a learner:
//     only the record identifies it then, and a member added for a configuration
//     gets a vote only after it has published its name.
//   - A member that is known by the intent alone has no vote: its ID is recorded
//     before it is promoted.
func (r CleanUpRequest) agrees(m Member) bool {
	switch {
	case !SameURLs(m.PeerURLs, r.Ownership.PeerURLs),
		len(r.PeerURLs) > 0 && !SameURLs(m.PeerURLs, r.PeerURLs),
		m.Name != "" && m.Name != r.Name,
		m.Name == "" && len(r.PeerURLs) == 0 && (r.RecordName != r.Name || !m.Learner),
		r.Ownership.ID == 0 && !m.Learner:
		return false
	}
	return true
}

// lossOf is [JudgeLoss] for a caller that is about to act, which [Snapshot.Gate] permits. A
// member that answers anything is not dead. A member that has never published its attributes
// may still run, so the leader must have no connection to that member either.
func (s Snapshot) lossOf(m Member, seen map[MemberID]bool) Loss {
	leader, _, _ := s.MajorityLeader()
	active, known := seen[m.ID]
	switch {
	case !s.provenDead(m):
		return Unreachable
	case leader == m.ID:
		return Unsettled
	case known && !active:
		return Vanished
	}
	return Unreachable
}
