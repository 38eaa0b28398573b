// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// DecideRemove decides whether a member may be removed now, and which voter
// should lead before that. The order:
//
//  1. What every change needs: one cluster, quorum, leader, confirmed list. This
//     comes before 2, because only a confirmed list shows that a member is gone.
//  2. The member is gone: done. This includes the case that the subject's URL is
//     back under another ID: that member is not ours, and the removed ID never
//     returns.
//  3. The URLs agree with those in state (or the name does, if no URLs are
//     known).
//  4. The replacement of a member that may be alive: no alarm is raised except
//     its own CORRUPT, because the cluster would not accept the successor; no
//     other replacement is under way ([Snapshot.OpenTurns]); and every other
//     member is active, but for learners that have started: they have no vote and
//     hold nothing that the successor needs. A dead member may be removed while
//     another is dead, so that five voters with two lost are healed one after the
//     other.
//  5. A learner has no vote and is removed.
//  6. The last voter stays: there is no other voter to hand over to.
//  7. The remaining voters have a quorum alive. (For a dead voter this follows
//     from 1, so there a voter whose peer URLs are pending counts.)
//  8. A leader can be asked to hand over, see [Snapshot.handOver].
//
// A refusal under 4 or 7 becomes [Wait] if members in Leaving cause it: the same
// Terraform run removes them, and a dead member can always be removed. The last
// voter, too, waits for learners in Leaving, because they need it.
//
// MoveLeaderTo is set if the subject leads: removing a leader costs more than a
// second of writes, moving leadership first costs milliseconds.
func DecideRemove(s Snapshot, r RemoveRequest) Decision {
	m, listed := s.Member(r.ID)
	switch d := s.Gate(r.ID); {
	case d.Verdict != Go:
		return d
	case !listed:
		return Decision{Verdict: Done}
	}
	if s.provenDead(m) {
		s.Pending = nil
	}
	if d := firstOf(ours(m, r), s.replaceable(m, r)); d.Verdict != Go {
		return d
	}
	out := Decision{Verdict: Go}
	if d := s.Writable(r.ID); d.Verdict != Go { // no lease can be granted, so other processes see no claim
		out.Warnings = []Warning{{d.Code, d.Facts}}
	}
	if m.Learner {
		return out
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
			return wait(BelowQuorum, f.of(departing))
		case quorum == pending:
			return refuse(NotProbed, f.of(rest[unprobed]))
		default:
			return refuse(BelowQuorum, f)
		}
	}

	spare := len(s.tallyOf(voters, 0)[alive]) - s.Quorum()
	stays := len(in(rest[alive], r.Leaving)) < len(rest[alive])
	if f.Alive == f.Quorum && spare > 0 && stays {
		out.Warnings = append(out.Warnings, Warning{ToleranceZero, f.of(rest.missing())})
	}
	return s.handOver(out, r.ID, rest[alive], r.Leaving)
}

// ours refuses a member whose URLs differ from those in state, or, if none are
// known, whose name differs; Detail is the expected value. A member whose ID and
// URLs agree is the same member whatever name its process has published: a process
// can be renamed, and a member that was accepted into state can be destroyed.
func ours(m Member, r RemoveRequest) Decision {
	renamed := r.Name != "" && m.Name != "" && r.Name != m.Name
	switch {
	case len(r.PeerURLs) == 0 && renamed:
		return refuse(NotOurs, Facts{Subject: m.ID, Detail: r.Name})
	case len(r.PeerURLs) > 0 && !SameURLs(r.PeerURLs, m.PeerURLs):
		return refuse(NotOurs, Facts{Subject: m.ID, Detail: strings.Join(r.PeerURLs, ", ")})
	}
	return Decision{Verdict: Go}
}

// replaceable checks what a replacement needs in addition to a removal. A subject
// that could not be asked may be alive, so it is treated as alive.
func (s Snapshot) replaceable(m Member, r RemoveRequest) Decision {
	writable := s.Writable(m.ID)
	switch {
	case !r.Replacement || s.provenDead(m):
		return Decision{Verdict: Go}
	case writable.Verdict != Go && !s.corrupt(m.ID):
		return writable
	}
	return firstOf(s.turnOf(m, r.Turns), s.othersActive(m, r.Leaving))
}

// othersActive decides whether every other member is active, as the replacement
// of a member that may be alive needs. A learner that has started does not count. It
// waits for members in leaving.
func (s Snapshot) othersActive(m Member, leaving []MemberID) Decision {
	needed := slices.DeleteFunc(slices.Clone(s.Members), func(o Member) bool { return o.Learner && o.Started() || o.IsPlaceholder() })
	others := s.tallyOf(needed, m.ID)
	f := Facts{Subject: m.ID, Others: others.missing()}
	voters := s.Voters()
	if f.Voters, f.Alive = len(voters), len(s.tallyOf(voters, m.ID)[alive]); !m.Learner {
		f.Voters--
	}
	f.Quorum = Quorum(f.Voters)
	switch departing := in(f.Others, leaving); {
	case len(f.Others) == 0:
		return Decision{Verdict: Go}
	case len(departing) == len(f.Others):
		return wait(OthersNotActive, f)
	case len(others.gone()) == 0:
		return refuse(NotProbed, f)
	}
	return refuse(OthersNotActive, f)
}

