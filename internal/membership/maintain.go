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
	// NotVoter: the subject is a learner, and a learner cannot lead.
	NotVoter Code = "not a voter"
	// NoSuccessor: none of the others, the voters that do not lead, is fit to lead.
	NoSuccessor Code = "no successor"
	// Interrupts: the cluster is healthy, but fewer voters than a quorum would be
	// left while the subject is away.
	Interrupts Code = "interrupts"
	// LearnerUnserved: the subject is a learner. etcd lets a learner serve only
	// its status, a snapshot and serializable reads (isRPCSupportedForLearner in
	// api/v3rpc), not a defragmentation.
	LearnerUnserved Code = "a learner does not serve it"
	// AlarmBehind: the others' databases are still within a twentieth of their
	// quota, so the alarm in Detail would return with the next write.
	AlarmBehind Code = "still full"
	// AlarmUnproven: the others do not show whether the cause of the alarm in
	// Detail is gone.
	AlarmUnproven Code = "alarm unproven"
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

// DecideMove decides whether leadership may move to the member to now, or, if to
// is 0, to which member. A voter that is down, behind, or in another term than
// the rest would only cause an election. The order:
//
//  1. What every change needs: one cluster, quorum, leader, confirmed list.
//  2. The member leads already: done.
//  3. The member is not in the list, is a learner, has not started, does not
//     answer, names another leader or term, or lags (see [maxLag]).
//  4. The leader cannot be asked, see [Snapshot.handOver].
//
// When the verdict is Go, MoveLeaderTo is the voter that should lead.
func DecideMove(s Snapshot, to MemberID) Decision {
	if d := s.Gate(to); d.Verdict != Go {
		return d
	}
	leader, term, _ := s.MajorityLeader()
	if to == leader {
		return Decision{Verdict: Done, Facts: Facts{Subject: to}}
	}
	if to != 0 {
		if d := s.fitToLead(to, leader, term); d.Verdict != Go {
			return d
		}
		return s.handOver(Decision{Verdict: Go}, leader, []MemberID{to}, nil)
	}
	var fit, others []MemberID
	for _, m := range s.Voters() {
		if m.ID == leader {
			continue
		}
		others = append(others, m.ID)
		if s.fitToLead(m.ID, leader, term).Verdict == Go {
			fit = append(fit, m.ID)
		}
	}
	if len(fit) == 0 {
		return refuse(NoSuccessor, Facts{Subject: leader, Others: others})
	}
	return s.handOver(Decision{Verdict: Go}, leader, fit, nil)
}

func (s Snapshot) fitToLead(id, leader MemberID, term uint64) Decision {
	f := Facts{Subject: id}
	m, listed := s.Member(id)
	a := s.Answer(id)
	switch {
	case !listed:
		return refuse(NotMember, f)
	case m.Learner:
		return refuse(NotVoter, f)
	case s.conditionOf(m) == unstarted:
		return refuse(NotStarted, f)
	case s.conditionOf(m) == unprobed:
		f.Others = []MemberID{id}
		return refuse(NotProbed, f)
	case !s.Alive(id):
		f.Detail = a.Detail
		return refuse(NotAlive, f)
	case a.Leader != leader || a.Term != term:
		f.Others = []MemberID{leader}
		return wait(OtherLeader, f)
	}
	if f.Lag, f.MaxLag = s.lag(id, leader); f.Lag > f.MaxLag {
		return wait(Lagging, f)
	}
	return Decision{Verdict: Go}
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
	slices.SortFunc(left, byName)
	m := left[0]
	if m.ID == leader && len(left) > 1 {
		m = left[1]
	}
	all := s.tallyOf(s.Members, 0)
	if missing := all.missing(); len(missing) > 0 {
		f := Facts{Subject: m.ID, Others: missing}
		if len(all.gone()) == 0 {
			return refuse(NotProbed, f)
		}
		return refuse(OthersNotActive, f)
	}
	voters := s.Voters()
	for _, v := range voters {
		f := Facts{Subject: v.ID}
		if f.Lag, f.MaxLag = s.lag(v.ID, leader); f.Lag > f.MaxLag {
			return wait(Lagging, f)
		}
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

// DecideDisarm decides whether an alarm of a kind may be disarmed now. The order:
//
//  1. One cluster, and a leader that a quorum names. A CORRUPT alarm stops reads,
//     so no more is required.
//  2. No such alarm is raised: done.
//  3. NOSPACE: no database may be within a twentieth of its quota, as far as the
//     members report it (3.6 and later). Otherwise the alarm would return with
//     the next write, whatever the operator confirms.
//  4. The operator must confirm what the members do not report: that there is
//     space again, or that the corrupt member was replaced.
//
// When the verdict is Go, Facts.Others are the members that raised the alarm.
func DecideDisarm(s Snapshot, kind string, confirmed bool) Decision {
	if d := s.Gate(0); d.Verdict != Go {
		if _, _, led := s.MajorityLeader(); !led || d.Code == MixedClusters {
			return d
		}
	}
	raised := s.raisedBy(kind)
	f := Facts{Detail: kind, Others: raised}
	if len(raised) == 0 {
		return Decision{Verdict: Done, Facts: f}
	}
	unproven := raised
	if kind == AlarmNoSpace {
		var full []MemberID
		unproven = nil
		for _, m := range s.Members {
			a := s.Answer(m.ID)
			switch {
			case !s.answers(m.ID) || a.DBQuota == 0:
				unproven = append(unproven, m.ID)
			case a.DBQuota > 0 && a.DBSize >= a.DBQuota-a.DBQuota/20:
				full = append(full, m.ID)
			}
		}
		if len(full) > 0 {
			f.Others = full
			return refuse(AlarmBehind, f)
		}
	}
	if len(unproven) > 0 && !confirmed {
		f.Others = unproven
		return refuse(AlarmUnproven, f)
	}
	f.Others = raised
	return Decision{Verdict: Go, Facts: f}
}
