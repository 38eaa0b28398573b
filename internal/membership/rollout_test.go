// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
)

func TestPlanRollout(t *testing.T) {
	type m = map[string]string
	for _, c := range []struct {
		name       string
		have, want m
		unhealthy  bool
		only       string
		effective  m
		advanced   string
		waiting    []string
		reason     RolloutReason
	}{
		{name: "the first plan", want: m{"a": "1", "b": "1"}, effective: m{"a": "1", "b": "1"}},
		{name: "the first plan, nobody is there yet", want: m{"a": "1"}, unhealthy: true, effective: m{"a": "1"}},
		{name: "nothing changes", have: m{"a": "1"}, want: m{"a": "1"}, effective: m{"a": "1"}},
		{name: "all change", have: m{"a": "1", "b": "1", "c": "1"}, want: m{"a": "2", "b": "2", "c": "2"},
			effective: m{"a": "2", "b": "1", "c": "1"}, advanced: "a", waiting: []string{"b", "c"}, reason: RolloutNext},
		{name: "the last one", have: m{"a": "2", "b": "2", "c": "1"}, want: m{"a": "2", "b": "2", "c": "2"},
			effective: m{"a": "2", "b": "2", "c": "2"}, advanced: "c", reason: RolloutNext},
		{name: "unhealthy", have: m{"a": "1", "b": "1"}, want: m{"a": "2", "b": "2"}, unhealthy: true,
			effective: m{"a": "1", "b": "1"}, waiting: []string{"a", "b"}, reason: RolloutUnhealthy},
		{name: "unhealthy, and it is the first that waits", have: m{"a": "2", "b": "1"}, want: m{"a": "3", "b": "3"}, unhealthy: true, only: "a",
			effective: m{"a": "3", "b": "1"}, advanced: "a", waiting: []string{"b"}, reason: RolloutNext},
		{name: "unhealthy, and it is another one that waits", have: m{"a": "1", "b": "1", "c": "1"}, want: m{"a": "2", "b": "2", "c": "2"}, unhealthy: true, only: "b",
			effective: m{"a": "1", "b": "2", "c": "1"}, advanced: "b", waiting: []string{"a", "c"}, reason: RolloutNext},
		{name: "unhealthy, and it has what it is to have", have: m{"a": "2", "b": "1"}, want: m{"a": "2", "b": "2"}, unhealthy: true, only: "a",
			effective: m{"a": "2", "b": "1"}, waiting: []string{"b"}, reason: RolloutUnhealthy},
		{name: "one comes too", have: m{"a": "1", "b": "1"}, want: m{"a": "2", "b": "2", "c": "2"},
			effective: m{"a": "1", "b": "1", "c": "2"}, waiting: []string{"a", "b"}, reason: RolloutNamesChange},
		{name: "one goes too", have: m{"a": "1", "b": "1"}, want: m{"a": "2"},
			effective: m{"a": "1"}, waiting: []string{"a"}, reason: RolloutNamesChange},
		{name: "one comes, nothing else", have: m{"a": "1"}, want: m{"a": "1", "b": "1"}, unhealthy: true, effective: m{"a": "1", "b": "1"}},
		{name: "all go", have: m{"a": "1"}, want: m{}, effective: m{}},
		{name: "changed back", have: m{"a": "2", "b": "1"}, want: m{"a": "1", "b": "1"},
			effective: m{"a": "1", "b": "1"}, advanced: "a", reason: RolloutNext},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := PlanRollout(c.have, c.want, !c.unhealthy, c.only)
			if !maps.Equal(r.Effective, c.effective) || r.Advanced != c.advanced || !slices.Equal(r.Pending, c.waiting) || r.Reason != c.reason {
				t.Errorf("got %+v", r)
			}
		})
	}
}

// TestRolloutEnds checks that a rollout, whatever the health at each plan, lets
// one name through at a time and ends when all names are through.
func TestRolloutEnds(t *testing.T) {
	have, want := map[string]string{}, map[string]string{}
	for _, n := range []string{"a", "b", "c", "d", "e"} {
		have[n], want[n] = "1", "2"
	}
	steps := 0
	for i := 0; !maps.Equal(have, want); i++ {
		r := PlanRollout(have, want, i%3 != 0, "")
		changed := 0
		for n := range want {
			if r.Effective[n] != have[n] {
				changed++
			}
		}
		if want := map[bool]int{true: 1}[i%3 != 0]; changed != want {
			t.Fatalf("plan %d changed %d names, want %d", i, changed, want)
		}
		steps += changed
		have = r.Effective
	}
	if steps != 5 {
		t.Errorf("%d steps for 5 names", steps)
	}
}

