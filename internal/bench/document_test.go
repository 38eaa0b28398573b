// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package bench_test

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/bench"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/must"
)

// document returns the committed BENCHMARKS.md.
func document(t *testing.T) string {
	t.Helper()
	return must.Read(t, "../../BENCHMARKS.md")
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
		{"refresh", measureRefresh},
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
