// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

import (
	"slices"
	"strings"
	"testing"
)

// slot is a name of a small cluster: what the last refresh saw of it, in words, and
// what the configuration wants.
type slot struct{ seen, want string }

var (
	// seen words: a foreign member belongs to no node, a stale one was built after the
	// refresh, an "old" one was rebuilt while the member before it still votes, and with
	// a "former" one the node before is kept. The leader hears a "heard" one, which does not
	// answer here.
	seenWords = []string{"voter", "dead", "heard", "failed", "replacing", "old", "former", "added", "learner", "dead learner", "pending", "deviating", "stale",
		"foreign", "dead foreign", "foreign learner"}
	wantWords = []string{"same", "changed", "removed"}
)

func slots() (out []slot) {
	for _, seen := range seenWords {
		for _, want := range wantWords {
			if !strings.Contains(seen, "foreign") || want == "same" {
				out = append(out, slot{seen, want})
			}
		}
	}
	return append(out, slot{"nothing", "new"})
}

// small is a cluster of slots with the names a, b, c.
type small []slot

func (c small) name(i int) string { return string(rune('a' + i)) }

// build returns the arguments of [PlanNodes] for it.
func (c small) build() (wanted map[string]NodeValues, nodes []Node, h NodesHealth) {
	wanted, h.Observed = map[string]NodeValues{}, true
	var foreign []NodeHealth
	for i, s := range c {
		name := c.name(i)
		n := Node{ID: name + "2", Name: name, NodeValues: NodeValues{Version: "3.6.1", Revision: map[string]string{"image": "1"}}}
		e := NodeHealth{Node: n.ID, Name: name, Member: MemberID(i + 1), Status: NodeVoter, Voter: true, Alive: true, Own: true, Version: "3.6.1"}
		dead := func(status NodeStatus) { e.Status, e.Alive, e.Version = status, false, "" }
		switch s.seen {
		case "dead", "dead foreign":
			dead(NodeUnreachable)
		case "heard":
			dead(NodeUnreachable)
			e.Heard = true
		case "failed":
			dead(NodeFailed)
		case "replacing":
			n.Replaces = []string{name + "1"}
			e = NodeHealth{Node: n.ID, Name: name, Status: NodeReplacing}
		case "old", "former":
			if s.seen == "former" {
				former := n
				former.ID, n.Former = name+"1", &former
			}
			n.Replaces = []string{name + "1"}
			e.Status, e.Own = NodeReplacing, false
		case "added":
			dead(NodeAdded)
			e.Voter, e.Own = false, false
		case "learner", "foreign learner":
			e.Status, e.Voter = NodeLearner, false
		case "dead learner":
			dead(NodeUnreachable)
			e.Voter = false
		case "pending":
			e = NodeHealth{Node: n.ID, Name: name, Status: NodePending}
		case "deviating":
			e.Version = "3.6.2"
		case "stale":
			n.Replaces = []string{name + "1"}
			e.Node = name + "1"
		}
		switch {
		case strings.Contains(s.seen, "foreign"):
			e.Node, e.Own = "", false
			foreign = append(foreign, e)
			continue
		case s.want != "new":
			nodes = append(nodes, n)
			h.Members = append(h.Members, e)
		}
		want := n.NodeValues
		if s.want == "changed" {
			want.Revision = map[string]string{"image": "2"}
		}
		if s.want != "removed" {
			wanted[name] = want
		}
	}
	h.Members = append(h.Members, foreign...)
	return wanted, nodes, h
}

func (c small) count(is func(slot) bool) (n int) {
	for _, s := range c {
		if is(s) {
			n++
		}
	}
	return n
}

func isOneOf(word string, words ...string) bool { return slices.Contains(words, word) }

// The naive statement: what each word means, and nothing else.
func (s slot) votes() bool {
	return isOneOf(s.seen, "voter", "dead", "heard", "failed", "old", "former", "deviating", "stale", "foreign", "dead foreign")
}
func (s slot) lives() bool {
	return isOneOf(s.seen, "voter", "old", "former", "learner", "deviating", "stale", "foreign", "foreign learner")
}

func (s slot) isDead() bool { return !s.lives() && s.seen != "heard" }

// mayGo says whether the machine of the slot may be replaced, by the rules as simply as
// possible.
func (c small) mayGo(i int) bool {
	for j, s := range c {
		if j != i && s.seen == "stale" {
			return false // nothing is known since
		}
	}
	stay := 0
	for j, s := range c {
		if j != i && s.votes() && s.lives() && s.want != "removed" {
			stay++
		}
	}
	if 2*stay <= c.count(slot.votes) {
		return false // the machine of i is gone, and the rest does not decide
	}
	if c[i].isDead() {
		return true
	}
	for j, s := range c {
		if j != i && (s.votes() && !s.lives() || isOneOf(s.seen, "added", "replacing", "old", "former", "deviating")) {
			return false
		}
	}
	return true
}

// takenBack returns the cluster without the rebuilds that nobody followed and that may not go on.
func (c small) takenBack() small {
	out := slices.Clone(c)
	for i, s := range c {
		stale := slices.ContainsFunc(c, func(o slot) bool { return o.seen == "stale" })
		if s.seen == "former" && s.want != "removed" && !stale && !c.mayGo(i) {
			out[i].seen = "voter"
		}
	}
	return out
}

