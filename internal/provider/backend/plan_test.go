// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package backend

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// A member has one resource, or both the learner that added it and the member
// that adopts that learner, whichever is planned first.
func TestHolders(t *testing.T) {
	together := func(held, made Holder) bool {
		return held == noHolder || held == LearnerHolder && made == AdopterHolder || held == AdopterHolder && made == LearnerHolder
	}
	for held := noHolder; held <= RemovedHolder; held++ {
		for made := MemberHolder; made <= AdopterHolder; made++ {
			var first, second Plan
			if held != noHolder {
				first.Hold("a", held)
			}
			twice := first.Make("a", made)
			if twice == together(held, made) {
				t.Errorf("%d is held, %d is made: twice is %v", held, made, twice)
			}
			if second.Make("a", made) || second.Make("b", made) {
				t.Errorf("%d alone is made twice", made)
			}
			if held != noHolder && second.Hold("a", held) == together(held, made) {
				t.Errorf("%d is made, %d is held: not as the other way round", made, held)
			}
		}
	}
}

// A member is not removed while another resource keeps it, whichever is planned
// first, even if the removed resource first seems to stay.
func TestCountHolders(t *testing.T) {
	type call struct{ kept, gone int }
	var (
		stays    = []call{{kept: 1}}
		removed  = []call{{gone: 1}}
		replaced = []call{{kept: 1}, {kept: -1, gone: 1}}
	)
	for name, c := range map[string]struct {
		first, second []call
		refused       bool
	}{
		"one removed, one stays":    {removed, stays, true},
		"one stays, one removed":    {stays, removed, true},
		"one stays, one replaced":   {stays, replaced, true},
		"both removed":              {removed, removed, false},
		"both stay":                 {stays, stays, false},
		"one removed, one replaced": {replaced, removed, false},
		"one replaced":              {replaced, nil, false},
	} {
		var p Plan
		refused := false
		for _, do := range append(append([]call{}, c.first...), c.second...) {
			refused = p.CountHolders("c1", "a1", do.kept, do.gone).Verdict == membership.Refuse
		}
		if refused != c.refused {
			t.Errorf("%s: refused: %v", name, refused)
		}
		if p.CountHolders("c2", "a1", 1, 0).Verdict == membership.Refuse || p.CountHolders("c1", "a2", 0, 1).Verdict == membership.Refuse {
			t.Errorf("%s: another member, or another cluster, is refused", name)
		}
	}
}

// If the cluster cannot be observed, a plan replaces only one of the configurations
// of one bootstrap, or of none. A configuration with a new key counts as replaced.
func TestCount(t *testing.T) {
	const replaced = Removed | Created
	type step struct {
		token, name string
		half        Half
		refused     bool
	}
	const founders = 3
	for name, steps := range map[string][]step{
		"one":                       {{"t", "a", replaced, false}, {"t", "a", replaced, false}},
		"two":                       {{"t", "a", replaced, false}, {"t", "b", replaced, true}},
		"three are refused once":    {{"t", "a", replaced, false}, {"t", "b", replaced, true}, {"t", "c", replaced, false}},
		"two clusters":              {{"t", "a", replaced, false}, {"u", "a", replaced, false}},
		"one without a bootstrap":   {{"t", "a", replaced, false}, {"", "b", replaced, true}},
		"removed and created":       {{"t", "a", Removed, false}, {"t", "a", Created, false}, {"t", "b", Created, false}, {"t", "b", Removed, true}},
		"a shrink":                  {{"t", "a", Removed, false}, {"t", "b", Removed, false}},
		"growth":                    {{"t", "d", Created, false}, {"t", "e", Created, false}},
		"a replacement, and growth": {{"t", "a", replaced, false}, {"t", "d", Created, false}},
	} {
		var p Plan
		for i, s := range steps {
			if d := p.Count(s.token, s.name, s.half, founders); (d.Verdict == membership.Refuse) != s.refused {
				t.Errorf("%s: step %d: %+v, refused: %v", name, i, d, s.refused)
			}
		}
	}
}

func TestPlanNotes(t *testing.T) {
	var p Plan
	p.HoldConfig("t", "a")
	if !p.HoldsConfig("t", "a") || p.HoldsConfig("u", "a") || p.HoldsConfig("t", "b") {
		t.Error("a configuration is not told from another cluster's of its name")
	}
	if !p.TakeFailed("a") || p.TakeFailed("b") || !p.TakeFailed("a") {
		t.Error("more than one failed member is taken")
	}
	for _, c := range []struct{ name, url, other string }{
		{"a", "http://10.0.0.1:2380", ""}, {"a", "http://10.0.0.1:2380", ""}, {"b", "HTTP://10.0.0.1:2380/", "a"}, {"b", "http://10.0.0.2:2380", ""},
	} {
		if _, other := p.Address(c.name, []string{c.url}); other != c.other {
			t.Errorf("%s at %s: the other is %q, want %q", c.name, c.url, other, c.other)
		}
	}
}

// The refusal of a whole plan is printed once.
func TestReportOnce(t *testing.T) {
	snap := membership.Snapshot{ClusterID: 1, Answers: map[membership.MemberID]membership.Answer{}}
	b := &Backend{}
	g := b.Guard(1, nil)
	for id := membership.MemberID(1); id <= 3; id++ {
		snap.Members = append(snap.Members, membership.Member{ID: id, Name: "m" + id.String(), ClientURLs: []string{"http://x:1"}})
		snap.Answers[id] = membership.Answer{State: membership.Answered, MemberID: id, ClusterID: 1, Leader: 1, Term: 1, ReadOK: true}
	}
	var diags diag.Diagnostics
	for id := membership.MemberID(1); id <= 3; id++ {
		g.Removed.Set(id, true)
		g.Report(t.Context(), snap, "", &diags)
		g.Created.Set("n"+id.String(), true)
	}
	g.Report(t.Context(), snap, "", &diags)
	g.Report(t.Context(), snap, "", &diags)
	if diags.ErrorsCount() != 1 || b.Guard(1, nil) != g || b.Guard(2, nil) == g {
		t.Errorf("the diagnostics are %v", diags)
	}
	if g.Kept.Set("a", true); b.GuardOf("a") != g || b.GuardOf("b") != nil {
		t.Error("the guard of a member is not found by its name")
	}
}
