// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package bench_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/bench"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
)

// writeInterval is the pause between two writes through the same one of three
// members: the shortest gap that can be measured.
const writeInterval = 5 * time.Millisecond

// replacing is a way to remove the leader and to add another member.
type replacing struct {
	name   string
	remove func(*testing.T, *etcdtest.Cluster, *etcdtest.Process)
	join   func(*testing.T, *etcdtest.Cluster, *etcdtest.Process)
}

// measureGap measures the longest time without an acknowledged write while the
// leader is removed, and while it is replaced.
func measureGap(t *testing.T, c campaign) []bench.Row {
	removed, replaced := map[string]bench.Sample{}, map[string]bench.Sample{}
	failed := map[string]bench.Sample{}
	var sides []side
	for _, r := range []replacing{
		{here, engineRemoves, engineJoins},
		{"etcdctl", plainRemove, tightLoop},
	} {
		sides = append(sides, side{r.name, func(t *testing.T) {
			cl := etcdtest.Start(t, 3, etcdtest.Options{})
			pause(t, healthInterval+time.Second)
			leader := cl.Leader(t)
			w := cl.NewWriter(t, writeInterval)
			pause(t, 500*time.Millisecond)
			if gap := w.LongestGap(time.Time{}); gap.Duration() > time.Second {
				t.Fatalf("nothing has happened yet, and there is a gap: %v", gap)
			}
			from := time.Now()
			r.remove(t, cl, leader)
			cl.Untrack(leader)
			// The consequences of the removal count too: measure until writes
			// continue and there is a leader.
			cl.WaitHealthy(t)
			pause(t, 500*time.Millisecond)
			removed[r.name] = append(removed[r.name], 1000*seconds(w.LongestGap(from).Duration()))
			leader.PowerOff() // like the loss of its machine
			p := cl.NewJoiner(t, "d")
			seen := watch(t, cl.Members()[0].Client(t), p.PeerURL())
			startOnceListed(t, seen, p)
			r.join(t, cl, p)
			wait(t, "the vote", seen.voting)
			pause(t, time.Second)
			w.Stop()
			gap := w.LongestGap(from)
			replaced[r.name] = append(replaced[r.name], 1000*seconds(gap.Duration()))
			n, last := w.Failures()
			failed[r.name] = append(failed[r.name], float64(n))
			t.Logf("longest gap %v; %d writes failed, the last with: %v", gap, n, last)
			lost, err := w.Lost(within(t, limit), cl.Client(t))
			if err != nil || len(lost) > 0 {
				t.Errorf("acknowledged and lost: %d writes; %v", len(lost), err)
			}
		}})
	}
	turns(t, c.rounds(9), sides...)
	const measure = bench.LongestGap
	goal := bench.Goal{Bound: bench.Ratio, Limit: 0.1}
	return []bench.Row{
		{Measure: measure, Case: "the leader is removed", Unit: "ms", Here: removed[here], Rival: "plain member remove", Against: removed["etcdctl"], Goal: goal},
		{Measure: measure, Case: "the leader is replaced", Unit: "ms", Here: replaced[here], Rival: "member remove, member add --learner, promote", Against: replaced["etcdctl"], Goal: goal},
		{Measure: measure, Case: "failed calls of the writers", Unit: "calls", Here: failed[here], Rival: "member remove, member add --learner, promote", Against: failed["etcdctl"]},
	}
}

// engineRemoves removes a member as the provider does.
func engineRemoves(t *testing.T, c *etcdtest.Cluster, p *etcdtest.Process) {
	t.Helper()
	ctx := within(t, limit)
	e := engineFor(t, c.Endpoints())
	_, id, err := e.Cluster.Members(ctx)
	if err != nil {
		t.Fatal(err)
	}
	_, err = e.Leave(ctx, reconfigure.LeaveRequest{
		Owner: "name:" + p.Name, Name: p.Name, ID: membership.MemberID(c.MemberID(t, p)), Cluster: id, PeerURLs: []string{p.PeerURL()}, Replacement: true,
	})
	if err != nil {
		t.Fatal(err)
	}
}

// plainRemove removes a member with one command.
func plainRemove(t *testing.T, c *etcdtest.Cluster, p *etcdtest.Process) {
	t.Helper()
	if _, err := c.Etcdctl("member", "remove", fmt.Sprintf("%x", c.MemberID(t, p))); err != nil {
		t.Fatal(err)
	}
}

