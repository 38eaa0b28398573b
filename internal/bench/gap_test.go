// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package bench_test

import (
	"errors"
	"fmt"
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
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/must"
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
	must.Succeed(t, err)
	_, err = e.Remove(ctx, reconfigure.RemoveRequest{
		Owner: "name:" + p.Name, Name: p.Name, ID: membership.MemberID(c.MemberID(t, p)), Cluster: id, PeerURLs: []string{p.PeerURL()}, Replacement: true,
	})
	must.Succeed(t, err)
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
			must.Succeed(t, err)
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
	env := must.Read(t, filepath.Join(dir, "etcd.env"))
	if out, err := exec.Command("sh", f.MachineScript, "down", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	added := run.adds(t, node, f.Nodes[node].Peer)
	slices.Sort(initial)
	f.Boot(node, f.Nodes[node].Etcd, env+"\nETCD_INITIAL_CLUSTER="+strings.Join(initial, ",")+"\nETCD_INITIAL_CLUSTER_STATE=existing\n", "")
	run.promotes(t, added)
	etcdtest.Eventually(t, "all members are healthy", func() error { _, err := run("endpoint", "health"); return err })
}

const tokensText = `
resource "etcd_discovery_token" "this" {
  count = %d
  size  = 3
}
`

const dataText = `
resource "terraform_data" "this" {
  count = %d
  input = "token ${count.index}"
}
`

// builtIn is the rival of a refresh: resources of the CLI itself, which call no provider.
const builtIn = "as many terraform_data"

// measureRefresh measures the refresh of incomplete tokens, each of which sends requests.
func measureRefresh(t *testing.T, c campaign) (rows []bench.Row) {
	registry := etcdtest.Start(t, 1, etcdtest.Options{Names: []string{"registry"}})
	counts := []int{10}
	if c.whole {
		counts = []int{1, 10, 100, 1000}
	}
	for _, n := range counts {
		access := acctest.Access{Endpoints: registry.Endpoints()}
		tokens := applied(t, acctest.Required+access.ProviderConfig()+fmt.Sprintf(tokensText, n))
		took, builtInTook := c.refreshes(t, tokens, n)
		what := "1 token"
		if n > 1 {
			what = fmt.Sprintf("%d tokens", n)
		}
		rows = append(rows, refreshRow(what, took, builtInTook))
	}
	return rows
}

// measureMembers measures the refresh of a whole cluster.
func measureMembers(t *testing.T, c campaign) []bench.Row {
	n := 3
	if c.whole {
		n = 9
	}
	f := acctest.NewFleet(t, acctest.FleetOptions{Names: strings.Split("abcdefghi", "")[:n]})
	f.Form()
	took, builtInTook := c.refreshes(t, f.Workspace, n)
	return []bench.Row{refreshRow(bench.Members(n), took, builtInTook)}
}

func refreshRow(what string, took, builtInTook bench.Sample) bench.Row {
	return bench.Row{Measure: bench.Refresh, Case: what, Unit: "s", Here: took, Rival: builtIn, Against: builtInTook, Goal: bench.Goal{Bound: bench.Ratio, Limit: 1.5}}
}

// refreshes measures empty plans of a workspace and of n resources that are built in.
func (c campaign) refreshes(t *testing.T, w *acctest.Workspace, n int) (took, builtInTook bench.Sample) {
	t.Helper()
	data := applied(t, fmt.Sprintf(dataText, n))
	planned := func(w *acctest.Workspace, into *bench.Sample) func(*testing.T) {
		return func(*testing.T) {
			*into = append(*into, w.Run("plan", "-input=false", "-detailed-exitcode").MustSucceed().Took.Seconds())
		}
	}
	turns(t, c.rounds(9), side{here, planned(w, &took)}, side{builtIn, planned(data, &builtInTook)})
	return took, builtInTook
}

// applied returns a workspace with an applied configuration.
func applied(t *testing.T, text string) *acctest.Workspace {
	t.Helper()
	w := acctest.NewWorkspace(t, acctest.WorkspaceOptions{})
	w.Write("main.tf", text)
	w.Apply().MustSucceed()
	return w
}
