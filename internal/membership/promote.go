// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

// DecidePromote decides whether a learner may be promoted now. before is what it answered in
// the previous snapshot of the same wait, the zero value if there is none. The server does not
// check whether the learner is alive: every version promotes a learner that was killed
// seconds before, and from one voter to two that loses the quorum permanently. So
// everything is checked here, and the caller sends the request to the leader at once:
//
//  1. What every change needs: one cluster, quorum, leader, confirmed list.
//  2. What time does not cure: the subject is not in the list, its address belongs to
//     another cluster, the version cannot do it.
//  3. Done already: both the list and the member itself say that it is a voter.
//  4. The learner has published its name and answers itself, as a learner.
//  5. The leader answers too (its index is the measure, and the request goes to it),
//     and the learner names it, in the same term.
//  6. The future voters, with the learner counted as failed, have a quorum. A cluster
//     of one is exempt, since the learner was just observed alive; the caller observes
//     it again directly afterwards.
//  7. The lag is small for the second time in a row, within the same term, and the
//     learner has applied an entry in between. An index that moves is not enough: a
//     learner that is millions behind moves as well. A small lag is not enough either:
//     if nothing is written, a learner that the leader cannot reach lacks nothing, and
//     from one voter to two its vote would stop all writes. The caller makes sure that
//     there is an entry to apply.
//
// From 4 on the verdict is [Wait], also if a voter is down, since it may come back (a
// network partition may heal), and if the learner could not be asked, since its
// address may not be published yet. It is [Refuse] if unprobed voters decide 6.
func DecidePromote(s Snapshot, id MemberID, before Answer) Decision {
	if d := s.Gate(id); d.Verdict != Go {
		return d
	}
	leader, term, _ := s.MajorityLeader()
	m, listed := s.Member(id)
	a := s.Answer(id)
	f := Facts{Subject: id}
	switch {
	case !listed:
		return refuse(NotMember, f)
	case a.State == WrongCluster, a.State == Answered && a.MemberID == id && a.ClusterID != s.ClusterID:
		return refuse(MixedClusters, f.of([]MemberID{id}))
	case !m.Learner:
		return s.voteConfirmed(id)
	}
	voters := s.Voters()
	old := s.newEnough(id, func(version string) bool { return len(voters) == 1 && cannotPromoteAlone(version) })
	if d := firstOf(old, s.follows(m, leader, term)); d.Verdict != Go {
		return d
	}
	t := s.tallyOf(voters, 0)
	f, quorum := t.project(id, len(voters)+1)
	switch {
	case len(voters) == 1 || quorum == won:
	case quorum == pending:
		return refuse(NotProbed, f.of(t[unprobed]))
	default:
		return wait(t.goneCode(), f.of(t.gone()))
	}
	if s.lags(id) {
		return wait(Lagging, f)
	}
	learned := before.IsOf(id, s.ClusterID) && before.Learner
	followed := before.Leader == leader && before.Term == term
	if !learned || !followed || before.Applied >= a.Applied {
		return wait(Unconfirmed, f)
	}
	return Decision{Verdict: Go, Warnings: s.joinWarnings(t, f)}
}

// follows decides whether a learner has started, answers as a learner, and
// follows this leader, which answers too, in this term.
func (s Snapshot) follows(m Member, leader MemberID, term uint64) Decision {
	f, a := Facts{Subject: m.ID}, s.Answer(m.ID)
	switch {
	case !m.Started():
		return wait(NotStarted, f)
	case !s.answers(m.ID):
		return s.notHeard(m.ID)
	case !a.Learner:
		f.Detail = "it calls itself a voter"
		return wait(NotAlive, f)
	case s.isPending(m.ID):
		return wait(URLsPending, f.of([]MemberID{m.ID}))
	case !s.Alive(leader):
		return wait(NoLeader, f.of([]MemberID{leader}))
	case a.Leader != leader || a.Term != term:
		return wait(OtherLeader, f.of([]MemberID{leader}))
	}
	return Decision{Verdict: Go}
}

// voteConfirmed decides whether a member that the list calls a voter answers as a
// voter.
func (s Snapshot) voteConfirmed(id MemberID) Decision {
	m, _ := s.Member(id)
	switch {
	case !s.answers(id) && s.conditionOf(m) == unstarted:
		return wait(NotStarted, Facts{Subject: id})
	case !s.answers(id):
		return s.notHeard(id)
	case s.Answer(id).Learner:
		return wait(Unconfirmed, Facts{Subject: id})
	case !s.Alive(id):
		return wait(NotAlive, Facts{Subject: id, Detail: s.Answer(id).Detail})
	}
	return Decision{Verdict: Done}
}

// notHeard returns the decision to wait for a member that did not answer itself.
func (s Snapshot) notHeard(id MemberID) Decision {
	a := s.Answer(id)
	if a.State == Silent {
		return wait(NotAlive, Facts{Subject: id, Detail: a.Detail})
	}
	return wait(NotProbed, Facts{Subject: id, Others: []MemberID{id}})
}
