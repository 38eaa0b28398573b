// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
)

// TestEveryCluster compares the decisions with the naive rules over every cluster of up to four members in every
// combination of states, and over every fifth cluster of five members
// (ETCD_TEST_FULL=1: every cluster of up to seven).
func TestEveryCluster(t *testing.T) {
	largest, full := 5, os.Getenv("ETCD_TEST_FULL") != ""
	if full {
		largest = 7
	}
	for n := range largest + 1 {
		t.Run(fmt.Sprintf("%d members", n), func(t *testing.T) {
			c := campaign{t: t}
			if n == 5 && !full {
				nth := rand.IntN(5)
				t.Logf("every fifth from number %d on", nth)
				worlds(n, func(w world) {
					if nth--; nth < 0 {
						nth = 4
						c.visit(w)
					}
				})
			} else {
				worlds(n, c.visit)
			}
			t.Logf("%d clusters, %d decisions compared: %d go, %d wait, %d refused, %d done",
				c.clusters, c.decisions, c.verdicts[Go], c.verdicts[Wait], c.verdicts[Refuse], c.verdicts[Done])
			if n > 1 && slices.Contains(c.verdicts[:], 0) {
				t.Error("a verdict never came up: the campaign does not reach what it should")
			}
		})
	}
}

type campaign struct {
	t                   *testing.T
	clusters, decisions int
	verdicts            [4]int
}

func (c *campaign) visit(w world) {
	c.clusters++
	s := w.snapshot()
	_, open := w.naiveGate()

	w.strict = false
	for _, ask := range []bool{false, true} {
		if !open && ask {
			break // every request meets the same closed gate
		}
		r := AddRequest{Name: "new", PeerURLs: []string{"http://10.0.0.99:2380"}, AskServer: ask}
		d := DecideAdd(s, r)
		c.compare(w, "add, servers asked:", ask, d, w.naiveAdd(ask))
	}
	if open { // the release matters only for additions
		old := w
		old.strict = true
		d := DecideAdd(old.snapshot(), AddRequest{Name: "new", PeerURLs: []string{"http://10.0.0.99:2380"}})
		c.compare(old, "add, servers asked:", false, d, old.naiveAdd(false))
	}
	for _, i := range w.subjects() {
		c.visitSubject(w, s, i, open)
	}
}

func (c *campaign) visitSubject(w world, s Snapshot, i int, open bool) {
	id := MemberID(i + 1)
	for _, before := range []bool{true, false} {
		if !open && !before {
			break
		}
		was := Answer{}
		if before {
			was = s.Answer(id)
			was.Applied-- // it has applied an entry since
		}
		d := DecidePromote(s, id, was)
		c.compare(w, "promote", i+1, d, w.naivePromote(i, before))
	}
	d := DecideUpdate(s, UpdateRequest{ID: id, PeerURLs: []string{"http://10.0.0.99:2380"}})
	c.compare(w, "update", i+1, d, w.naiveUpdate(i, false))
	if i < len(w.members) && w.pending(i) {
		d := DecideUpdate(s, UpdateRequest{ID: id, PeerURLs: []string{urlBefore}})
		c.compare(w, "update back", i+1, d, w.naiveUpdate(i, true))
		if open && d.Verdict != Go {
			c.t.Fatalf("%s: a change back of %d is not possible", w, i+1)
		}
	}
	if open {
		c.visitTurns(w, s, i)
	}
	everybody := w.which()
	everySecond := w.which(func(i int) bool { return i%2 == 0 })
	for _, leaving := range [][]int{nil, everybody, everySecond, w.which(not(w.lives)), w.which(w.lives)} {
		for _, replacement := range []bool{false, true} {
			if !open && (replacement || leaving != nil) {
				return
			}
			r := RemoveRequest{ID: id, Replacement: replacement}
			for _, l := range leaving {
				r.Leaving = append(r.Leaving, MemberID(l+1))
			}
			d := DecideRemove(s, r)
			c.compare(w, "remove", i+1, d, w.naiveRemove(i, replacement, leaving))
		}
	}
}

// visitTurns replaces a member while its own replacement, or that of another
// member, is on record.
func (c *campaign) visitTurns(w world, s Snapshot, i int) {
	n := len(w.which(w.voter))
	gone, own := Turn{Name: "gone", Voters: n + 1}, Turn{Name: nameOf(i), Voters: n + 1}
	for _, turns := range [][]Turn{{gone}, {own}, {{Name: nameOf(0), Voters: n}}, {{Name: "gone", Voters: n}, own}, {{Name: "gone", Voters: n - 1}}} {
		d := DecideRemove(s, RemoveRequest{ID: MemberID(i + 1), Replacement: true, Turns: turns})
		c.compare(w, fmt.Sprint("replace, turns ", turns), i+1, d, w.naiveReplace(i, turns))
	}
}

func (c *campaign) compare(w world, what string, arg any, d Decision, want verdict) {
	c.decisions++
	c.verdicts[d.Verdict]++
	same := d.Verdict == want.v && d.Code == want.code && d.MoveLeaderTo == MemberID(want.move+1) &&
		len(d.Facts.Others) == len(want.others) && len(d.Warnings) == len(want.warnings)
	for i := 0; same && i < len(want.others); i++ {
		same = d.Facts.Others[i] == MemberID(want.others[i]+1)
	}
	for i := 0; same && i < len(want.warnings); i++ {
		same = d.Warnings[i].Code == want.warnings[i]
	}
	if !same {
		c.t.Fatalf("%s: %s %v:\nthe code says  %+v\nthe rules say %+v", w, what, arg, d, want)
	}
}
