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
	if found := s.filter(func(m Member) bool { return m.ID.String() == strings.ToLower(text) }); len(found) > 0 {
		return found
	}
	return s.filter(func(m Member) bool { return m.Name == text && text != "" })
}

// ByName returns the members sorted by name, with those without a name at the end.
func (s Snapshot) ByName() []Member {
	out := slices.Clone(s.Members)
	slices.SortFunc(out, byName)
	return out
}

func byName(a, b Member) int {
	if (a.Name == "") != (b.Name == "") {
		return -cmp.Compare(a.Name, b.Name)
	}
	return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
}

// DefragmentRequest says which members to defragment.
type DefragmentRequest struct {
	// Remaining are the members that are not defragmented yet.
	Remaining []MemberID
	// Interrupt accepts that a cluster of one or two voters, which needs all of
	// them, does not serve in the meantime.
	Interrupt bool
}

// DecideDefragment decides which member may be defragmented now. In the meantime the
// member answers no requests and applies nothing: it counts as failed. The order:
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
func DecideDefragment(s Snapshot, r DefragmentRequest) Decision {
	if len(r.Remaining) == 0 {
		return Decision{Verdict: Done}
	}
	if d := s.Gate(0); d.Verdict != Go {
		return d
	}
	leader, _, _ := s.MajorityLeader()
	var left []Member
	for _, id := range r.Remaining {
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
	if !r.Interrupt {
		return refuse(Interrupts, f)
	}
	out.Warnings = []Warning{{Interrupts, f}}
	return out
}
