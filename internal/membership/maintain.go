// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

import (
	"cmp"
	"slices"
	"strings"
)

// Codes that only maintenance uses.
const (
	// Interrupts: the cluster is healthy, but fewer voters than a quorum would be
	// left while the subject is away.
	Interrupts Code = "interrupts"
	// LearnerUnserved: the subject is a learner. etcd lets a learner serve only
	// its status, a snapshot and serializable reads (isRPCSupportedForLearner in
	// api/v3rpc), not a defragmentation.
	LearnerUnserved Code = "a learner does not serve it"
)

// The kinds of [Alarm].
const (
	AlarmNoSpace = "NOSPACE"
	AlarmCorrupt = "CORRUPT"
)

// Find returns the members that a text may mean. An ID takes precedence over a
// name, so that a member named "a" and a member with the ID a are told apart.
func (s Snapshot) Find(text string) []Member {
	if found := keep(s.Members, func(m Member) bool { return m.ID.String() == strings.ToLower(text) }); len(found) > 0 {
		return found
	}
	return keep(s.Members, func(m Member) bool { return m.Name == text && text != "" })
}

// ByName returns the members sorted by name, with those without a name at the end.
func (s Snapshot) ByName() []Member {
	return slices.SortedFunc(slices.Values(s.Members), byName)
}

