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
		{"two learners replaced", 3, PlannedChanges{Replaced: ids(91, 92)}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var s Snapshot
			for i := range c.voters {
				s.Members = append(s.Members, Member{ID: MemberID(i + 1), Name: "m"})
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
