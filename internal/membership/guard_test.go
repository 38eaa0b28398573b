// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

import "testing"

func TestGuardPlan(t *testing.T) {
	ids := func(ids ...MemberID) []MemberID { return ids }
	for _, c := range []struct {
		name   string
		voters int
		plan   PlannedChanges
		code   Code
	}{
		{"nothing", 3, PlannedChanges{}, ""},
		{"growth", 3, PlannedChanges{Created: 2}, ""},
		{"the first member there is", 0, PlannedChanges{Created: 3}, ""},
		{"a shrink", 5, PlannedChanges{Removed: ids(1, 2)}, ""},
		{"a deep shrink", 5, PlannedChanges{Removed: ids(1, 2, 3, 4)}, ""},
		{"everything goes", 3, PlannedChanges{Removed: ids(1, 2, 3)}, ""},
		{"one out, one in", 3, PlannedChanges{Removed: ids(1), Created: 1}, ""},
		{"two out of five, two in", 5, PlannedChanges{Removed: ids(1, 2), Created: 2}, ""},
		{"one replaced", 3, PlannedChanges{Replaced: ids(1)}, ""},
		{"one replaced, one in", 3, PlannedChanges{Replaced: ids(1), Created: 1}, ""},
		{"one replaced of two", 2, PlannedChanges{Replaced: ids(1)}, EveryVoterNeeded},
		{"both of two replaced", 2, PlannedChanges{Replaced: ids(1, 2)}, EveryVoterNeeded},
		{"one removed of two", 2, PlannedChanges{Removed: ids(1)}, ""},
		{"a learner replaced beside two voters", 2, PlannedChanges{Replaced: ids(91)}, ""},
		{"one replaced of two, one in", 2, PlannedChanges{Replaced: ids(1), Created: 1}, EveryVoterNeeded},
		{"two replaced", 3, PlannedChanges{Replaced: ids(1, 2)}, SecondReplacement},
		{"two replaced of nine", 9, PlannedChanges{Replaced: ids(1, 2)}, SecondReplacement},
		{"the only voter replaced", 1, PlannedChanges{Replaced: ids(1)}, EveryVoterNeeded},
		{"the only voter replaced, another in", 1, PlannedChanges{Replaced: ids(1), Created: 1}, EveryVoterNeeded},
		{"all renamed", 3, PlannedChanges{Removed: ids(1, 2, 3), Created: 3}, TooFewStay},
		{"two of three renamed", 3, PlannedChanges{Removed: ids(1, 2), Created: 2}, TooFewStay},
		{"three of five renamed", 5, PlannedChanges{Removed: ids(1, 2, 3), Created: 3}, TooFewStay},
		{"one replaced, one removed of three", 3, PlannedChanges{Replaced: ids(1), Removed: ids(2)}, ""},
		{"one replaced, one removed of three, one in", 3, PlannedChanges{Replaced: ids(1), Removed: ids(2), Created: 1}, TooFewStay},
		{"one replaced, one removed of five", 5, PlannedChanges{Replaced: ids(1), Removed: ids(2)}, ""},
		{"learners are not counted", 3, PlannedChanges{Replaced: ids(1), Removed: ids(91, 92), Created: 1}, ""},
		{"two replaced, another one's turn", 2, PlannedChanges{Replaced: ids(1, 2), Turns: []Turn{{Name: "gone", Voters: 3}}}, TurnOfAnother},
		{"one replaced, another one's turn", 2, PlannedChanges{Replaced: ids(1), Turns: []Turn{{Name: "gone", Voters: 3}}}, TurnOfAnother},
		{"one replaced, another one's turn is made up for", 3, PlannedChanges{Replaced: ids(1), Turns: []Turn{{Name: "gone", Voters: 3}}}, ""},
		{"one created, its own turn", 2, PlannedChanges{Created: 1, Turns: []Turn{{Name: "gone", Voters: 3}}}, ""},
		{"everything goes, another one's turn", 2, PlannedChanges{Removed: ids(1, 2), Turns: []Turn{{Name: "gone", Voters: 3}}}, ""},
		{"two learners replaced", 3, PlannedChanges{Replaced: ids(91, 92)}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := Snapshot{ClusterID: 1, Answers: map[MemberID]Answer{}}
			for i := range c.voters {
				id := MemberID(i + 1)
				s.Members = append(s.Members, Member{ID: id, Name: "m" + id.String(), ClientURLs: []string{"http://x:1"}})
				s.Answers[id] = Answer{State: Answered, MemberID: id, ClusterID: 1, Leader: 1, Term: 1, ReadOK: true}
			}
			for _, id := range ids(91, 92) {
				s.Members = append(s.Members, Member{ID: id, Name: "l", Learner: true, ClientURLs: []string{"http://x:1"}})
				s.Answers[id] = Answer{State: Answered, MemberID: id, ClusterID: 1, Leader: 1, Term: 1, Learner: true}
			}
			d := GuardPlan(s, c.plan)
			if d.Code != c.code || (d.Verdict == Go) != (c.code == "") {
				t.Errorf("got %d %q, want %q", d.Verdict, d.Code, c.code)
			}
		})
	}
}

