// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

import (
	"slices"
	"testing"
)

func TestCheckVersions(t *testing.T) {
	type m = map[string]string
	// The members a, b, c run these versions; "" is a member that does not answer.
	snap := func(versions ...string) Snapshot {
		s := Snapshot{ClusterID: 1, Answers: map[MemberID]Answer{}}
		for i, v := range versions {
			id := MemberID(i + 1)
			s.Members = append(s.Members, Member{ID: id, Name: string(rune('a' + i)), ClientURLs: []string{"http://x:1"}})
			s.Answers[id] = Answer{State: Silent}
			if v != "" {
				s.Answers[id] = Answer{State: Answered, MemberID: id, ClusterID: 1, Version: v}
			}
		}
		return s
	}
	back := func(s Snapshot, to string) Snapshot {
		for id, a := range s.Answers {
			a.Downgrade = to
			s.Answers[id] = a
		}
		return s
	}
	all := func(v string) m { return m{"a": v, "b": v, "c": v} }
	three5 := snap("3.5.35", "3.5.35", "3.5.35")
	for _, c := range []struct {
		name       string
		s          Snapshot
		have, want m
		code       UpgradeCode
		step       string
		members    []MemberID
		between    string
	}{
		{name: "nothing changes", s: three5, have: all("3.5.35"), want: all("3.5.35")},
		{name: "a patch", s: three5, have: all("3.5.35"), want: all("3.5.36")},
		{name: "a patch back", s: three5, have: all("3.5.35"), want: all("3.5.30")},
		{name: "one minor", s: three5, have: all("3.5.35"), want: all("3.6.16")},
		{name: "one minor, without a patch", s: three5, have: all("3.5"), want: all("3.6")},
		{name: "two minors", s: three5, have: all("3.5.35"), want: all("3.7.3"), code: UpgradeSkips, step: "a", members: []MemberID{1, 2, 3}, between: "3.6"},
		{name: "two minors, with a v", s: three5, have: all("v3.5.35"), want: all("v3.7.3"), code: UpgradeSkips, step: "a", members: []MemberID{1, 2, 3}, between: "3.6"},
		{name: "another major", s: three5, have: all("3.5.35"), want: all("4.0.0"), code: UpgradeSkips, step: "a", members: []MemberID{1, 2, 3}, between: "3.6"},
		{name: "two minors for one", s: three5, have: all("3.5.35"), want: m{"a": "3.5.35", "b": "3.7.3", "c": "3.6.16"}, code: UpgradeSkips, step: "b", members: []MemberID{1, 2, 3}, between: "3.6"},
		{name: "on to the next before all have this one", s: snap("3.6.16", "3.6.16", "3.5.35"), have: m{"a": "3.6.16", "b": "3.6.16", "c": "3.5.35"}, want: all("3.7.3"),
			code: UpgradeSkips, step: "a", members: []MemberID{3}, between: "3.6"},
		{name: "a new one, too far ahead", s: three5, have: all("3.5.35"), want: m{"a": "3.5.35", "b": "3.5.35", "c": "3.5.35", "d": "3.7.3"},
			code: UpgradeSkips, step: "d", members: []MemberID{1, 2, 3}, between: "3.6"},
		{name: "changed back half way", s: snap("3.6.16", "3.5.35", "3.5.35"), have: m{"a": "3.6.16", "b": "3.5.35", "c": "3.5.35"}, want: all("3.5.35")},
		{name: "changed back after all but one", s: snap("3.6.16", "3.6.16", "3.5.35"), have: m{"a": "3.6.16", "b": "3.6.16", "c": "3.5.35"}, want: all("3.5.35")},
		{name: "back after all", s: snap("3.6.16", "3.6.16", "3.6.16"), have: all("3.6.16"), want: all("3.5.35"), code: UpgradeBack, step: "a"},
		{name: "back after all, as the cluster was told", s: back(snap("3.6.16", "3.6.16", "3.6.16"), "3.5.0"), have: all("3.6.16"), want: all("3.5.35"),
			code: UpgradeDuringDowngrade, step: "a", members: []MemberID{1, 2, 3}, between: "3.5.0"},
		{name: "any image while the cluster goes back", s: back(snap("3.6.16", "3.6.16", ""), "3.5.0"), have: all("one"), want: m{"a": "one", "b": "two", "c": "two"},
			code: UpgradeDuringDowngrade, step: "b", members: []MemberID{1, 2}, between: "3.5.0"},
		{name: "nothing changes while the cluster goes back", s: back(snap("3.6.16", "3.6.16", "3.6.16"), "3.5.0"), have: all("3.6.16"), want: all("3.6.16")},
		{name: "back by two", s: snap("3.7.3", "3.7.3", "3.7.3"), have: all("3.7.3"), want: all("3.5.35"), code: UpgradeSkipsBack, step: "a"},
		{name: "one alone", s: snap("3.5.35"), have: m{"a": "3.5.35"}, want: m{"a": "3.7.3"}, code: UpgradeSkips, step: "a", members: []MemberID{1}, between: "3.6"},
		{name: "from a bad release", s: snap("3.5.12", "3.5.35", "3.5.21"), have: m{"a": "3.5.12", "b": "3.5.35", "c": "3.5.21"}, want: all("3.6.16"),
			code: UpgradeFromBadRelease, step: "a", members: []MemberID{1, 3}},
		{name: "away from a bad release", s: snap("3.5.12", "3.5.12", "3.5.12"), have: all("3.5.12"), want: all("3.5.35")},
		{name: "as when it is applied: a has left", s: snap("", "3.6.16", "3.6.16"), have: all("3.6.16"), want: all("3.7.3")},
		{name: "images, not versions", s: three5, have: all("debian-12"), want: all("debian-13")},
		{name: "hashes", s: three5, have: all("3.5.35"), want: all("ab12")},
		{name: "nobody answers", s: snap("", "", ""), have: all("3.5.35"), want: all("3.7.3")},
	} {
		t.Run(c.name, func(t *testing.T) {
			step, code := checkVersions(c.s, c.have, c.want)
			if code != c.code || step.Name != c.step || !slices.Equal(step.Members, c.members) || step.Between != c.between {
				t.Errorf("got %+v, %d", step, code)
			}
			if c.code == UpgradeFine && step.Name != "" {
				t.Errorf("nothing is wrong with %+v", step)
			}
			// When the plan is applied, the first member is removed already. A step
			// that passed the plan must not be refused then: that is too late.
			if !code.Refused() && len(c.s.Members) > 0 {
				gone := c.s
				gone.Members = c.s.Members[1:]
				if step, late := checkVersions(gone, c.have, c.want); late.Refused() {
					t.Errorf("refused when it is applied: %+v, %d", step, late)
				}
			}
		})
	}
}