func byName(a, b Member) int {
	return cmp.Or(last(a.Name == "")-last(b.Name == ""), cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
}

// DecideDefragment decides which of the remaining members may be defragmented now. interrupt
// accepts that a cluster of one or two voters, which needs all of them, does not serve in the
// meantime: the member answers no requests and applies nothing then, so it counts as failed.
// The order:
//
//  1. No member is left: done.
//  2. What every change needs: one cluster, quorum, leader, confirmed list.
//  3. A member that is not in the list, or is a learner: refused.
//  4. Every member must be alive, so that this member is the only one away.
//  5. Every voter must have caught up: the previous member may have just come back.
//  6. The other voters must be a quorum by themselves, unless an interruption is
//     accepted.
//
// Members that do not lead come first, sorted by name. When the verdict is Go,
// Facts.Subject is the member.
func DecideDefragment(s Snapshot, remaining []MemberID, interrupt bool) Decision {
	if len(remaining) == 0 {
		return Decision{Verdict: Done}
	}
	if d := s.Gate(0); d.Verdict != Go {
		return d
	}
	leader, _, _ := s.MajorityLeader()
	var left []Member
	for _, id := range remaining {
		m, listed := s.Member(id)
		switch {
		case !listed:
			return refuse(NotMember, Facts{Subject: id})
		case m.Learner:
			return refuse(LearnerUnserved, Facts{Subject: id})
		}
		left = append(left, m)
	}
	m := slices.MinFunc(left, func(a, b Member) int { return cmp.Or(last(a.ID == leader)-last(b.ID == leader), byName(a, b)) })
	all := s.tallyOf(s.Members, 0)
	if missing := all.missing(); len(missing) > 0 {
		f := Facts{Subject: m.ID, Others: missing}
		if len(all.gone()) == 0 {
			return refuse(NotProbed, f)
		}
		return refuse(OthersNotActive, f)
	}
	voters := s.Voters()
	if v, found := find(voters, func(v Member) bool { return s.lags(v.ID) }); found {
		return wait(Lagging, Facts{Subject: v.ID})
	}
	f, quorum := s.tallyOf(voters, m.ID).project(m.ID, len(voters))
	out := Decision{Verdict: Go, Facts: f}
	if quorum == won {
		return out
	}
	if !interrupt {
		return refuse(Interrupts, f)
	}
	out.Warnings = []Warning{{Interrupts, f}}
	return out
}

// SurvivorLeft: the quorum is lost, and the subject has the most data of the
// members that answer. Only advice uses this code.
const SurvivorLeft Code = "survivor left"

// DecideSave decides which member's data to save, or, if from is not 0, whether the
// data of that member may be saved. before is an earlier observation of the same
// cluster.
//
// If from is 0, a quorum must stand behind the data, because a member that was cut
// off may be far behind. The saved data then has every write that was acknowledged
// before the earlier observation. A follower that serves a linearizable read has
// them. A learner serves none, so it must have applied as much as a voter that
// served one in the earlier observation. Learners come first, then followers, then
// the leader, to spare those that clients wait for; among equals, the most advanced.
//
// If from is not 0, the data may be saved without a quorum too, with a warning.
//
// was is the backup that the new one replaces, nil if there is none. A member that is
// behind it is not asked.
//
// When the verdict is Go, Facts.Subject is the member. It is also set if the verdict is
// about the backup: then it is the member with the latest data.
func DecideSave(s, before Snapshot, from MemberID, was *Backup) Decision {
	d := s.Gate(from)
	out := Decision{Verdict: Go, Facts: Facts{Subject: from}}
	_, listed := s.Member(from)
	f := Facts{Subject: from, Detail: s.Answer(from).Detail}
	switch {
	case d.Verdict != Go && (from == 0 || d.Code == MixedClusters):
		return d
	case from == 0:
		out.Facts.Subject = s.leastBusy(before, was)
	case !listed:
		return refuse(NotMember, f)
	case !s.answers(from):
		return refuse(NotAlive, f)
	case d.Verdict != Go:
		out.Warnings = []Warning{{d.Code, d.Facts}}
	}
	if was != nil { // what the member answers may show that its data must not take the place of the backup
		now := s.Answer(out.Facts.Subject).Revision
		if kept := DecideReplaceBackup(*was, Backup{Cluster: s.ClusterID, Least: now, Most: now}); kept.Verdict != Go {
			return refuse(kept.Code, out.Facts)
		}
	}
	return out
}

// Backup is what is known of the data in a snapshot file: its revision is at least
// Least and at most Most. They differ if something was written during the transfer.
type Backup struct {
	Cluster     ClusterID
	Least, Most int64
}

// The codes of [DecideReplaceBackup].
const (
	// BackupOfAnother: the new data is of another cluster.
	BackupOfAnother Code = "of another cluster"
	// BackupOlder: the new data may be of an earlier revision.
	BackupOlder Code = "older"
)

// DecideReplaceBackup decides whether a snapshot may take the place of the file of
// an earlier one, which may be the only good backup. A cluster that was formed again
// with the same ID begins with revision 1, so it never replaces data.
func DecideReplaceBackup(was, now Backup) Decision {
	switch {
	case now.Cluster != was.Cluster:
		return refuse(BackupOfAnother, Facts{})
	case now.Least < was.Most:
		return refuse(BackupOlder, Facts{})
	}
	return Decision{Verdict: Go}
}

// leastBusy returns the member to save in a cluster that has a leader: the leader, if all
// others are behind the backup.
func (s Snapshot) leastBusy(before Snapshot, was *Backup) MemberID {
	behind := func(id MemberID) bool { return was != nil && s.Answer(id).Revision < was.Most }
	leader, _, _ := s.MajorityLeader()
	living := s.tallyOf(s.Voters(), 0)
	voters := union(living[alive], living[unproven])
	learners := keep(s.tallyOf(s.Learners(), 0)[alive], func(id MemberID) bool {
		return before.ClusterID == s.ClusterID && slices.ContainsFunc(voters, func(v MemberID) bool {
			return before.Alive(v) && s.Answer(id).Applied >= s.Answer(v).Applied
		})
	})
	followers := slices.DeleteFunc(voters, func(id MemberID) bool { return id == leader })
	for _, candidates := range [][]MemberID{learners, followers} {
		if candidates = slices.DeleteFunc(candidates, behind); len(candidates) > 0 {
			return s.successor(candidates, nil)
		}
	}
	return leader
}

// Survivor returns the member to save once the quorum is lost: of the members
// that answer, the one with the most data. ok is false while a quorum holds, or
// may hold (see [Snapshot.Gate]), and if no member answers.
//
// The most data is the highest applied index. An applied entry was committed, and
// no other member ever applies a different entry at the same index (raft's state
// machine safety), so the higher index includes the lower one. The term does not
// matter: it is the member's current term, which grows with each election that it
// tries to win, not the term of its last entry. A learner receives and applies
// the same entries, so it counts like a voter. A member that raised CORRUPT comes
// last: its data differs from the others' at the same index.
func (s Snapshot) Survivor() (id MemberID, ok bool) {
	if s.Gate(0).Code != QuorumLost {
		return 0, false
	}
	answering := keep(s.Members, func(m Member) bool { return s.answers(m.ID) })
	if len(answering) == 0 {
		return 0, false
	}
	return slices.MinFunc(answering, func(a, b Member) int {
		x, y := s.Answer(a.ID), s.Answer(b.ID)
		return cmp.Or(last(s.corrupt(a.ID))-last(s.corrupt(b.ID)), cmp.Compare(y.Applied, x.Applied), cmp.Compare(y.Index, x.Index),
			last(a.Learner)-last(b.Learner), byName(a, b))
	}).ID, true
}

// last returns 1 if is is true, so that such a member sorts after the others.
func last(is bool) int {
	if is {
		return 1
	}
	return 0
}