// TestGuardPlanExhaustively compares GuardPlan with a naive form of its rule, over
// every state of the members of every cluster of up to four voters and every plan.
func TestGuardPlanExhaustively(t *testing.T) {
	const removedFate, replacedFate = 1, 2
	states := []condition{alive, down, unprobed}
	for voters := 1; voters <= 4; voters++ {
		total := 1
		for range voters {
			total *= len(states) * 3
		}
		for code := range total {
			for created := range 2 {
				s, p := Snapshot{ClusterID: 1, Answers: map[MemberID]Answer{}}, PlannedChanges{Created: created}
				living, replacedAlive, removed, replaced, rest := 0, false, 0, 0, code
				for i := range voters {
					id := MemberID(i + 1)
					state, fate := states[rest%3], rest/3%3
					rest /= 9
					s.Members = append(s.Members, Member{ID: id, Name: id.String(), ClientURLs: []string{"http://x:1"}})
					switch state {
					case alive:
						living++
						s.Answers[id] = Answer{State: Answered, MemberID: id, ClusterID: 1, ReadOK: true}
					case down:
						s.Answers[id] = Answer{State: Silent}
					}
					switch fate {
					case removedFate:
						removed++
						p.Removed = append(p.Removed, id)
					case replacedFate:
						replaced++
						p.Replaced = append(p.Replaced, id)
						replacedAlive = replacedAlive || state != down
					}
				}
				others := living
				if replaced == 1 && s.Alive(p.Replaced[0]) {
					others--
				}
				refused := replaced > 0 && voters-1 < voters/2+1 || // without one of the voters
					replaced > 1 || replaced == 1 && replacedAlive && others < voters-1 ||
					created > 0 && removed+replaced > 0 && voters-removed-replaced < voters/2+1
				d := GuardPlan(s, p)
				if (d.Verdict == Refuse) != refused || (len(d.Warnings) > 0) != (!refused && removed == voters) {
					t.Fatalf("%d voters, %v: %+v; refused by the naive rule: %v", voters, p, d, refused)
				}
			}
		}
	}
}

// TestGuardHolders tries all sequences of up to five resources of a member, each
// of which is kept or removed with the member, and may first seem to be kept.
func TestGuardHolders(t *testing.T) {
	for length := range 6 {
		total := 1
		for range length {
			total *= 3
		}
		for code := range total {
			var h Holders
			stays, goes, rest := false, false, code
			for range length {
				switch rest % 3 {
				case 0:
					h.Kept++
					stays = true
				case 1: // removed
					h.Gone++
					goes = true
				case 2: // replaced
					h.Kept++
					h.Kept--
					h.Gone++
					goes = true
				}
				rest /= 3
			}
			if d := GuardHolders(h); (d.Verdict == Refuse) != (stays && goes) || d.Verdict != Refuse && d.Verdict != Go {
				t.Errorf("%+v: %+v; one stays: %v, one goes: %v", h, d, stays, goes)
			}
		}
	}
}

// TestGuardNode checks every combination: configuration, machine and member must
// either all change or all stay.
func TestGuardNode(t *testing.T) {
	for config := NotGiven; config <= Changes; config++ {
		for machine := NotGiven; machine <= Changes; machine++ {
			for _, member := range []Fate{Stays, Changes} {
				for _, hasRun := range []bool{false, true} {
					n := NodePlan{Config: config, Machine: machine, Member: member, HasRun: hasRun}
					var want Code
					switch {
					case member == Stays && config == Changes:
						want = ConfigAlone
					case member == Stays && config == Stays && machine == Changes:
						want = MachineAlone
					case member == Stays && config == NotGiven && machine == Changes && hasRun:
						want = ProcessAlone
					case member == Changes && hasRun && config == Stays:
						want = MemberAlone
					case member == Changes && hasRun && config == NotGiven && machine != Changes:
						want = ProcessStays
					case member == Changes && hasRun && machine == Stays:
						want = MachineStays
					}
					if d := GuardNode(n); d.Code != want || (d.Verdict == Go) != (want == "") {
						t.Errorf("%+v: got %d %q, want %q", n, d.Verdict, d.Code, want)
					}
				}
			}
		}
	}
}

