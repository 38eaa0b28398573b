// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

import "testing"

// TestJudgeNodes judges the node m1 in a cluster of three, whose other members vote.
func TestJudgeNodes(t *testing.T) {
	url := []string{"http://10.0.0.1:2380"}
	rebuilt := []string{"before"}
	turn := []Turn{{Name: "m1", Voters: 3}}
	for _, c := range []struct {
		day      string
		state    mind
		replaces []string
		owned    Ownership
		open     []Turn
		gone     bool
		want     NodeStatus
		own      bool
	}{
		{day: "a voter", state: vAlive, want: NodeVoter, own: true},
		{day: "a voter that does not answer", state: vSilent, want: NodeUnreachable, own: true},
		{day: "an initial voter that never started", state: vUnstarted, want: NodeAdded},
		{day: "a learner", state: lAlive, want: NodeLearner, own: true},
		{day: "a learner that never started", state: lUnstarted, want: NodeAdded},
		{day: "not in the list", gone: true, want: NodePending},
		{day: "removed to be added again", gone: true, open: turn, want: NodeReplacing},
		{day: "added again, and does not vote", state: lAlive, open: turn, want: NodeReplacing, own: true},
		{day: "its removal was interrupted, and then it died", state: vSilent, open: turn, want: NodeUnreachable, own: true},
		{day: "the turn of another", state: vAlive, open: []Turn{{Name: "m2"}}, want: NodeVoter, own: true},
		{day: "rebuilt, the member before serves", state: vAlive, replaces: rebuilt, want: NodeReplacing},
		{day: "rebuilt, the member before is dead", state: vSilent, replaces: rebuilt, want: NodeReplacing},
		{day: "rebuilt, nothing in the list", gone: true, replaces: rebuilt, want: NodeReplacing},
		{day: "rebuilt, added, not started", state: lUnstarted, replaces: rebuilt, owned: Ownership{Recorded: true, ID: 1}, want: NodeReplacing},
		{day: "rebuilt, and votes", state: vAlive, replaces: rebuilt, owned: Ownership{Recorded: true, ID: 1}, want: NodeVoter, own: true},
		{day: "rebuilt, a standby learner", state: lAlive, replaces: rebuilt, owned: Ownership{Recorded: true, ID: 1}, want: NodeLearner, own: true},
	} {
		w := world{members: []mind{c.state, vAlive, vAlive}, leader: 1}
		s := w.snapshot()
		if c.gone {
			s.Members = s.Members[1:]
		}
		n := Node{ID: "1", Name: "m1", NodeValues: NodeValues{PeerURLs: url}, Replaces: c.replaces}
		h := JudgeNodes(s, map[string]Ownership{"1": c.owned}, c.open, []Node{n})
		e := h.Members[0]
		if !h.Observed || e.Status != c.want || e.Own != c.own || e.Node != "1" || len(h.Members) != 3 {
			t.Errorf("%s: %+v", c.day, h)
		}
	}
}

// Without a quorum, nothing may follow from what was seen.
func TestJudgeNodesWithoutQuorum(t *testing.T) {
	w := world{members: []mind{vAlive, vSilent, vSilent}, leader: 0}
	if h := JudgeNodes(w.snapshot(), nil, nil, []Node{{ID: "1", Name: "m1"}}); h.Observed || h.Members[0].Status != NodeUnreachable && h.Members[0].Status != NodeVoter {
		t.Errorf("%+v", h)
	}
}

// A member is unmanaged if nothing was on record for it twice in a row.
func TestUnmanaged(t *testing.T) {
	one := func(node string, id MemberID, recorded bool) NodesHealth {
		return NodesHealth{Members: []NodeHealth{{Node: node, Name: "a", Member: id, Recorded: recorded}}}
	}
	for name, c := range map[string]struct {
		now, before NodesHealth
		want        int
		gone        bool // named if its name leaves the configuration
	}{
		"twice":            {one("n", 1, false), one("n", 1, false), 1, true},
		"first refresh":    {one("n", 1, false), NodesHealth{}, 0, true},
		"recorded since":   {one("n", 1, true), one("n", 1, false), 0, false},
		"record is gone":   {one("n", 1, false), one("n", 1, true), 0, true},
		"not in the list":  {one("n", 0, false), one("n", 0, false), 0, false},
		"another member":   {one("n", 2, false), one("n", 1, false), 0, true},
		"a rebuilt node":   {one("m", 1, false), one("n", 1, false), 0, true},
		"no node has this": {one("", 1, false), one("", 1, false), 0, false},
	} {
		if got := c.now.Unmanaged(c.before); len(got) != c.want {
			t.Errorf("%s: %v", name, got)
		}
		if got := c.now.Unclaimed(nil); (len(got) == 1) != c.gone || len(c.now.Unclaimed(map[string]NodeValues{"a": {}})) > 0 {
			t.Errorf("%s, gone from the configuration: %v", name, got)
		}
	}
}
