// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package bench_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/bench"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
)

// writeInterval is the pause between two writes through the same one of three
// members: the shortest gap that can be measured.
const writeInterval = 5 * time.Millisecond

// measureGap measures the longest time without an acknowledged write while the
// leader is removed, and while it is replaced.
func measureGap(t *testing.T, c campaign) []bench.Row {
	removed, replaced := map[string]bench.Sample{}, map[string]bench.Sample{}
	replacing := func(name string, remove, join func(*testing.T, *etcdtest.Cluster, *etcdtest.Process)) side {
		return side{name, func(t *testing.T) {
			cl := etcdtest.Start(t, 3, etcdtest.Options{})
			time.Sleep(healthInterval + time.Second)
			leader := cl.Leader(t)
			w := cl.NewWriter(t, writeInterval)
			time.Sleep(500 * time.Millisecond)
			from := time.Now()
			remove(t, cl, leader)
			cl.Untrack(leader)
			// The consequences of the removal count too: measure until writes
			// continue and there is a leader.
			cl.WaitHealthy(t)
			time.Sleep(500 * time.Millisecond)
			removed[name] = append(removed[name], 1000*w.LongestGap(from).Duration().Seconds())
			leader.PowerOff() // like the loss of its machine
			p := cl.NewJoiner(t, "d")
			seen := watch(t, cl.Members()[0].Client(t), p.PeerURL(), p.Start)
			join(t, cl, p)
			seen()
			time.Sleep(time.Second)
			w.Stop()
			replaced[name] = append(replaced[name], 1000*w.LongestGap(from).Duration().Seconds())
			lost, err := w.Lost(etcdtest.WaitContext(t), cl.Client(t))
			if err != nil || len(lost) > 0 {
				t.Errorf("acknowledged and lost: %d writes; %v", len(lost), err)
			}
		}}
	}
	turns(t, c.rounds(9), replacing(here, engineRemoves, engineJoins), replacing("etcdctl", plainRemove, tightLoop))
	row := func(what, rival string, of map[string]bench.Sample) bench.Row {
		return bench.Row{Measure: bench.LongestGap, Case: what, Unit: "ms", Here: of[here], Rival: rival, Against: of["etcdctl"], Goal: bench.Goal{Bound: bench.Ratio, Limit: 0.1}}
	}
	return []bench.Row{
		row("the leader is removed", "plain member remove", removed),
		row("the leader is replaced", "member remove, member add --learner, promote", replaced),
	}
}

// engineRemoves removes a member as the provider does.
func engineRemoves(t *testing.T, c *etcdtest.Cluster, p *etcdtest.Process) {
	t.Helper()
	ctx := etcdtest.WaitContext(t)
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
	n := c.rounds(3)
	took, gaps, failed, lost := map[string]bench.Sample{}, map[string]bench.Sample{}, map[string]bench.Sample{}, map[string]bench.Sample{}
	rolling := func(name string, replace func(*testing.T, *acctest.Fleet, string)) side {
		return side{name, func(t *testing.T) {
			f := acctest.NewFleet(t, acctest.FleetOptions{})
			f.Form()
			time.Sleep(healthInterval)
			w := f.Writer(4 * writeInterval)
			before := f.MemberIDs()
			begin := time.Now()
			f.Image = "two"
			for _, node := range []string{"a", "b", "c"}[:n] {
				replace(t, f, node)
			}
			took[name] = append(took[name], time.Since(begin).Seconds())
			time.Sleep(time.Second)
			w.Stop()
			gaps[name] = append(gaps[name], 1000*w.LongestGap(begin).Duration().Seconds())
			failures, _ := w.Failures()
			failed[name] = append(failed[name], float64(failures))
			gone, err := w.Lost(etcdtest.WaitContext(t), f.Client())
			if err != nil {
				t.Fatal(err)
			}
			lost[name] = append(lost[name], float64(len(gone)))
			f.MustVote()
			f.MustHaveReplaced(before, []string{"a", "b", "c"}[:n]...)
		}}
	}
	const byHand = "by hand"
	turns(t, c.rounds(7), rolling(here, func(_ *testing.T, f *acctest.Fleet, _ string) { f.Apply().MustSucceed() }), rolling(byHand, replaceByHand))
	row := func(what, unit string, of map[string]bench.Sample, bound bench.Bound, limit float64) bench.Row {
		return bench.Row{Measure: bench.Replacement(n), Case: what, Unit: unit, Here: of[here], Rival: "by hand with etcdctl: remove, machine, add --learner, promote, health", Against: of[byHand], Goal: bench.Goal{Bound: bound, Limit: limit}}
	}
	return []bench.Row{
		row("total time", "s", took, bench.Ratio, 1),
		row("failed calls of the writers", "calls", failed, bench.Ratio, 1),
		row(bench.LongestGap, "ms", gaps, bench.Ratio, 1),
		row("acknowledged writes lost", "writes", lost, bench.Value, 0),
	}
}

// replaceByHand follows the manual's procedure for one member: remove it,
// rebuild its machine, add it as a learner, start it with the initial cluster that
// etcdctl prints, promote it, and wait until all members are healthy.
func replaceByHand(t *testing.T, f *acctest.Fleet, node string) {
	var endpoints, initial []string
	for name, n := range f.Nodes {
		endpoints, initial = append(endpoints, n.Client), append(initial, name+"="+n.Peer)
	}
	var run etcdctl = func(args ...string) (string, error) {
		return etcdtest.Etcdctl(t, etcdtest.DefaultVersion, []string{"ETCDCTL_ENDPOINTS=" + strings.Join(endpoints, ",")}, args...)
	}
	id := f.MemberIDs()[node]
	// A retry after the member was removed would never succeed.
	etcdtest.Eventually(t, "the member is removed", func() error {
		_, err := run("member", "remove", fmt.Sprintf("%x", id))
		if f.MemberIDs()[node] != id {
			return nil
		}
		return errors.Join(err, errors.New("it is listed"))
	})
	dir := filepath.Join(f.Machines, node)
	env, err := os.ReadFile(filepath.Join(dir, "etcd.env"))
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("sh", f.MachineScript, "down", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	added := run.adds(t, node, f.Nodes[node].Peer)
	slices.Sort(initial)
	f.Boot(node, f.Nodes[node].Etcd, string(env)+"\nETCD_INITIAL_CLUSTER="+strings.Join(initial, ",")+"\nETCD_INITIAL_CLUSTER_STATE=existing\n", "")
	run.promotes(t, added)
	etcdtest.Eventually(t, "all members are healthy", func() error { _, err := run("endpoint", "health"); return err })
}
