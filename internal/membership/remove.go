// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

import (
	"slices"
	"strings"
)

// DecideRemove decides whether a member may be taken out now, and who should
// lead before that. The order:
//
//  1. what every change needs: one cluster, quorum, leader, confirmed list.
//     This comes before "gone already", because only a confirmed list can say
//     so;
//  2. gone already: done. So it is when the subject's URL is back under another
//     ID: that member is not ours, and the ID we know never returns;
//  3. the URLs agree with those that it is known by (or the name, where none
//     are known);
//  4. a replacement of a member that may be alive: no alarm is raised but its
//     own CORRUPT, because the successor would not be let in; no other one is
//     under way ([Snapshot.OpenTurns]), and every other member is active. A dead one may
//     go while another is dead, so that five with two lost heal one after the
//     other;
//  5. a learner has no vote and goes;
//  6. the last voter stays: there is nobody to hand over to;
//  7. the voters that remain have a quorum alive. (For a dead voter this
//     follows from 1.)
//
// A refusal under 4 or 7 becomes [Wait] where members in Leaving cause it: they
// are on their way out in this same run, and a dead one can always go. The last
// voter, too, waits for learners that are leaving, because they need it.
//
// MoveLeaderTo is set when the subject leads: removing a leader costs more than
// a second of writes, moving leadership first costs milliseconds.
func DecideRemove(s Snapshot, r RemoveRequest) Decision {
	if d := s.Gate(r.ID); d.Verdict != Go {
		return d
	}
	m, listed := s.Member(r.ID)
	if !listed {
		return Decision{Verdict: Done}
	}
	if d, ok := ours(m, r); !ok {
		return d
	}
	if d, ok := s.replaceable(m, r); !ok {
		return d
	}
	if m.Learner {
		return Decision{Verdict: Go, Warnings: s.alarmWarning(r.ID)}
	}
	voters := s.Voters()
	if len(voters) == 1 {
		return s.lastVoter(r)
	}

	rest := s.tallyOf(voters, r.ID)
	f, quorum := rest.project(r.ID, len(voters)-1)
	if quorum != won {
		f.Others = rest.missing()
		departing := in(f.Others, r.Leaving)
		switch {
		case f.Alive >= Quorum(f.Voters-len(departing)):
			f.Others = departing
			return wait(BelowQuorum, f)
		case quorum == pending:
			f.Others = rest.unprobed
			return refuse(NotProbed, f)
		default:
			return refuse(BelowQuorum, f)
		}
	}

	out := Decision{Verdict: Go, Warnings: s.alarmWarning(r.ID)}
	if leader, _, _ := s.MajorityLeader(); r.ID == leader {
		out.MoveLeaderTo = s.successor(rest.alive, union(r.Leaving, r.Next))
	}
	spare := len(s.tallyOf(voters, 0).alive) - s.Quorum()
	stays := len(in(rest.alive, r.Leaving)) < len(rest.alive)
	if f.Alive == f.Quorum && spare > 0 && stays {
		f.Others = rest.missing()
		out.Warnings = append(out.Warnings, Warning{ToleranceZero, f})
	}
	return out
}

// ours refuses a member whose URLs are not those that it is known by, or, where
// none are known, whose name is not; Detail is what was expected. A member whose
// ID and URLs agree is the same whatever name its process has published: a
// process can be renamed, and what was accepted into state can be destroyed.
func ours(m Member, r RemoveRequest) (Decision, bool) {
	f := Facts{Subject: m.ID}
	switch {
	case len(r.PeerURLs) > 0 && SameURLs(r.PeerURLs, m.PeerURLs):
		return Decision{}, true
	case len(r.PeerURLs) > 0:
		f.Detail = strings.Join(r.PeerURLs, ", ")
		return refuse(NotOurs, f), false
	case r.Name != "" && m.Name != "" && r.Name != m.Name:
		f.Detail = r.Name
		return refuse(NotOurs, f), false
	default:
		return Decision{}, true
	}
}

// replaceable holds what a replacement needs beyond a removal. A subject that
// could not be asked may be alive, so it is treated as alive.
func (s Snapshot) replaceable(m Member, r RemoveRequest) (Decision, bool) {
	if !r.Replacement || s.provenDead(m) {
		return Decision{}, true
	}
	if f, raised := s.Alarm(); raised && !s.corrupt(m.ID) {
		f.Subject = m.ID
		return refuse(AlarmRaised, f), false
	}
	if d, ok := s.turnOf(m, r.Turns); !ok {
		return d, false
	}
	return s.othersActive(m, r.Leaving)
}

// othersActive decides whether every other member is active, as the replacement
// of a member that may be alive needs. Those in leaving are waited for.
func (s Snapshot) othersActive(m Member, leaving []MemberID) (Decision, bool) {
	if s.provenDead(m) {
		return Decision{}, true
	}
	others := s.tallyOf(s.Members, m.ID)
	f := Facts{Subject: m.ID, Others: others.missing()}
	voters := s.Voters()
	if f.Voters, f.Alive = len(voters), len(s.tallyOf(voters, m.ID).alive); !m.Learner {
		f.Voters--
	}
	f.Quorum = Quorum(f.Voters)
	switch departing := in(f.Others, leaving); {
	case len(f.Others) == 0:
		return Decision{}, true
	case len(departing) == len(f.Others):
		return wait(OthersNotActive, f), false
	case len(others.gone()) == 0:
		return refuse(NotProbed, f), false
	default:
		return refuse(OthersNotActive, f), false
	}
}

// lastVoter refuses to take out the only voter; the caller forgets it in state,
// except as part of a replacement. The others are the learners that stay, or
// those that are waited for.
func (s Snapshot) lastVoter(r RemoveRequest) Decision {
	f := Facts{Subject: r.ID, Others: IDs(s.Learners())}
	if departing := in(f.Others, r.Leaving); len(departing) > 0 && !r.Replacement {
		f.Others = departing
		return wait(LastVoter, f)
	}
	return refuse(LastVoter, f)
}

// successor is the most advanced of the candidates, rather one that stays than
// one that is leaving; of equals the one with the lowest ID.
func (s Snapshot) successor(candidates, leaving []MemberID) MemberID {
	var best MemberID
	better := func(id MemberID) bool {
		if a, b := slices.Contains(leaving, id), slices.Contains(leaving, best); a != b {
			return b
		}
		x, y := s.Answer(id), s.Answer(best)
		if x.Index != y.Index {
			return x.Index > y.Index
		}
		return x.Applied > y.Applied
	}
	for _, id := range candidates {
		if best == 0 || better(id) {
			best = id
		}
	}
	return best
}

// alarmWarning says that an alarm is raised: no lease can be granted then, so
// the removal goes on without a claim that other processes can see.
func (s Snapshot) alarmWarning(subject MemberID) []Warning {
	f, raised := s.Alarm()
	if !raised {
		return nil
	}
	f.Subject = subject
	return []Warning{{AlarmRaised, f}}
}
