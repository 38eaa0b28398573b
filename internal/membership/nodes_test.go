// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
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

// TestPlanNodes has the days that must be right, by name.
func TestPlanNodes(t *testing.T) {
	for _, c := range []struct {
		day, cluster, rebuilt string
		reason                NodesReason
		others, pending       []string
	}{
		{day: "nothing to do", cluster: "voter, voter, voter"},
		{day: "a new image", cluster: "voter changed, voter changed, voter changed", rebuilt: "a", reason: NodesNext, pending: []string{"b", "c"}},
		{day: "one voter", cluster: "voter changed", reason: NodesTooFew, pending: []string{"a"}},
		{day: "two voters", cluster: "voter changed, voter changed", reason: NodesTooFew, pending: []string{"a", "b"}},
		{day: "two voters, one of them dead", cluster: "voter, dead changed", reason: NodesBelowQuorum, pending: []string{"b"}},
		{day: "two failed of five", cluster: "voter, failed, voter, failed, voter", rebuilt: "b", reason: NodesNext, pending: []string{"d"}},
		{day: "two failed of five, the first on its way", cluster: "voter, replacing, voter, failed, voter", rebuilt: "d", reason: NodesNext},
		{day: "failed before the rest", cluster: "voter changed, voter changed, failed changed", rebuilt: "c", reason: NodesNext, pending: []string{"a", "b"}},
		{day: "a dead one without a time", cluster: "voter changed, voter changed, dead", reason: NodesBelowQuorum, pending: []string{"a", "b"}},
		{day: "a dead one of five", cluster: "voter changed, voter, voter, voter, dead", reason: NodesUnhealthy, others: []string{"e"}, pending: []string{"a"}},
		{day: "one on its way", cluster: "replacing, voter changed, voter changed, voter", reason: NodesOnTheWay, others: []string{"a"}, pending: []string{"b", "c"}},
		{day: "one on its way that does not boot, repaired", cluster: "voter changed, replacing changed, voter changed", rebuilt: "b", reason: NodesNext, pending: []string{"a", "c"}},
		{day: "withdrawn after -target of the cluster", cluster: "voter, old changed, voter", rebuilt: "b", reason: NodesNext},
		{day: "withdrawn after -target, another one dead", cluster: "dead, old changed, voter", reason: NodesBelowQuorum, pending: []string{"b"}},
		{day: "removed and rebuilt together, of five", cluster: "voter changed, voter removed, voter, voter, voter", rebuilt: "a", reason: NodesNext},
		{day: "removed and rebuilt together, of three", cluster: "voter changed, voter removed, voter", reason: NodesBelowQuorum, pending: []string{"a"}},
		{day: "a dead voter of four removed, another rebuilt", cluster: "voter changed, dead removed, voter, voter, voter", reason: NodesUnhealthy, others: []string{"b"}, pending: []string{"a"}},
		{day: "a foreign voter is down", cluster: "voter changed, voter, voter, voter, dead foreign", reason: NodesUnhealthy, others: []string{"e"}, pending: []string{"a"}},
		{day: "a name that never came up", cluster: "voter changed, voter, voter, pending", rebuilt: "a", reason: NodesNext},
		{day: "a learner that never started", cluster: "voter changed, voter, voter, added", reason: NodesUnhealthy, others: []string{"d"}, pending: []string{"a"}},
		{day: "a dead standby learner", cluster: "voter changed, voter, voter, dead learner", rebuilt: "a", reason: NodesNext},
		{day: "another version, to change", cluster: "voter changed, deviating changed, voter changed", rebuilt: "b", reason: NodesNext, pending: []string{"a", "c"}},
		{day: "another version, by the image", cluster: "voter changed, deviating, voter", reason: NodesDeviate, others: []string{"b"}, pending: []string{"a"}},
		{day: "not refreshed since", cluster: "voter changed, stale, voter", reason: NodesUnobserved, others: []string{"b"}, pending: []string{"a"}},
		{day: "growth and a roll", cluster: "voter changed, voter, voter, nothing new", rebuilt: "a", reason: NodesNext},
	} {
		wanted, nodes, h := parseSmall(c.cluster).build()
		p := PlanNodes(wanted, nodes, h)
		if p.Rebuilt != c.rebuilt || p.Reason != c.reason || !slices.Equal(p.Others, c.others) || !slices.Equal(p.Pending, c.pending) {
			t.Errorf("%s: rebuilds %q, pending %v, because of %d %v; want %q, %v, %d %v", c.day, p.Rebuilt, p.Pending, p.Reason, p.Others, c.rebuilt, c.pending, c.reason, c.others)
		}
	}
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

// A node that took the place of others has nothing left of them. A node that never
// did has. Of a name that never had a member, nothing is left.
func TestReplaces(t *testing.T) {
	for seen, want := range map[string]string{"voter": "[a2]", "failed": "[a2]", "old": "[a1 a2]", "replacing": "[a1 a2]", "stale": "[a1 a2]", "pending": "[]"} {
		c := small{{seen, "changed"}, {"voter", "same"}, {"voter", "same"}, {"voter", "same"}}
		wanted, nodes, h := c.build()
		if p := PlanNodes(wanted, nodes, h); p.Rebuilt != "a" || fmt.Sprint(p.Nodes["a"].Replaces) != want {
			t.Errorf("%s: %q replaces %v, not %s", seen, p.Rebuilt, p.Nodes["a"].Replaces, want)
		}
	}
}

// The versions that the refresh stored decide which version may be next.
func TestPlanNodesVersion(t *testing.T) {
	for _, c := range []struct {
		running, version string
		want             UpgradeCode
		first            string
	}{
		{"3.6.1 3.6.1 3.6.1", "3.6.1", UpgradeFine, ""},
		{"3.6.1 3.6.1 3.6.1", "3.7.0", UpgradeFine, ""},
		{"3.5.1 3.5.1 3.5.1", "3.7.0", UpgradeSkips, ""},
		{"3.6.1 3.6.1 3.6.1", "3.5.1", UpgradeBack, ""},
		{"3.7.1 3.6.1 3.6.1", "3.6.1", UpgradeFine, ""}, // withdrawn
		{"3.6.1 3.7.1 3.7.1", "3.6.1", UpgradeFine, ""},
		{"3.7.1 3.7.1 3.7.1", "3.6.1", UpgradeBack, ""},
		{"- - -", "3.5.1", UpgradeFine, ""},
		{"3.5.1 3.5.1 3.5.1", "3.6.1", UpgradeFromBadRelease, ""},
		{"3.6.1! 3.6.1! 3.6.1!", "3.6.2", UpgradeFine, "[a b c]"}, // the first version
		{"3.6.1! 3.6.1! 3.6.1!", "3.6.1", UpgradeFine, "[]"},
	} {
		wanted, nodes, h := small{{"voter", "same"}, {"voter", "same"}, {"voter", "same"}}.build()
		for i, v := range strings.Fields(c.running) {
			v, first := strings.CutSuffix(v, "!")
			v = strings.Trim(v, "-")
			h.Members[i].Version, nodes[i].Version = v, v
			if first {
				nodes[i].Version = ""
			}
			w := wanted[nodes[i].Name]
			w.Version = c.version
			wanted[nodes[i].Name] = w
		}
		p := PlanNodes(wanted, nodes, h)
		if p.Upgrade != c.want || c.first != "" && fmt.Sprint(p.FirstVersion) != c.first {
			t.Errorf("%s to %s: %d %+v, first %v", c.running, c.version, p.Upgrade, p.Step, p.FirstVersion)
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
