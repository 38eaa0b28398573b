// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

import (
	"slices"
	"testing"
)

// TestPlace compares the rule with a naive statement, over each member of a cluster, what
// lives, what leaves, the versions, and which learners the servers were asked beside.
func TestPlace(t *testing.T) {
	t.Parallel()
	const voter, learner, other = MemberID(2), MemberID(0x91), MemberID(0x92)
	asks := 0
	for c := range 1 << 9 {
		is := func(bit int) bool { return c>>bit&1 == 1 }
		s := *plannedCluster(3)
		if is(0) {
			s.Members = s.Members[:3]
		}
		if is(1) {
			s.Members = append(s.Members, Member{ID: other, Name: "other", Learner: true, PeerURLs: []string{urlOf(other)}})
		}
		for _, m := range s.Members {
			a := s.Answers[m.ID]
			a.Version = "3.6.16"
			if is(2) && m.ID == 1 {
				a.Version = "3.4.13"
			}
			if is(3) && m.Learner || is(4) && m.ID == voter {
				a = Answer{State: Silent}
			}
			s.Answers[m.ID] = a
		}
		r := RemoveRequest{ID: voter, Replacement: is(5)}
		if is(6) {
			r.ID = learner
		}
		var accepted []MemberID
		if is(7) {
			r.Leaving = []MemberID{learner}
		}
		if is(8) {
			accepted = IDs(s.Learners())
		}

		// naive
		holds := !is(0) && !is(7) || is(1)
		living := r.ID == voter && !is(4)
		want := Go
		switch {
		case !is(5) || !living || !holds:
		case is(2):
			want = Refuse
		case !is(8) || is(7) && !is(0):
			want = Wait
		}
		d := DecidePlace(s, r, accepted)
		if d.Verdict != want || (want == Go) != (d.Code == "") || slices.Contains(d.Facts.Others, voter) {
			t.Fatalf("case %09b: %v %q %v, want %v", c, d.Verdict, d.Code, d.Facts.Others, want)
		}
		if want == Wait {
			asks++
			if d := DecidePlace(s, r, d.Facts.Others); d.Verdict != Go {
				t.Fatalf("case %09b: the servers were asked: %v", c, d.Verdict)
			}
		}
	}
	if asks == 0 {
		t.Error("the servers are never asked")
	}
}
