// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package bench_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/acctest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/bench"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/must"
)

// document returns the committed BENCHMARKS.md.
func document(t *testing.T) string {
	t.Helper()
	return must.Read(t, "../../../BENCHMARKS.md")
}

// The four numbers match the tables below them, and each part of the campaign has a table.
func TestTheDocumentFollowsFromItsTables(t *testing.T) {
	t.Parallel()
	text := document(t)
	for _, m := range measures() {
		if _, err := bench.Renew(text, m.name, ""); err != nil && strings.Contains(err.Error(), "block") {
			t.Errorf("%s: %v", m.name, err)
		}
	}
	if renewed, err := bench.Renew(text, "summary", ""); err != nil || renewed != text {
		t.Errorf("the head of BENCHMARKS.md is not that of its tables: run make pictures: %v", err)
	}
}

// Lines reads back the tables of Table anywhere in a document. A goal is met at its limit.
func TestLines(t *testing.T) {
	t.Parallel()
	table := bench.Table([]bench.Row{
		{Measure: "a join", Case: "empty", Unit: "s", Here: bench.Sample{3}, Rival: "a loop", Against: bench.Sample{2}, Goal: bench.Goal{Bound: bench.Ratio, Limit: 1.4}},
		{Measure: "a join", Case: "1 GB", Unit: "s", Here: bench.Sample{0.3, 0.1, 0.2, 0.25, 0.15}, Rival: "a loop", Against: bench.Sample{2, 12}, Goal: bench.Goal{Bound: bench.Value, Limit: 0.2}},
		{Measure: "a loss", Unit: "s", Goal: bench.Goal{Bound: bench.Value, Limit: 1}}, // without values it does not reach its goal
		{Measure: "a loss", Unit: "s", Here: bench.Sample{9}},
	})
	got := bench.Lines("# A page\n\n| another | table |\n|---|---|\n| x | y |\n\n" + table + "\nText.\n\n" + table)
	want := []bench.Line{
		{Measure: "a join", Case: "empty", Rounds: "1", Here: "3.00 s", Rival: "a loop", Against: "2.00 s", Ratio: "1.50 ×", Goal: "≤ 1.40 ×", Verdict: "**missed**"},
		{Measure: "a join", Case: "1 GB", Rounds: "5", Here: "0.200 (0.150–0.250) s", Rival: "a loop", Against: "7.00 (2.00–12.0) s", Ratio: "0.029 ×", Goal: "≤ 0.200 s", Verdict: "met"},
		{Measure: "a loss", Rounds: "0", Here: "–", Goal: "≤ 1.00 s", Verdict: "**missed**"},
		{Measure: "a loss", Rounds: "1", Here: "9.00 s"},
	}
	if !slices.Equal(got, slices.Concat(want, want)) {
		t.Errorf("%+v", got)
	}
	if l, err := bench.Find(got, "a join", "empty"); err != nil || l != want[0] {
		t.Errorf("%+v, %v", l, err)
	}
	if _, err := bench.Find(got, "a loss", "empty"); err == nil {
		t.Error("a row that there is not was found")
	}
}

// A part that is measured again replaces its own table and updates the head.
func TestRenew(t *testing.T) {
	t.Parallel()
	text := document(t)
	measured := func(seconds float64) string {
		return bench.Table([]bench.Row{{Measure: bench.Refresh, Case: bench.Members(9), Unit: "s", Here: bench.Sample{seconds}, Rival: "as many terraform_data", Against: bench.Sample{0.125}}})
	}
	slow, err := bench.Renew(text, "members", measured(98))
	if want := "| Time to refresh nine nodes and their members | **98.0 s** | 0.125 s (nine `terraform_data`) |\n"; err != nil || !strings.Contains(slow, want) {
		t.Fatalf("missing: %s, %v", want, err)
	}
	if fast, err := bench.Renew(slow, "members", measured(0.1)); err != nil || strings.Contains(fast, "98.0") {
		t.Errorf("the measure before is still there, %v", err)
	}
	if _, err := bench.Renew(text, "gap", ""); err == nil {
		t.Error("a head without its figures was written")
	}
	if _, err := bench.Renew(text, "nothing", ""); err == nil {
		t.Error("a block that there is not was replaced")
	}
}

func TestMain(m *testing.M) { acctest.Main(m) }

// documentVariable names the document for the results of the measures. If it is
// set, the whole campaign runs. Each measure replaces its own table.
const documentVariable = "ETCD_BENCH"

// here is the name of the provider's side.
const here = "provider"

// campaign is the scope of the measurements.
type campaign struct{ whole bool }

// rounds returns how often a measure is taken: n times in the whole campaign,
// once in its short form.
func (c campaign) rounds(n int) int {
	if c.whole {
		return n
	}
	return 1
}

