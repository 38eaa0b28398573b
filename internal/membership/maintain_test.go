// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

import (
	"slices"
	"testing"
)

// TestMaintenanceOfEveryCluster checks the promises of maintenance against the
// real states of the members, in every cluster of up to four members.
func TestMaintenanceOfEveryCluster(t *testing.T) {
	goes := map[string]int{}
	for n := range 5 {
		worlds(n, func(w world) {
			s := w.snapshot()
			_, open := w.naiveGate()
			var voters []MemberID
			for i := range n {
				id := MemberID(i + 1)
				if w.voter(i) {
					voters = append(voters, id)
				} else if d := DecideDefragment(s, DefragmentRequest{Remaining: append(slices.Clone(voters), id), Interrupt: true}); d.Verdict == Go || open && d.Code != LearnerUnserved {
					t.Fatalf("%s: %s is a learner: %v %s", w, id, d.Verdict, d.Code)
				}
			}
			for i := 0; i <= n; i++ {
				if i < n && i > 0 && w.members[i] == w.members[i-1] && i != w.leader {
					continue
				}
				moves(t, w, s, MemberID(i), open, goes)
				saves(t, w, s, MemberID(i), open, goes)
			}
			for _, interrupt := range []bool{false, true} {
				defragments(t, w, s, voters, interrupt, open, goes)
			}
		})
	}
	for _, what := range []string{"move", "move to", "defragment", "defragment the leader", "interrupt", "save", "save of a learner", "save of"} {
		if goes[what] == 0 {
			t.Errorf("nothing was ever allowed to %s: the campaign does not reach what it should", what)
		}
	}
}

// fit reports whether a voter is alive, names the leader that the others name in
// their term, and is not far behind.
func (w world) fit(id MemberID) bool {
	i := int(id) - 1
	if i < 0 || i >= len(w.members) {
		return false
	}
	return w.members[i] == vAlive || w.members[i] == vBehind
}

func moves(t *testing.T, w world, s Snapshot, to MemberID, open bool, goes map[string]int) {
	t.Helper()
	leader, _, led := w.agreed()
	asked := led && w.heard(leader)
	d := DecideMove(s, to)
	switch d.Verdict {
	case Go:
		if !open || !asked || !w.fit(d.MoveLeaderTo) || int(d.MoveLeaderTo)-1 == leader || to != 0 && d.MoveLeaderTo != to {
			t.Fatalf("%s: leadership may go to %s, asked for %s", w, d.MoveLeaderTo, to)
		}
		goes["move"]++
		if to != 0 {
			goes["move to"]++
		}
	case Done:
		if !open || int(to)-1 != leader {
			t.Fatalf("%s: %s is taken for the leader", w, to)
		}
	default:
		if d.Code == "" {
			t.Fatalf("%s: no reason", w)
		}
		if open && asked && w.fit(to) && int(to)-1 != leader {
			t.Fatalf("%s: %s is fit, and was refused: %s", w, to, d.Code)
		}
		if open && asked && to == 0 && slices.ContainsFunc(s.Voters(), func(m Member) bool { return w.fit(m.ID) && int(m.ID)-1 != leader }) {
			t.Fatalf("%s: somebody is fit, and none was found: %s", w, d.Code)
		}
	}
}

func defragments(t *testing.T, w world, s Snapshot, left []MemberID, interrupt, open bool, goes map[string]int) {
	t.Helper()
	d := DecideDefragment(s, DefragmentRequest{Remaining: left, Interrupt: interrupt})
	voters, well := 0, true
	for i := range w.members {
		well = well && w.lives(i)
		if w.voter(i) {
			voters++
		}
	}
	if d.Verdict != Go {
		if len(left) > 0 && (d.Code == "" || open && well && (interrupt || voters > 2)) {
			t.Fatalf("%s: refused (%s), interruption allowed: %v", w, d.Code, interrupt)
		}
		return
	}
	subject := int(d.Facts.Subject) - 1
	leader, _, _ := w.agreed()
	stay := voters
	if w.voter(subject) {
		stay--
	}
	switch {
	case !open || !well:
		t.Fatalf("%s: %d may be defragmented, while somebody is not well", w, subject+1)
	case w.voter(subject) && !most(stay, voters) && !interrupt:
		t.Fatalf("%s: without %d the cluster stands still", w, subject+1)
	case subject == leader && len(left) > 1:
		t.Fatalf("%s: the leader %d comes before %v", w, subject+1, left)
	}
	goes["defragment"]++
	if subject == leader {
		goes["defragment the leader"]++
	}
	if !most(stay, voters) && w.voter(subject) {
		goes["interrupt"]++
	}
	defragments(t, w, s, slices.DeleteFunc(slices.Clone(left), func(id MemberID) bool { return id == d.Facts.Subject }), interrupt, open, goes)
}

