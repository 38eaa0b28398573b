// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

// WithdrawRequest is what the backstop knows of a member, when the
// configuration of its process is destroyed.
type WithdrawRequest struct {
	// Owner is the configuration's ID; Name and PeerURLs are its own. PeerURLs
	// are empty for addresses that are not known before the machine.
	Owner    string
	Name     string
	PeerURLs []string
	// RecordOwner and RecordName are what the ownership record says of them,
	// Ownership is the rest of the record.
	RecordOwner, RecordName string
	Ownership               Ownership
	// Replacement is true if another configuration follows.
	Replacement bool
	// Seen are the leader's connections to the others, see [JudgeLoss].
	Seen map[MemberID]bool
}

// DecideWithdraw decides what becomes of the member that was added for a
// configuration, when that is destroyed: the backstop. Its machine went before,
// and so should the member have. The order:
//
//  1. what every change needs: one cluster, quorum, leader, confirmed list;
//  2. the record speaks of no member in the list: done;
//  3. record, configuration and list disagree ([WithdrawRequest.agrees]): done
//     with a warning, and nothing is removed. A record is a hint, and a forged
//     or stale one removes nothing;
//  4. a learner is removed, alive or not;
//  5. a voter that is dead is removed as any other is ([DecideRemove]). It is
//     dead if it does not answer and the leader has no connection to it;
//  6. any other voter stays: as half of a replacement the verdict is [Wait], for
//     its machine to end; otherwise it is done, with a warning. While an
//     election keeps the leader from saying who lives, the verdict is [Wait].
//
// When the verdict is Go, Facts.Subject is the member to remove. When it is
// Done, the record is to be deleted.
func DecideWithdraw(s Snapshot, r WithdrawRequest) Decision {
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
	d = DecideRemove(s, RemoveRequest{ID: m.ID, PeerURLs: m.PeerURLs, Replacement: r.Replacement && !m.Learner})
	d.Facts.Subject = m.ID
	return d
}

// MemberOnRecord returns the member in the list that an ownership record speaks of:
// the one with its ID, or, if only the intent was recorded, the one with exactly
// its peer URLs. A record of a member that was removed speaks of none: an ID
// never returns.
func (s Snapshot) MemberOnRecord(o Ownership) (Member, bool) {
	switch {
	case !o.Recorded || o.Removed:
		return Member{}, false
	case o.ID == 0:
		return byURLs(s, o.PeerURLs)
	default:
		return s.Member(o.ID)
	}
}

// agrees reports whether everything that the record, the configuration and the
// list know of a member is the same:
//
//   - the record's owner is the configuration;
//   - the peer URLs in the list are the record's, and the configuration's if it
//     has any;
//   - the name in the list, once the member has published one, is the
//     configuration's. Without one, and without peer URLs in the configuration,
//     the record's name must be the configuration's, and the member a learner:
//     nothing but the record speaks of it then, and what was added for a
//     configuration gets a vote only after it has published its name;
//   - a member that is known by the intent alone has no vote: its ID is recorded
//     before it is promoted.
func (r WithdrawRequest) agrees(m Member) bool {
	switch {
	case r.RecordOwner != r.Owner,
		!SameURLs(m.PeerURLs, r.Ownership.PeerURLs),
		len(r.PeerURLs) > 0 && !SameURLs(m.PeerURLs, r.PeerURLs),
		m.Name != "" && m.Name != r.Name,
		m.Name == "" && len(r.PeerURLs) == 0 && (r.RecordName != r.Name || !m.Learner),
		r.Ownership.ID == 0 && !m.Learner:
		return false
	default:
		return true
	}
}

// lossOf is [JudgeLoss] for someone who is about to act: a member that answers
// anything is not dead, and one that has never published its attributes may run
// nevertheless, so the leader must have no connection to that either.
func (s Snapshot) lossOf(m Member, seen map[MemberID]bool) Loss {
	leader, _, _ := s.MajorityLeader()
	active, known := seen[m.ID]
	switch {
	case !s.provenDead(m):
		return Unreachable
	case m.Started():
		return JudgeLoss(s, m.ID, seen)
	case leader == m.ID:
		return Unsettled
	case known && !active:
		return Vanished
	default:
		return Unreachable
	}
}
