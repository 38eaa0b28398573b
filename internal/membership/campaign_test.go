// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"
)

// TestEveryCluster compares the decisions with the naive rules, and with the
// promises of the rules, over every cluster of up to four members in every
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
		c.promise(w, d.Verdict != Go || w.mayGrow(), "add")
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
		r := PromoteRequest{ID: id}
		if before {
			r.Before = s.Answer(id)
			r.Before.Applied-- // it has applied an entry since
		}
		d := DecidePromote(s, r)
		c.compare(w, "promote", i+1, d, w.naivePromote(i, before))
		c.promise(w, d.Verdict != Go || w.mayVote(i) && before && w.mayGrow(), "promote")
		c.promise(w, d.Verdict != Done || w.voter(i) && w.lives(i), "promote")
	}
	d := DecideUpdate(s, UpdateRequest{ID: id, PeerURLs: []string{"http://10.0.0.99:2380"}})
	c.compare(w, "update", i+1, d, w.naiveUpdate(i, false))
	if i < len(w.members) && w.pending(i) {
		d := DecideUpdate(s, UpdateRequest{ID: id, PeerURLs: []string{urlBefore}})
		c.compare(w, "update back", i+1, d, w.naiveUpdate(i, true))
		c.promise(w, !open || d.Verdict == Go, "update back")
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
			c.promise(w, d.Verdict != Go || w.maySpare(i, replacement), "remove")
			c.promise(w, d.Verdict != Go || w.handedOver(i, d.MoveLeaderTo), "remove")
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
		// No living voter is removed while the turn of another member is open.
		held := slices.ContainsFunc(turns, func(t Turn) bool { return t.Name != nameOf(i) && w.held(t) })
		c.promise(w, d.Verdict != Go || !held || !w.voter(i) || !w.lives(i), "replace in turn")
	}
}

// mayGrow is the promise about additions and promotions: the voters that are
// alive now are a quorum, and those that a restart does not cut off are one if the new
// member fails with its vote. A cluster of one only has to be alive.
func (w world) mayGrow() bool {
	n, living := len(w.which(w.voter)), len(w.which(w.voter, w.lives))
	return !w.moved && most(living, n) && (n == 1 || most(len(w.which(w.voter, w.bears)), n+1))
}

// mayVote is the promise about promotions: the learner is alive, has caught up,
// and names the same leader and term as the voters.
func (w world) mayVote(i int) bool {
	if i == len(w.members) || w.members[i] != lAlive && w.members[i] != lStale {
		return false
	}
	leader, term, ok := w.agreed()
	l, t := w.view(i)
	return ok && l == leader && t == term
}

// maySpare is the promise about removals: a voter is removed only if the others
// have a quorum alive, a learner only if the voters of this cluster do.
func (w world) maySpare(i int, replacement bool) bool {
	others, living := w.which(w.voter, but(i)), w.which(w.voter, w.bears, but(i))
	if i < len(w.members) && (!w.voter(i) || w.proven(i)) {
		living = w.which(w.voter, w.lives, but(i))
	}
	if w.moved || i == len(w.members) || len(others) == 0 {
		return false
	}
	if replacement && w.lives(i) && len(w.which(but(i), not(w.bears), w.needed)) > 0 {
		return false
	}
	return most(len(living), len(others))
}

// handedOver reports whether another living voter takes over from a removed leader.
func (w world) handedOver(i int, to MemberID) bool {
	leader, _, _ := w.agreed()
	if leader != i {
		return to == 0
	}
	j := int(to) - 1
	return j >= 0 && j != i && w.voter(j) && w.lives(j)
}

func (c *campaign) promise(w world, kept bool, action string) {
	if !kept {
		c.t.Fatalf("%s: %s breaks what was promised", w, action)
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

// TestLargerClusters does the same with random clusters of eight to fifteen
// members, most of them in states with which a cluster still works.
func TestLargerClusters(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 0))
	common := []mind{vAlive, vAlive, vAlive, vBehind, lAlive}
	c := campaign{t: t}
	t.Logf("seed %d", seed)
	draws := 1000
	if os.Getenv("ETCD_TEST_FULL") != "" {
		draws = 5000
	}
	for range draws {
		w := world{members: make([]mind, 8+random.IntN(8)), moved: random.IntN(20) == 0}
		for i := range w.members {
			if w.members[i] = mind(random.IntN(int(minds))); random.IntN(4) > 0 {
				w.members[i] = common[random.IntN(len(common))]
			}
		}
		slices.Sort(w.members)
		w.leader = random.IntN(len(w.members)+1) - 1
		c.visit(w)
	}
	t.Logf("%d clusters, %d decisions compared: %d go, %d wait, %d refused, %d done",
		c.clusters, c.decisions, c.verdicts[Go], c.verdicts[Wait], c.verdicts[Refuse], c.verdicts[Done])
	if slices.Contains(c.verdicts[:], 0) {
		t.Error("a verdict never came up: the campaign does not reach what it should")
	}
}