// measureRollout replaces every machine of a cluster of three, one after the other.
func measureRollout(t *testing.T, c campaign) []bench.Row {
	n := 1
	if c.whole {
		n = 3
	}
	took, gaps, failed, lost := map[string]bench.Sample{}, map[string]bench.Sample{}, map[string]bench.Sample{}, map[string]bench.Sample{}
	rolling := func(name string, replace func(*testing.T, *acctest.Fleet, string)) side {
		return side{name, func(t *testing.T) {
			f := acctest.NewFleet(t, acctest.FleetOptions{})
			f.Form()
			pause(t, healthInterval)
			cfg := clientv3.Config{Endpoints: []string{f.Nodes["a"].Client, f.Nodes["b"].Client, f.Nodes["c"].Client}, DialTimeout: 2 * time.Second, Logger: zap.NewNop()}
			w := etcdtest.NewWriter(t, cfg, 4*writeInterval)
			before := f.Members()
			begin := time.Now()
			f.Image = "two"
			for _, node := range []string{"a", "b", "c"}[:n] {
				replace(t, f, node)
			}
			took[name] = append(took[name], seconds(time.Since(begin)))
			pause(t, time.Second)
			w.Stop()
			gaps[name] = append(gaps[name], 1000*seconds(w.LongestGap(begin).Duration()))
			failures, last := w.Failures()
			failed[name] = append(failed[name], float64(failures))
			t.Logf("%v; longest gap %v; %d calls failed, the last with: %v", time.Since(begin).Round(time.Millisecond), w.LongestGap(begin), failures, last)
			gone, err := w.Lost(within(t, limit), f.Client())
			if err != nil {
				t.Fatal(err)
			}
			lost[name] = append(lost[name], float64(len(gone)))
			f.MustVote("a", "b", "c")
			after := map[uint64]bool{}
			for _, m := range f.Members() {
				after[m.ID] = true
			}
			for _, m := range before {
				if replaced := !after[m.ID]; replaced != (m.Name[0] < 'a'+byte(n)) {
					t.Errorf("%s was replaced: %v", m.Name, replaced)
				}
			}
		}}
	}
	turns(t, c.rounds(7), rolling(here, func(_ *testing.T, f *acctest.Fleet, _ string) { f.Apply().MustSucceed() }), rolling("by hand", replaceByHand))
	measure := bench.Replacement(n)
	const rival = "by hand with etcdctl: remove, machine, add --learner, promote, health"
	return []bench.Row{
		{Measure: measure, Case: "total time", Unit: "s", Here: took[here], Rival: rival, Against: took["by hand"], Goal: bench.Goal{Bound: bench.Ratio, Limit: 1}},
		{Measure: measure, Case: "failed calls of the writers", Unit: "calls", Here: failed[here], Rival: rival, Against: failed["by hand"], Goal: bench.Goal{Bound: bench.Below}},
		{Measure: measure, Case: bench.LongestGap, Unit: "ms", Here: gaps[here], Rival: rival, Against: gaps["by hand"], Goal: bench.Goal{Bound: bench.Below}},
		{Measure: measure, Case: "acknowledged writes lost", Unit: "writes", Here: lost[here], Rival: rival, Against: lost["by hand"], Goal: bench.Goal{Bound: bench.Value, Limit: 0}},
	}
}

// replaceByHand follows the manual's procedure for one member: remove it,
// rebuild its machine, add it as a learner, start it with the output of
// etcdctl, promote it, and wait until all members are healthy.
func replaceByHand(t *testing.T, f *acctest.Fleet, node string) {
	etcdctl := etcdctlOf(t, f)
	id := uint64(0)
	for _, m := range f.Members() {
		if m.Name == node {
			id = m.ID
		}
	}
	// A retry after the member was removed would never succeed.
	until(t, 20*time.Millisecond, func(context.Context) error {
		_, err := etcdctl("member", "remove", fmt.Sprintf("%x", id))
		for _, m := range f.Members() {
			if m.ID == id {
				return err
			}
		}
		return nil
	})
	dir := filepath.Join(f.Machines, node)
	env, err := os.ReadFile(filepath.Join(dir, "etcd.env"))
	if err != nil {
		t.Fatal(err)
	}
	machineScript(t, "down", dir)
	printed, added := etcdctlAdds(t, etcdctl, node, f.Nodes[node].Peer)
	machine := string(env) + "\nETCD_INITIAL_CLUSTER=" + printedValue(t, printed, "ETCD_INITIAL_CLUSTER") + "\nETCD_INITIAL_CLUSTER_STATE=existing\n"
	machineScript(t, "up", dir, "ETCD_BIN="+f.Nodes[node].Etcd, "MACHINE_ENV="+machine, "MACHINE_JOIN=")
	etcdctlPromotes(t, etcdctl, added)
	until(t, 20*time.Millisecond, func(context.Context) error { _, err := etcdctl("endpoint", "health"); return err })
}