func TestRolloutTakes(t *testing.T) {
	s := Snapshot{Members: []Member{{ID: 3, Name: "c"}, {ID: 1, Name: "a"}, {ID: 2, Name: "b", Learner: true}, {ID: 4, Learner: true}, {ID: 5, Name: "a"}}}
	for _, c := range []struct {
		name  string
		in    Snapshot
		names []string
		want  []string
	}{
		{"the first creation", Snapshot{}, []string{"a", "b"}, nil},
		{"other names", s, []string{"x", "y"}, nil},
		{"no names", s, []string{}, nil},
		{"a member that has not started has no name", s, []string{""}, nil},
		{"all", s, []string{"a", "b", "c"}, []string{"a", "b", "c"}},
		{"some, and a new one", s, []string{"x", "c", "a"}, []string{"a", "c"}},
		{"names that are not known", s, nil, []string{"a", "b", "c"}},
		{"names that are not known, and no member", Snapshot{}, nil, nil},
	} {
		if got := RolloutTakes(c.in, c.names); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

// TestRolloutIsMadeAgain checks that a rollout that loses its state, and is
// created, imported or replaced again, changes at most one name that has a machine.
func TestRolloutIsMadeAgain(t *testing.T) {
	names := []string{"a", "b", "c"}
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 0))
		have := map[string]string{}     // the real values of the machines
		var effective map[string]string // nil: no rollout
		for range 12 {
			desired := map[string]string{}
			for _, n := range names {
				if r.IntN(4) > 0 {
					desired[n] = strconv.Itoa(r.IntN(3))
				}
			}
			var s Snapshot
			for n := range have {
				s.Members = append(s.Members, Member{Name: n})
			}
			switch r.IntN(4) {
			case 0:
				effective = nil // state rm, tainted, another address
			case 1:
				if len(have) > 0 {
					effective = maps.Clone(have) // import
				}
			}
			if effective == nil && len(RolloutTakes(s, slices.Collect(maps.Keys(desired)))) > 0 {
				continue // refused
			}
			plan := PlanRollout(effective, desired, r.IntN(3) > 0, "")
			changed := 0
			for n, now := range plan.Effective {
				if was, runs := have[n]; runs && was != now {
					changed++
				}
			}
			if changed > 1 {
				t.Fatalf("seed %d: from %v with %v it passes on %v", seed, have, desired, plan.Effective)
			}
			effective, have = plan.Effective, maps.Clone(plan.Effective)
		}
	}
}

func TestUnhealthyMembers(t *testing.T) {
	s := Snapshot{ClusterID: 1, Members: []Member{
		{ID: 1, Name: "a", ClientURLs: []string{"x"}}, {ID: 2, Name: "b", ClientURLs: []string{"x"}}, {ID: 3, Learner: true},
	}, Answers: map[MemberID]Answer{
		1: {State: Answered, MemberID: 1, ClusterID: 1, ReadOK: true},
		2: {State: Silent},
	}}
	for _, c := range []struct {
		open []Turn
		want []UnhealthyMember
	}{
		{nil, []UnhealthyMember{{"", 3}, {"b", 2}, {"c", 0}}},
		{[]Turn{{Name: "b"}, {Name: "c"}}, []UnhealthyMember{{"", 3}, {"b", 2}, {"c", 0}}},
		{[]Turn{{Name: "d"}}, []UnhealthyMember{{"", 3}, {"b", 2}, {"c", 0}, {"d", 0}}},
		{[]Turn{{Name: "a"}}, []UnhealthyMember{{"", 3}, {"a", 1}, {"b", 2}, {"c", 0}}},
	} {
		if got := UnhealthyMembers(s, []string{"a", "b", "c"}, c.open); !slices.Equal(got, c.want) {
			t.Errorf("with the turns of %v open: got %v, want %v", c.open, got, c.want)
		}
	}
}

func TestOnlyUnhealthy(t *testing.T) {
	s := Snapshot{Members: []Member{{ID: 1, Name: "a", ClientURLs: []string{"http://x:1"}}, {ID: 4, Learner: true}, {ID: 5}, {ID: 6, Learner: true}}}
	a, gone := UnhealthyMember{"a", 1}, UnhealthyMember{"b", 0}
	learner, voter, second := UnhealthyMember{"", 4}, UnhealthyMember{"", 5}, UnhealthyMember{"", 6}
	for _, c := range []struct {
		name      string
		unhealthy []UnhealthyMember
		want      string
	}{
		{"none", nil, ""},
		{"a dead member", []UnhealthyMember{a}, "a"},
		{"a missing name", []UnhealthyMember{gone}, "b"},
		{"a missing name, and a learner that has not started", []UnhealthyMember{learner, gone}, "b"},
		{"two", []UnhealthyMember{a, gone}, ""},
		{"a voter that has not started", []UnhealthyMember{voter, gone}, ""},
		{"two learners that have not started", []UnhealthyMember{learner, second, gone}, ""},
		{"nobody's learner", []UnhealthyMember{learner}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := OnlyUnhealthy(s, c.unhealthy); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