// naive returns the slot that is rebuilt, or -1.
func (c small) naive() int {
	for _, first := range [][]string{{"replacing", "old", "former", "stale"}, {"failed"}, {"dead", "heard", "added", "dead learner", "pending"}, {"deviating"}, {"voter", "learner"}} {
		for i, s := range c {
			due := s.want == "changed" || s.seen == "failed" && s.want != "removed"
			if isOneOf(s.seen, first...) && due && c.mayGo(i) {
				return i
			}
		}
	}
	return -1
}

// check compares the decision with the naive one, and holds it to what the plan
// promises whatever the rules are.
func (c small) check(t *testing.T) {
	wanted, nodes, h := c.build()
	p := PlanNodes(wanted, nodes, h)
	want, now := "", c.takenBack()
	if i := now.naive(); i >= 0 {
		want = c.name(i)
	}
	if p.Rebuilt != want {
		t.Fatalf("%v: %q is rebuilt, not %q (%d %v)", c, p.Rebuilt, want, p.Reason, p.Others)
	}
	rebuilt := 0
	for i, s := range now {
		name, id := c.name(i), c.name(i)+"2"
		back := s.seen != c[i].seen
		if back {
			id = name + "1"
		}
		if slices.Contains(p.TakenBack, name) != back {
			t.Fatalf("%v: taken back are %v", c, p.TakenBack)
		}
		got, there := p.Nodes[name]
		foreign := strings.Contains(s.seen, "foreign")
		if there != (s.want != "removed" && !foreign) {
			t.Fatalf("%v: %s is there: %t", c, name, there)
		}
		switch image := got.Revision["image"]; {
		case !there:
		case s.want == "new" && got.Action != NodeNew, s.want != "new" && got.Action == NodeNew:
			t.Fatalf("%v: %s has action %d", c, name, got.Action)
		case got.Action == NodeRebuilt:
			rebuilt++
			if left := s.seen != "pending"; left != slices.Contains(got.Replaces, id) {
				t.Fatalf("%v: %s replaces %v", c, name, got.Replaces)
			}
			if s.want == "changed" && image != "2" {
				t.Fatalf("%v: %s gets image %s", c, name, image)
			}
		case got.Action == NodeKept && image != "1":
			t.Fatalf("%v: %s changes without a rebuild", c, name)
		}
		waits := s.want == "changed" && name != p.Rebuilt || s.seen == "failed" && s.want == "same" && name != p.Rebuilt
		if slices.Contains(p.Pending, name) != waits {
			t.Fatalf("%v: pending are %v", c, p.Pending)
		}
	}
	if rebuilt > 1 || (rebuilt == 1) != (p.Reason == NodesNext) || (rebuilt == 0 && len(p.Pending) == 0) != (p.Reason == NodesDone) {
		t.Fatalf("%v: %d are rebuilt, and the reason is %d", c, rebuilt, p.Reason)
	}
	now.checkUnsaved(t, p, wanted, nodes, h)
	h.Observed = false
	if p := PlanNodes(wanted, nodes, h); p.Rebuilt != "" || len(p.Nodes) != len(wanted) {
		t.Fatalf("%v: without an observation %q is rebuilt", c, p.Rebuilt)
	}
}

// checkUnsaved checks that without a snapshot what is dead is rebuilt as with one, and
// nothing that lives. p is the plan with one.
func (c small) checkUnsaved(t *testing.T, p NodesPlan, wanted map[string]NodeValues, nodes []Node, h NodesHealth) {
	if len(c) > 3 {
		return // for the time that it takes
	}
	nodes = slices.Clone(nodes)
	for i := range nodes {
		nodes[i].Unsaved = true
	}
	without := PlanNodes(wanted, nodes, h)
	lives := func(name string) bool { return name != "" && !c[name[0]-'a'].isDead() }
	if lives(p.Rebuilt) && lives(without.Rebuilt) || !lives(p.Rebuilt) && without.Rebuilt != p.Rebuilt || !slices.Equal(p.TakenBack, without.TakenBack) {
		t.Fatalf("%v: without a snapshot %q is rebuilt in place of %q, and %v are taken back", c, without.Rebuilt, p.Rebuilt, without.TakenBack)
	}
}

// TestPlanNodesNaive compares both statements over every cluster of up to four slots,
// in two orders of the names.
func TestPlanNodesNaive(t *testing.T) {
	checkSmall(t, slots(), 1, 4)
}

// TestPlanNodesNaiveOfFive does the same for five slots, of the words that decide.
func TestPlanNodesNaiveOfFive(t *testing.T) {
	words := []slot{{"voter", "same"}, {"voter", "changed"}, {"voter", "removed"}, {"dead", "same"}, {"dead", "changed"}, {"dead", "removed"},
		{"failed", "same"}, {"failed", "changed"}, {"replacing", "changed"}, {"replacing", "same"}, {"old", "changed"}, {"deviating", "same"}, {"foreign", "same"}, {"dead foreign", "same"}}
	checkSmall(t, words, 5, 5)
}

// checkSmall checks every cluster of so many of the slots, in two orders of the names.
func checkSmall(t *testing.T, of []slot, least, most int) {
	n := 0
	var fill func(c small, from int)
	fill = func(c small, from int) {
		if len(c) >= least {
			c.check(t)
			r := slices.Clone(c)
			slices.Reverse(r)
			r.check(t)
			n++
		}
		for i := from; i < len(of) && len(c) < most; i++ {
			fill(append(c, of[i]), i)
		}
	}
	fill(nil, 0)
	t.Logf("%d clusters", n)
}