// measure is a part of the campaign, with a table of its own.
type measure struct {
	name string
	run  func(*testing.T, campaign) []bench.Row
}

func measures() []measure {
	return []measure{
		{"join", measureJoin},
		{"join-by-log", measureJoinByLog},
		{"gap", measureGap},
		{"members", measureMembers},
		{"rollout", measureRollout},
	}
}

// TestMeasures runs each measure against its rivals. The short form, with
// ETCD_TEST_FULL=1, runs each one once, with small sizes and in parallel: its
// figures mean nothing, and it only shows that everything works.
func TestMeasures(t *testing.T) {
	document := os.Getenv(documentVariable)
	if document == "" && !etcdtest.Full() {
		t.Skip("make bench measures: set ETCD_TEST_FULL=1 for a short form")
	}
	c := campaign{whole: document != ""}
	t.Run("of", func(t *testing.T) {
		for _, m := range measures() {
			t.Run(m.name, func(t *testing.T) {
				if !c.whole {
					t.Parallel()
				}
				begun, before := time.Now().UTC(), load()
				rows := m.run(t, c)
				took, after := time.Since(begun), load()
				if t.Failed() {
					return
				}
				for _, row := range rows {
					if len(row.Here) == 0 {
						t.Errorf("%s, %s: nothing was measured", row.Measure, row.Case)
					}
				}
				t.Logf("\n%s", bench.Table(rows))
				if c.whole {
					renew(t, document, m.name, fmt.Sprintf("%s\nMeasured on %s in %.0f s; load average %s before, %s after; %s.\n",
						bench.Table(rows), begun.Format("2006-01-02 15:04 UTC"), took.Seconds(), before, after, conditions(t)))
				}
			})
		}
	})
}

// load returns the machine's load average, or "" if it cannot be read.
func load() string {
	text, _ := os.ReadFile("/proc/loadavg")
	first, _, _ := strings.Cut(string(text), " ")
	return first
}

// renew writes a measured table into the document.
func renew(t *testing.T, document, name, measured string) {
	t.Helper()
	text := must.Read(t, document)
	renewed, err := bench.Renew(text, name, measured)
	if err == nil {
		err = os.WriteFile(document, []byte(renewed), 0o600)
	}
	must.Succeed(t, err)
}

// conditions returns the versions of the programs and the kind of machine.
func conditions(t *testing.T) string {
	t.Helper()
	cli, _, _ := strings.Cut(string(acctest.NewWorkspace(t, acctest.WorkspaceOptions{}).Run("version").MustSucceed().Stdout), "\n")
	return fmt.Sprintf("etcd %s unless the table names another, %s, %s, %s/%s, %d processors", etcdtest.DefaultVersion, cli, runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
}

// turns calls each of the sides in every round. The order rotates, so that
// drift affects all of them. Each side runs as its own subtest: its resources
// end with it.
func turns(t *testing.T, rounds int, sides ...side) {
	t.Helper()
	for round := range rounds {
		for i := range sides {
			s := sides[(round+i)%len(sides)]
			if !t.Run(fmt.Sprintf("%d of %d: %s", round+1, rounds, s.name), s.run) {
				return
			}
		}
	}
}

// side is one of the compared sides.
type side struct {
	name string
	run  func(*testing.T)
}

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
	_, err := c.Etcdctl("member", "remove", fmt.Sprintf("%x", c.MemberID(t, p)))
	must.Succeed(t, err)
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

// builtIn is the rival of a refresh: resources of the CLI itself, which call no provider.
const builtIn = "as many terraform_data"

// measureMembers measures the refresh of a whole cluster: its empty plan, and that of as many
// resources that are built in.
func measureMembers(t *testing.T, c campaign) []bench.Row {
	n := 3
	if c.whole {
		n = 9
	}
	f := acctest.NewFleet(t, acctest.FleetOptions{Names: strings.Split("abcdefghi", "")[:n]})
	f.Form()
	data := acctest.NewWorkspace(t, acctest.WorkspaceOptions{})
	data.Write("main.tf", fmt.Sprintf("resource \"terraform_data\" \"this\" {\n  count = %d\n  input = \"node ${count.index}\"\n}\n", n))
	data.Apply().MustSucceed()
	took := map[string]bench.Sample{}
	planned := func(name string, w *acctest.Workspace) side {
		return side{name, func(*testing.T) {
			took[name] = append(took[name], w.Run("plan", "-input=false", "-detailed-exitcode").MustSucceed().Took.Seconds())
		}}
	}
	turns(t, c.rounds(9), planned(here, f.Workspace), planned(builtIn, data))
	return []bench.Row{{Measure: bench.Refresh, Case: bench.Members(n), Unit: "s", Here: took[here], Rival: builtIn, Against: took[builtIn], Goal: bench.Goal{Bound: bench.Ratio, Limit: 1.5}}}
}