func saves(t *testing.T, w world, s Snapshot, from MemberID, open bool, goes map[string]int) {
	t.Helper()
	leader, _, _ := w.agreed()
	d := DecideSave(s, s, from)
	if d.Verdict != Go {
		if d.Code == "" || open && (from == 0 || int(from) <= len(w.members) && w.lives(int(from)-1)) {
			t.Fatalf("%s: no snapshot of %s: %s", w, from, d.Code)
		}
		return
	}
	i := int(d.Facts.Subject) - 1
	followers := w.which(w.voter, w.lives, but(leader))
	// A learner that is not behind all voters is preferred to them.
	fit := func(i int) bool {
		return !w.voter(i) && w.lives(i) && w.members[i] != lLagging
	}
	learners := w.which(fit)
	switch {
	case !w.heard(i):
		t.Fatalf("%s: a snapshot of %d, which is not heard", w, i+1)
	case from == 0 && (!open || i == leader && len(followers)+len(learners) > 0 || !fit(i) && (!w.voter(i) || len(learners) > 0)):
		t.Fatalf("%s: a snapshot of %d", w, i+1)
	case from != 0 && (d.Facts.Subject != from || open != (len(d.Warnings) == 0)):
		t.Fatalf("%s: a snapshot of %d instead of %s, warnings %v", w, i+1, from, d.Warnings)
	}
	goes["save"]++
	if !w.voter(i) && from == 0 {
		goes["save of a learner"]++
	}
	if from != 0 {
		goes["save of"]++
	}
}

