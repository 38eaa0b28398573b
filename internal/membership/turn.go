// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

import (
	"cmp"
	"slices"
	"time"
)

// Turn is the replacement of one member: it begins when the member is about to
// be taken out and is over when its successor votes. Whoever meets one that is
// not over, in whatever run, must not take out another member that lives.
type Turn struct {
	// Name is the member's, and its successor's.
	Name string
	// Voters is how many voters there were, the member itself among them.
	Voters int
	// Since and By are for people: when it began, and who began it.
	Since time.Time
	By    string
	// Key is where it is on record, empty if it was not read from there.
	Key string
}

// OpenTurns returns the turns that are not over, sorted by name: those of which
// no voter of the name lives, be it the successor, or the member itself because
// it was never taken out; and without which the cluster has fewer living voters
// than it had. The latter is so that a successor that never comes can be made up
// for by any other new member.
func (s Snapshot) OpenTurns(turns []Turn) []Turn {
	living := 0
	names := map[string]bool{}
	for _, m := range s.Voters() {
		if s.Alive(m.ID) {
			living++
			names[m.Name] = true
		}
	}
	open := slices.DeleteFunc(slices.Clone(turns), func(t Turn) bool { return names[t.Name] || living >= t.Voters })
	slices.SortFunc(open, func(a, b Turn) int { return cmp.Compare(a.Name, b.Name) })
	return open
}

// turnOf decides whether it is the member's turn to make room for a successor.
// A dead member may go at any time: nothing is lost with it. So may a learner,
// which has no vote. One that could not be asked may be alive, so it is treated
// as alive.
func (s Snapshot) turnOf(m Member, turns []Turn) (Decision, bool) {
	if m.Learner || s.provenDead(m) {
		return Decision{}, true
	}
	others := slices.DeleteFunc(s.OpenTurns(turns), func(t Turn) bool { return t.Name == m.Name })
	if len(others) == 0 {
		return Decision{}, true
	}
	return refuse(TurnOfAnother, Facts{Subject: m.ID, Turns: others}), false
}

// provenDead reports whether a member certainly serves nobody.
func (s Snapshot) provenDead(m Member) bool {
	c := s.conditionOf(m)
	return c == unstarted || c == down && !s.answers(m.ID)
}
