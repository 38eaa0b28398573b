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
		{"one replaced of two", 2, PlannedChanges{Replaced: ids(1)}, ""},
		{"one replaced of two, one in", 2, PlannedChanges{Replaced: ids(1), Created: 1}, TooFewStay},
		{"two replaced", 3, PlannedChanges{Replaced: ids(1, 2)}, SecondReplacement},
		{"two replaced of nine", 9, PlannedChanges{Replaced: ids(1, 2)}, SecondReplacement},
		{"the only voter replaced", 1, PlannedChanges{Replaced: ids(1)}, OnlyVoterReplaced},
		{"the only voter replaced, another in", 1, PlannedChanges{Replaced: ids(1), Created: 1}, OnlyVoterReplaced},
		{"all renamed", 3, PlannedChanges{Removed: ids(1, 2, 3), Created: 3}, TooFewStay},
		{"two of three renamed", 3, PlannedChanges{Removed: ids(1, 2), Created: 2}, TooFewStay},
		{"three of five renamed", 5, PlannedChanges{Removed: ids(1, 2, 3), Created: 3}, TooFewStay},
		{"one replaced, one removed of three", 3, PlannedChanges{Replaced: ids(1), Removed: ids(2)}, ""},
		{"one replaced, one removed of three, one in", 3, PlannedChanges{Replaced: ids(1), Removed: ids(2), Created: 1}, TooFewStay},
		{"one replaced, one removed of five", 5, PlannedChanges{Replaced: ids(1), Removed: ids(2)}, ""},
		{"learners are not counted", 3, PlannedChanges{Replaced: ids(1), Removed: ids(91, 92), Created: 1}, ""},
		{"two replaced in turn", 3, PlannedChanges{Replaced: ids(1, 2), InTurn: ids(1, 2)}, ""},
		{"all replaced in turn", 3, PlannedChanges{Replaced: ids(1, 2, 3), InTurn: ids(1, 2, 3)}, ""},
		{"all replaced in turn, one in", 3, PlannedChanges{Replaced: ids(1, 2, 3), InTurn: ids(1, 2, 3), Created: 1}, ""},
		{"both of two replaced in turn, one in", 2, PlannedChanges{Replaced: ids(1, 2), InTurn: ids(1, 2), Created: 1}, TooFewStay},
		{"three replaced, two of them in turn", 3, PlannedChanges{Replaced: ids(1, 2, 3), InTurn: ids(1, 2)}, SecondReplacement},
		{"the only voter replaced in turn", 1, PlannedChanges{Replaced: ids(1), InTurn: ids(1)}, OnlyVoterReplaced},
		{"two replaced in turn, two removed of five, one in", 5, PlannedChanges{Replaced: ids(1, 2), InTurn: ids(1, 2), Removed: ids(3, 4), Created: 1}, TooFewStay},
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
				s.Members = append(s.Members, Member{ID: id, Name: "l", Learner: true})
			}
			d := GuardPlan(s, c.plan)
			if d.Code != c.code || (d.Verdict == Go) != (c.code == "") {
				t.Errorf("got %d %q, want %q", d.Verdict, d.Code, c.code)
			}
		})
	}
}