func TestGuardUnobserved(t *testing.T) {
	for founders := range 6 {
		for n, want := range []Code{"", "", SecondUnobserved, SecondUnobserved} {
			if n == 1 && (founders == 1 || founders == 2) {
				want = NeededUnobserved
			}
			d := GuardUnobserved([]string{"a", "b", "c"}[:n], founders)
			if d.Code != want || (d.Verdict == Go) != (want == "") || want != "" && (len(d.Facts.Names) != n || d.Facts.Voters != founders) {
				t.Errorf("%d of %d: %+v, want %q", n, founders, d, want)
			}
		}
	}
}

// TestMembersOfConfigurations checks that URLs find a configuration's member before
// its name does, and that members with either that have run block a new one.
func TestMembersOfConfigurations(t *testing.T) {
	const u, v = "http://10.0.0.1:2380", "http://10.0.0.2:2380"
	client := []string{"http://x:1"}
	s := Snapshot{Members: []Member{
		{ID: 1, Name: "a", PeerURLs: []string{u, "http://10.0.0.3:2380"}, ClientURLs: client},
		{ID: 2, Name: "b", PeerURLs: []string{v}, ClientURLs: client},
		{ID: 3, PeerURLs: []string{"http://10.0.0.4:2380"}, Learner: true},
	}}
	for _, c := range []struct {
		name string
		urls []string
		want MemberID
	}{
		{"a", nil, 1}, {"b", []string{u}, 1}, {"a", []string{v}, 2}, {"b", []string{"http://10.0.0.9:2380"}, 2}, {"", nil, 0},
		{"c", []string{"http://10.0.0.4:2380"}, 3}, {"c", nil, 0}, {"a", []string{"HTTP://10.0.0.2:2380/"}, 2},
	} {
		if m, ok := s.MemberOf(c.name, c.urls); m.ID != c.want || ok != (c.want != 0) {
			t.Errorf("%s at %v: got %s", c.name, c.urls, m.ID)
		}
	}
	for _, c := range []struct {
		name    string
		urls    []string
		instead MemberID
		want    int
	}{
		{"a", []string{v}, 0, 2}, {"a", []string{v}, 1, 1}, {"c", []string{"http://10.0.0.4:2380"}, 0, 0}, {"", nil, 0, 0}, {"b", nil, 0, 1},
	} {
		if got := s.InTheWay(c.name, c.urls, c.instead); len(got) != c.want {
			t.Errorf("%s at %v instead of %s: got %v", c.name, c.urls, c.instead, got)
		}
	}
	for _, c := range []struct{ name, url, other string }{{"a", v, "b"}, {"b", u, "a"}} {
		if got := s.InTheWay(c.name, []string{c.url}, 0); len(got) != 2 || got[0].Name != c.name || got[1].Name != c.other {
			t.Errorf("%s at the URL of %s: got %v, want the one of the name first", c.name, c.other, got)
		}
	}
}

// A learner that stays uses the slot that the successor of a living voter needs.
func TestGuardPlanWarnsOfLearner(t *testing.T) {
	t.Parallel()
	s := Snapshot{ClusterID: 1, Answers: map[MemberID]Answer{}}
	for id := MemberID(1); id <= 4; id++ {
		s.Members = append(s.Members, Member{ID: id, Name: id.String(), ClientURLs: []string{"http://x:1"}, Learner: id == 4})
		s.Answers[id] = Answer{State: Answered, MemberID: id, ClusterID: 1, ReadOK: true}
	}
	for _, c := range []struct {
		name string
		plan PlannedChanges
		want bool
	}{
		{"a voter is replaced", PlannedChanges{Replaced: []MemberID{1}}, true},
		{"and the learner goes", PlannedChanges{Replaced: []MemberID{1}, Removed: []MemberID{4}}, false},
		{"a voter is removed", PlannedChanges{Removed: []MemberID{1}}, false},
		{"the learner is replaced", PlannedChanges{Replaced: []MemberID{4}}, false},
		{"nothing", PlannedChanges{}, false},
	} {
		d := GuardPlan(s, c.plan)
		got := len(d.Warnings) == 1 && d.Warnings[0].Code == LearnerSlotTaken && d.Warnings[0].Facts.Others[0] == 4
		if d.Verdict != Go || got != c.want || len(d.Warnings) > 0 != c.want {
			t.Errorf("%s: %+v, want a warning: %v", c.name, d, c.want)
		}
	}
	s.Answers[1] = Answer{State: Silent}
	if d := GuardPlan(s, PlannedChanges{Replaced: []MemberID{1}}); len(d.Warnings) > 0 {
		t.Errorf("a dead voter is replaced: %+v", d)
	}
}