// lastVoter refuses to remove the only voter. The caller forgets it in state,
// except as part of a replacement. The others are the learners that stay, or
// those to wait for.
func (s Snapshot) lastVoter(r RemoveRequest) Decision {
	f := Facts{Subject: r.ID, Others: IDs(s.Learners())}
	if departing := in(f.Others, r.Leaving); len(departing) > 0 && !r.Replacement {
		return wait(LastVoter, f.of(departing))
	}
	return refuse(LastVoter, f)
}

// handOver completes a decision to change the subject. If the subject leads, the
// most advanced candidate leads before the change. Only the leader itself can move
// the leadership: a leader that does not answer here is refused, because its
// change would stop writes until the others elect another. A leader that is dead
// passes this as soon as they have.
func (s Snapshot) handOver(d Decision, subject MemberID, candidates, leaving []MemberID) Decision {
	leader, _, _ := s.MajorityLeader()
	switch {
	case subject != leader:
		return d
	case !s.answers(leader):
		return refuse(NotProbed, Facts{Subject: subject, Others: []MemberID{leader}})
	}
	d.MoveLeaderTo = s.successor(candidates, leaving)
	return d
}

// successor returns the most advanced candidate. It prefers candidates that stay
// to those in leaving, and among equals the first.
func (s Snapshot) successor(candidates, leaving []MemberID) MemberID {
	if len(candidates) == 0 {
		return 0
	}
	return slices.MinFunc(candidates, func(a, b MemberID) int {
		x, y := s.Answer(a), s.Answer(b)
		leave := last(slices.Contains(leaving, a)) - last(slices.Contains(leaving, b))
		return cmp.Or(leave, cmp.Compare(y.Index, x.Index), cmp.Compare(y.Applied, x.Applied))
	})
}

// Turn is the replacement of one member. It begins when the member is about to be
// removed and is over when its successor has a vote. While a turn is open, no
// Terraform run may remove another member that is alive.
type Turn struct {
	// Name is the name of the member and of its successor.
	Name string `json:"-"`
	// Voters is how many voters there were, including the member itself.
	Voters int `json:"voters"`
	// Since and By are for people: when the turn began, and who began it.
	Since time.Time `json:"since"`
	By    string    `json:"by"`
	// Key is the key of the record, or empty if the turn was not read from one.
	Key string `json:"-"`
}

// OpenTurns returns the turns that are not over, sorted by name. A turn is open
// if no voter with its name is alive, neither the successor, nor the member
// itself because it was never removed, and if the cluster has fewer living voters
// than it had. The latter allows any other new member to make up for a successor
// that never comes.
func (s Snapshot) OpenTurns(turns []Turn) []Turn {
	living := keep(s.Voters(), func(m Member) bool { return s.Alive(m.ID) })
	open := slices.DeleteFunc(slices.Clone(turns), func(t Turn) bool {
		return len(living) >= t.Voters || slices.ContainsFunc(living, func(m Member) bool { return m.Name == t.Name })
	})
	slices.SortFunc(open, func(a, b Turn) int { return cmp.Compare(a.Name, b.Name) })
	return open
}

// turnOf decides whether it is the member's turn to make room for a successor. A
// dead member may be removed at any time: nothing is lost with it. So may a
// learner, which has no vote. A member that could not be asked may be alive, so
// it is treated as alive.
func (s Snapshot) turnOf(m Member, turns []Turn) Decision {
	others := slices.DeleteFunc(s.OpenTurns(turns), func(t Turn) bool { return t.Name == m.Name })
	if len(others) == 0 || m.Learner || s.provenDead(m) {
		return Decision{Verdict: Go}
	}
	return refuse(TurnOfAnother, Facts{Subject: m.ID, Turns: others})
}

// provenDead reports whether a member serves no client, as far as anybody knows: it does not
// answer here, and the leader does not hear it.
func (s Snapshot) provenDead(m Member) bool {
	c := s.conditionOf(m)
	return c == unstarted || c == down && !s.answers(m.ID) && !s.Heard[m.ID]
}

// DecidePlace decides, after [DecideRemove], whether a voter may be removed to be
// replaced although learners stay: its successor joins as a learner, and once the voter
// is gone it is too late to learn that the servers accept no more.
//
// Servers before 3.5 accept one learner. Of later ones only they themselves know the
// limit (--max-learners, 1 by default): the verdict is [Wait] until they were asked beside
// the learners in accepted. A learner, alive or not, holds a place. A dead voter may be
// removed at any time, and a learner frees a place for its own successor.
func DecidePlace(s Snapshot, r RemoveRequest, accepted []MemberID) Decision {
	m, _ := s.Member(r.ID)
	f := Facts{Subject: r.ID, Others: keep(IDs(s.Learners()), func(id MemberID) bool { return !slices.Contains(r.Leaving, id) })}
	fixed, _ := s.tooOld(hasFixedLimit)
	switch {
	case !r.Replacement, m.Learner, s.provenDead(m), len(f.Others) == 0:
		return Decision{Verdict: Go}
	case len(fixed) > 0:
		return refuse(LearnerSlotTaken, f)
	case !slices.Equal(f.Others, accepted):
		return wait(LearnerSlotTaken, f)
	}
	return Decision{Verdict: Go}
}

// hasFixedLimit reports whether servers of that version accept one learner, whatever
// their flags. A version that cannot be parsed counts as one with a flag.
func hasFixedLimit(version string) bool { return isBefore(version, 5, 0) }
