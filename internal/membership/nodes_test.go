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

	"github.com/cockroachdb/datadriven"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/must"
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
	NodesURLsPending: "peer URLs pending", NodesOnTheWay: "on the way", NodesDeviate: "another version", NodesVersionUnknown: "version unknown", NodesUnsaved: "unsaved",
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
		out = append(out, fmt.Sprintf("%s, first version of %v", upgradeCodes[p.Upgrade.Code], p.FirstVersion))
	}
	return strings.Join(out, "\n")
}

// becomes shows the values that a node keeps, whether it is rebuilt, and what it waits for. The
// lines are the node, the values that are wanted, and the health of its member if it is known.
func becomes(t *testing.T, td *datadriven.TestData) string {
	var n Node
	var wanted NodeValues
	var health NodeHealth
	for i, line := range strings.Split(strings.TrimSpace(td.Input), "\n") {
		must.Succeed(t, json.Unmarshal([]byte(line), []any{&n, &wanted, &health}[i]))
	}
	kept, rebuild, wait := n.becomes(wanted, health)
	text, err := json.Marshal(kept)
	must.Succeed(t, err)
	return fmt.Sprintf("keeps %s rebuild=%t wait=%s", text, rebuild, reasons[wait])
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

// nodeStatus shows what the node m1 is in a cluster of three, whose other members vote. In each line
// are the state of its member, and what else is known: the member is not in the list ("gone"),
// the node replaces another one ("rebuilt"), has a record, or a replacement is open.
func nodeStatus(t *testing.T, td *datadriven.TestData) string {
	var out []string
	for line := range strings.Lines(td.Input) {
		state, known, _ := strings.Cut(strings.TrimSpace(line), ", ")
		s := world{members: []mind{mind(slices.Index(mindNames[:], state)), vAlive, vAlive}, leader: 1}.snapshot()
		n, owned, open := Node{ID: "1", Name: "m1", NodeValues: NodeValues{PeerURLs: []string{"http://10.0.0.1:2380"}}}, Ownership{}, []Turn(nil)
		for _, word := range strings.Split(known, ", ") {
			switch name, of, _ := strings.Cut(word, " of "); name {
			case "gone":
				s.Members = s.Members[1:]
			case "rebuilt":
				n.Replaces = []string{"before"}
			case "recorded":
				owned = Ownership{Recorded: true, ID: 1}
			case "turn":
				open = []Turn{{Name: of, Voters: 3}}
			}
		}
		h := JudgeNodes(s, map[string]Ownership{"1": owned}, open, []Node{n})
		e := h.Members[0]
		if !h.Observed || e.Node != "1" || len(h.Members) != 3 {
			t.Errorf("%s: %+v", line, h)
		}
		out = append(out, fmt.Sprint(e.Status, map[bool]string{true: ", of its own member"}[e.Own]))
	}
	return strings.Join(out, "\n")
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

// What etcd's upgrade guides ask for, at every patch level of a member that stays behind.
func TestUpgradeFromEveryPatch(t *testing.T) {
	for patch := range 100 {
		want5, want6 := UpgradeLeavesV2, UpgradeFine
		switch {
		case patch < 26:
			want5 = UpgradeFromTooOld
		case patch < 32:
			want5 = UpgradeFromOlder
		}
		if patch < 11 {
			want6 = UpgradeFromTooOld
		}
		for _, tt := range []struct {
			from, beside, to string
			want             UpgradeCode
		}{
			{fmt.Sprintf("3.5.%d", patch), "3.5.99", "3.6.0", want5},
			{fmt.Sprintf("3.5.%d-rc.1", patch), "3.5.99", "v3.6.16", want5},
			{fmt.Sprintf("3.6.%d", patch), "3.6.99", "3.7.0", want6},
			{fmt.Sprintf("3.4.%d", patch), "3.4.99", "3.5.0", UpgradeFine},
			{fmt.Sprintf("3.5.%d", patch), "3.6.0", "3.6.0", UpgradeFine}, // begun
			{fmt.Sprintf("3.6.%d", patch), "3.7.0", "3.7.0", UpgradeFine},
			{fmt.Sprintf("3.5.%d", patch), "3.5.99", "3.5.35", UpgradeFine},
		} {
			s := Snapshot{Members: []Member{{ID: 1, Name: "a"}, {ID: 2, Name: "b"}}, Answers: map[MemberID]Answer{
				1: {State: Answered, MemberID: 1, Version: tt.from}, 2: {State: Answered, MemberID: 2, Version: tt.beside},
			}}
			for _, name := range []string{"a", "b", "new"} {
				if got := checkVersions(s, []VersionStep{{Name: name, To: tt.to}}).Code; got != tt.want {
					t.Errorf("%s of %s beside %s to %s: %s, want %s", name, tt.from, tt.beside, tt.to, upgradeCodes[got], upgradeCodes[tt.want])
				}
			}
		}
	}
}