func TestDecideDisarm(t *testing.T) {
	const quota = 1000
	cluster := func(sizes ...int64) Snapshot {
		s := world{members: slices.Repeat([]mind{vAlive}, len(sizes))}.snapshot()
		for i, size := range sizes {
			a := s.Answers[MemberID(i+1)]
			a.DBSize, a.DBQuota = size, quota
			a.Alarms = []Alarm{{Member: 1, Kind: AlarmNoSpace}}
			s.Answers[MemberID(i+1)] = a
		}
		return s
	}
	change := func(s Snapshot, id MemberID, f func(*Answer)) Snapshot {
		a := s.Answers[id]
		f(&a)
		s.Answers[id] = a
		return s
	}
	silentQuota := func(a *Answer) { a.DBQuota = 0 }
	corrupt := func(s Snapshot) Snapshot {
		for id := range s.Answers {
			s = change(s, id, func(a *Answer) { a.Alarms, a.ReadOK = []Alarm{{Member: 2, Kind: AlarmCorrupt}}, false })
		}
		s.Linearizable = false
		return s
	}
	quiet := cluster(1, 1, 1)
	for id := range quiet.Answers {
		quiet = change(quiet, id, func(a *Answer) { a.Alarms = nil })
	}
	mixed := cluster(1, 1, 1)
	mixed.Others = map[ClusterID][]string{elsewhere: {"http://x"}}
	leaderless := cluster(1, 1, 1)
	for id := range leaderless.Answers {
		leaderless = change(leaderless, id, func(a *Answer) { a.Leader = 0 })
	}
	for name, tt := range map[string]struct {
		s         Snapshot
		kind      string
		confirmed bool
		want      Decision
	}{
		"space again":               {cluster(10, 20, 949), AlarmNoSpace, false, Decision{Verdict: Go, Facts: Facts{Others: []MemberID{1}, Detail: AlarmNoSpace}}},
		"one is full":               {cluster(10, 950, 10), AlarmNoSpace, false, refuse(AlarmBehind, Facts{Others: []MemberID{2}, Detail: AlarmNoSpace})},
		"one is full, confirmed":    {cluster(10, 1000, 2000), AlarmNoSpace, true, refuse(AlarmBehind, Facts{Others: []MemberID{2, 3}, Detail: AlarmNoSpace})},
		"no quota":                  {change(cluster(10, 10, 9999), 3, func(a *Answer) { a.DBQuota = -1 }), AlarmNoSpace, false, Decision{Verdict: Go, Facts: Facts{Others: []MemberID{1}, Detail: AlarmNoSpace}}},
		"a quota not told":          {change(cluster(10, 10, 10), 3, silentQuota), AlarmNoSpace, false, refuse(AlarmUnproven, Facts{Others: []MemberID{3}, Detail: AlarmNoSpace})},
		"a quota not told, sure":    {change(cluster(10, 10, 10), 3, silentQuota), AlarmNoSpace, true, Decision{Verdict: Go, Facts: Facts{Others: []MemberID{1}, Detail: AlarmNoSpace}}},
		"one that does not answer":  {change(cluster(10, 10, 10), 3, func(a *Answer) { *a = Answer{State: Silent} }), AlarmNoSpace, false, refuse(AlarmUnproven, Facts{Others: []MemberID{3}, Detail: AlarmNoSpace})},
		"none is raised":            {quiet, AlarmNoSpace, false, Decision{Verdict: Done, Facts: Facts{Detail: AlarmNoSpace}}},
		"another one is raised":     {cluster(10, 10, 10), AlarmCorrupt, true, Decision{Verdict: Done, Facts: Facts{Detail: AlarmCorrupt}}},
		"corrupt, reads stopped":    {corrupt(cluster(1, 1, 1)), AlarmCorrupt, false, refuse(AlarmUnproven, Facts{Others: []MemberID{2}, Detail: AlarmCorrupt})},
		"corrupt, and replaced":     {corrupt(cluster(1, 1, 1)), AlarmCorrupt, true, Decision{Verdict: Go, Facts: Facts{Others: []MemberID{2}, Detail: AlarmCorrupt}}},
		"endpoints of two clusters": {mixed, AlarmNoSpace, true, refuse(MixedClusters, Facts{})},
		"nobody leads":              {leaderless, AlarmNoSpace, true, wait(NoLeader, Facts{Voters: 3, Quorum: 2, Alive: 3})},
	} {
		got := DecideDisarm(tt.s, tt.kind, tt.confirmed)
		if got.Verdict != tt.want.Verdict || got.Code != tt.want.Code || got.Facts.Detail != tt.want.Facts.Detail || !slices.Equal(got.Facts.Others, tt.want.Facts.Others) {
			t.Errorf("%s: %+v, want %+v", name, got, tt.want)
		}
		if got.Verdict == Refuse && !got.Code.Permanent() {
			t.Errorf("%s: the refusal is observed again, although only an operator can lift it", name)
		}
	}
}

func TestFind(t *testing.T) {
	s := Snapshot{Members: []Member{{ID: 0xa, Name: "b"}, {ID: 0xb, Name: "a"}, {ID: 0xc, Name: "c"}, {ID: 0xd, Name: "c"}, {ID: 0xe}}}
	for text, want := range map[string][]MemberID{"a": {0xa}, "A": {0xa}, "b": {0xb}, "c": {0xc}, "e": {0xe}, "": nil, "x": nil} {
		if got := IDs(s.Find(text)); !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
	s.Members[2].ID = 0xf
	if got := IDs(s.Find("c")); !slices.Equal(got, []MemberID{0xd, 0xf}) {
		t.Errorf("two of one name: %v", got)
	}
	if got := IDs(s.ByName()); !slices.Equal(got, []MemberID{0xb, 0xa, 0xd, 0xf, 0xe}) {
		t.Errorf("by name: %v", got)
	}
}
