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
)

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
			w := etcdtest.NewWriter(t, cfg, etcdtest.WriterOptions{Interval: 4 * writeInterval})
			before := f.Members()
			begin := time.Now()
			f.Image = "two"
			for _, node := range []string{"a", "b", "c"}[:n] {
				replace(t, f, node)
			}
			took[name] = append(took[name], seconds(time.Since(begin)))
			pause(t, time.Second)
			w.Stop()
			gaps[name] = append(gaps[name], 1000*seconds(w.LongestGapSince(begin).Duration()))
			failures, last := w.Failures()
			failed[name] = append(failed[name], float64(failures))
			t.Logf("%v; longest gap %v; %d calls failed, the last with: %v", time.Since(begin).Round(time.Millisecond), w.LongestGapSince(begin), failures, last)
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
