// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
)

// mind is a state of one member, as far as the rules distinguish it.
type mind uint8

const (
	vAlive   mind = iota // a healthy voter
	vBehind              // alive, with a shorter log
	vStale               // alive, but considers itself the leader, in an older term
	vPending             // alive, and its last change of peer URLs is not proven
	vNoRead              // answers, but serves no linearizable read
	vSilent
	vUnstarted
	vUnprobed
	vForeign // another member answers at its address
	vWrong   // a process of another cluster answers at its address
	lAlive   // a learner that has caught up
	lLagging
	lStale      // alive and caught up, in an older term
	lCallsVoter // alive and caught up, but reports that it is a voter
	lSilent
	lUnstarted
	lUnprobed
	lForeign
	lWrong
	minds
)

// world is a cluster of the campaign: the states of its members in ascending
// order (so that each combination occurs once), the leader that they name (the
// index of a member, or -1 for none), and what else a decision depends on. Member
// i has the ID i+1.
type world struct {
	members []mind
	leader  int
	moved   bool // the list was not confirmed
	strict  bool // the release requires every voter to be connected
}

// here is the cluster of the campaign, elsewhere is another cluster.
const here, elsewhere = ClusterID(0xc1), ClusterID(0xc2)

const (
	nowTerm, oldTerm = 5, 4
	leadIndex        = 100_000
	behindIndex      = leadIndex - 1
	laggingIndex     = behindIndex - 1_001
	newerV, olderV   = "3.7.3", "3.6.10"
	urlBefore        = "http://10.0.0.98:2380" // of every member whose change is pending
)

// mindNames are the words for [mind].
var mindNames = [...]string{"voter", "voter behind", "voter stale", "voter pending", "voter without reads", "voter silent", "voter unstarted",
	"voter unprobed", "voter foreign", "voter of another cluster", "learner", "learner lagging", "learner stale",
	"learner calls itself voter", "learner silent", "learner unstarted", "learner unprobed", "learner foreign", "learner of another cluster"}

func (w world) String() string {
	var out []string
	for i, m := range w.members {
		out = append(out, fmt.Sprintf("%d %s", i+1, mindNames[m]))
	}
	return fmt.Sprintf("[%s] leader=%d moved=%t strict=%t", strings.Join(out, "; "), w.leader+1, w.moved, w.strict)
}

// view returns the leader that member i names, and the term.
func (w world) view(i int) (leader, term int) {
	switch w.members[i] {
	case vStale:
		return i, oldTerm
	case lStale:
		return w.leader, oldTerm
	default:
		return w.leader, nowTerm
	}
}

// snapshot returns what the code under test sees of the world.
func (w world) snapshot() Snapshot {
	s := Snapshot{ClusterID: here, Linearizable: !w.moved, Answers: map[MemberID]Answer{}, Pending: map[MemberID]Pending{}}
	for i, state := range w.members {
		id := MemberID(i + 1)
		m := Member{
			ID: id, Name: "m" + id.String(), Learner: state >= lAlive,
			PeerURLs: []string{"http://10.0.0." + id.String() + ":2380"}, ClientURLs: []string{"http://10.0.0." + id.String() + ":2379"},
		}
		leader, term := w.view(i)
		a := Answer{
			State: Answered, MemberID: id, ClusterID: here, Leader: MemberID(leader + 1), Term: uint64(term),
			Index: leadIndex, Applied: leadIndex, Learner: m.Learner, ReadOK: !m.Learner, Version: newerV,
		}
		if w.strict {
			a.Version = olderV
		}
		switch state {
		case vBehind:
			a.Index, a.Applied = behindIndex, behindIndex
		case vPending:
			if !w.pending(i) {
				break
			}
			s.Pending[id] = Pending{URLChange: URLChange{ID: id, PeerURLs: m.PeerURLs, Before: []string{urlBefore}}, State: URLsNotRestarted}
		case vNoRead:
			a.ReadOK = false
		case vSilent, lSilent:
			a = Answer{State: Silent}
		case vUnstarted, lUnstarted:
			m.Name, m.ClientURLs, a = "", nil, Answer{}
		case vUnprobed, lUnprobed:
			a = Answer{}
		case vForeign, lForeign: // another member answers, and is healthy
			a.MemberID = 77
		case vWrong, lWrong:
			a = Answer{State: WrongCluster, ClusterID: elsewhere}
		case lLagging:
			a.Applied = laggingIndex
		case lCallsVoter:
			a.Learner = false
		}
		s.Members = append(s.Members, m)
		s.Answers[id] = a
	}
	return s
}

// worlds calls f for every combination of states of n members, with every leader
// that makes a difference, and with a confirmed and an unconfirmed list.
func worlds(n int, f func(world)) {
	members := make([]mind, n)
	var fill func(at int, from mind)
	fill = func(at int, from mind) {
		if at < n {
			for m := from; m < minds; m++ {
				members[at] = m
				fill(at+1, m)
			}
			return
		}
		for leader := -1; leader < n; leader++ {
			if leader > 0 && members[leader] == members[leader-1] {
				continue // the same world again
			}
			for _, moved := range []bool{false, true} {
				f(world{members: members, leader: leader, moved: moved})
			}
		}
	}
	fill(0, 0)
}

// subjects returns the members that differ, by state or by leading, and one index
// that is not in the list (n).
func (w world) subjects() []int {
	var out []int
	for i := range w.members {
		first := i == 0 || w.members[i] != w.members[i-1]
		if first || i == w.leader+1 {
			out = append(out, i)
		}
	}
	return append(out, len(w.members))
}

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
	d := DecideUpdate(s, Member{ID: id, PeerURLs: []string{"http://10.0.0.99:2380"}})
	c.compare(w, "update", i+1, d, w.naiveUpdate(i, false))
	if i < len(w.members) && w.pending(i) {
		d := DecideUpdate(s, Member{ID: id, PeerURLs: []string{urlBefore}})
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
