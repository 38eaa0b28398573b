// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// parseSmall reads "voter, dead changed": slots with "same" left out.
func parseSmall(s string) (c small) {
	for _, one := range strings.Split(s, ", ") {
		it := slot{one, "same"}
		for _, want := range append(wantWords, "new") {
			if before, ok := strings.CutSuffix(one, " "+want); ok {
				it = slot{before, want}
			}
		}
		c = append(c, it)
	}
	return c
}

// reasons are the words for [NodesReason].
var reasons = [...]string{
	NodesDone: "done", NodesNext: "next", NodesUnobserved: "not observed", NodesTooFew: "too few", NodesBelowQuorum: "below quorum", NodesUnhealthy: "unhealthy",
	NodesURLsPending: "peer URLs pending", NodesOnTheWay: "on the way", NodesDeviate: "another version", NodesVersionUnknown: "version unknown",
}

// planNodes shows what the plan of each cluster in the input rebuilds, and what waits.
func planNodes(td *datadriven.TestData) string {
	var out []string
	for line := range strings.Lines(td.Input) {
		p := PlanNodes(parseSmall(strings.TrimSpace(line)).build())
		said := fmt.Sprintf("%s others=%v pending=%v", reasons[p.Reason], p.Others, p.Pending)
		if p.Rebuilt != "" {
			said = fmt.Sprintf("rebuilds %s, replaces=%v pending=%v", p.Rebuilt, p.Nodes[p.Rebuilt].Replaces, p.Pending)
		}
		out = append(out, said)
	}
	return strings.Join(out, "\n")
}

// upgraded shows what is said of a step of three voters to the version at the end of each
// line: the versions that the refresh stored decide. "!" marks nodes without a version.
func upgraded(td *datadriven.TestData) string {
	var out []string
	for line := range strings.Lines(td.Input) {
		f := strings.Fields(line)
		wanted, nodes, h := parseSmall("voter, voter, voter").build()
		for i := range nodes {
			v, first := strings.CutSuffix(strings.Trim(f[i], "-"), "!")
			h.Members[i].Version, nodes[i].Version = v, v
			if first {
				nodes[i].Version = ""
			}
			w := wanted[nodes[i].Name]
			w.Version = f[3]
			wanted[nodes[i].Name] = w
		}
		p := PlanNodes(wanted, nodes, h)
		out = append(out, fmt.Sprintf("%s, first version of %v", upgradeCodes[p.Upgrade], p.FirstVersion))
	}
	return strings.Join(out, "\n")
}

// A value that says nothing about the machine changes without a rebuild.
func TestNodeBecomes(t *testing.T) {
	type m = map[string]string
	alive := NodeHealth{Node: "1", Name: "a", Status: NodeVoter, Version: "3.6.1"}
	for _, c := range []struct {
		day        string
		node       Node
		want, kept NodeValues
		health     NodeHealth
		rebuild    bool
		wait       NodesReason
	}{
		{day: "a key more", node: Node{NodeValues: NodeValues{Revision: m{"a": "1"}}}, want: NodeValues{Revision: m{"a": "1", "b": "2"}}, kept: NodeValues{Revision: m{"a": "1", "b": "2"}}},
		{day: "a key less", node: Node{NodeValues: NodeValues{Revision: m{"a": "1", "b": "2"}}}, want: NodeValues{Revision: m{"b": "2"}}, kept: NodeValues{Revision: m{"b": "2"}}},
		{day: "a first revision", want: NodeValues{Revision: m{"a": "1"}}, kept: NodeValues{Revision: m{"a": "1"}}},
		{day: "no revision any more", node: Node{NodeValues: NodeValues{Revision: m{"a": "1"}}}},
		{day: "another value and a key more", node: Node{NodeValues: NodeValues{Revision: m{"a": "1"}}}, want: NodeValues{Revision: m{"a": "2", "b": "2"}}, kept: NodeValues{Revision: m{"a": "1", "b": "2"}}, rebuild: true},
		{day: "another address", node: Node{NodeValues: NodeValues{PeerURLs: []string{"http://a:1"}}}, want: NodeValues{PeerURLs: []string{"http://a:2"}}, kept: NodeValues{PeerURLs: []string{"http://a:1"}}, rebuild: true},
		{day: "other client URLs", node: Node{NodeValues: NodeValues{ClientURLs: []string{"http://a:1"}}}, want: NodeValues{ClientURLs: []string{"http://a:2"}}, kept: NodeValues{ClientURLs: []string{"http://a:1"}}, rebuild: true},
		{day: "the same address", node: Node{NodeValues: NodeValues{PeerURLs: []string{"http://a:1"}}}, want: NodeValues{PeerURLs: []string{"HTTP://A:1/"}}, kept: NodeValues{PeerURLs: []string{"http://a:1"}}},
		{day: "an address, from the machine before", want: NodeValues{PeerURLs: []string{"http://a:2"}}, rebuild: true},
		{day: "imported, the machine knows", node: Node{NodeValues: NodeValues{PeerURLs: []string{"http://a:1"}}, Imported: true}},
		{day: "rebuild", want: NodeValues{Rebuild: "1"}, rebuild: true},
		{day: "rebuilt", node: Node{NodeValues: NodeValues{Rebuild: "1"}}, want: NodeValues{Rebuild: "1"}, kept: NodeValues{Rebuild: "1"}},
		{day: "rebuild dropped", node: Node{NodeValues: NodeValues{Rebuild: "1"}}},
		{day: "first version", want: NodeValues{Version: "3.6.1"}, kept: NodeValues{Version: "3.6.1"}, health: alive},
		{day: "another first version", want: NodeValues{Version: "3.6.2"}, health: alive, wait: NodesDeviate},
		{day: "first version of a silent member", want: NodeValues{Version: "3.6.2"}, wait: NodesVersionUnknown},
		{day: "another version", node: Node{NodeValues: NodeValues{Version: "3.6.1"}}, want: NodeValues{Version: "3.6.2"}, kept: NodeValues{Version: "3.6.1"}, rebuild: true},
		{day: "failed", node: Node{ID: "1"}, health: NodeHealth{Node: "1", Status: NodeFailed}, rebuild: true},
		{day: "the one before failed", node: Node{ID: "2"}, health: NodeHealth{Node: "1", Status: NodeFailed}},
	} {
		kept, rebuild, wait := c.node.becomes(c.want, c.health)
		if !reflect.DeepEqual(kept, c.kept) || rebuild != c.rebuild || wait != c.wait {
			t.Errorf("%s: %+v %t %d", c.day, kept, rebuild, wait)
		}
	}
}

// Health goes through private state unchanged.
func TestNodesHealthIsStored(t *testing.T) {
	_, _, h := parseSmall("voter, dead, deviating, dead foreign").build()
	data, err := json.Marshal(h)
	var back NodesHealth
	if err != nil || json.Unmarshal(data, &back) != nil || !reflect.DeepEqual(h, back) {
		t.Errorf("%s becomes %+v, not %+v", data, back, h)
	}
}
