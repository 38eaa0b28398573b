// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

import (
	"cmp"
	"slices"
	"time"
)

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
