// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package bench_test

import (
	"os"
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/bench"
)

// document returns the committed BENCHMARKS.md.
func document(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../BENCHMARKS.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The four numbers and the missed goals match the tables below them, each part
// of the campaign has a table, and each missed goal has a reason.
func TestTheDocumentFollowsFromItsTables(t *testing.T) {
	t.Parallel()
	text := document(t)
	renewed, err := bench.Renew(text, "missed", "")
	if err != nil {
		t.Fatal(err)
	}
	if renewed != text {
		t.Error("the head of BENCHMARKS.md is not that of its tables: run make pictures")
	}
	if strings.Contains(text, bench.NoReason) {
		t.Error("a missed goal has no reason")
	}
	for _, m := range measures() {
		if _, err := bench.Renew(text, m.name, ""); err != nil && strings.Contains(err.Error(), "block") {
			t.Errorf("%s: %v", m.name, err)
		}
	}
}

// Lines reads back the tables of Table anywhere in a document.
func TestLines(t *testing.T) {
	t.Parallel()
	table := bench.Table([]bench.Row{
		{Measure: "a join", Case: "empty", Unit: "s", Here: bench.Sample{3}, Rival: "a loop", Against: bench.Sample{2}, Goal: bench.Goal{Bound: bench.Below}},
		{Measure: "a join", Case: "1 GB", Unit: "s", Here: bench.Sample{0.3, 0.1, 0.2, 0.25, 0.15}, Rival: "a loop", Against: bench.Sample{2, 12}, Goal: bench.Goal{Bound: bench.Ratio, Limit: 1.2}},
	})
	got := bench.Lines("# A page\n\n| another | table |\n|---|---|\n| x | y |\n\n" + table + "\nText.\n\n" + table)
	want := []bench.Line{
		{Measure: "a join", Case: "empty", Rounds: "1", Here: "3.00 s", Rival: "a loop", Against: "2.00 s", Ratio: "1.50 ×", Goal: "below", Verdict: "**missed**"},
		{Measure: "a join", Case: "1 GB", Rounds: "5", Here: "0.200 (0.150–0.250) s", Rival: "a loop", Against: "7.00 (2.00–12.0) s", Ratio: "0.029 ×", Goal: "≤ 1.20 ×", Verdict: "met"},
	}
	if len(got) != 4 || got[0] != want[0] || got[1] != want[1] || got[2] != want[0] || got[3] != want[1] {
		t.Errorf("%+v", got)
	}
	if l, err := bench.Find(got, "a join", "empty", "loop"); err != nil || l != want[0] {
		t.Errorf("%+v, %v", l, err)
	}
	if _, err := bench.Find(got, "a join", "empty", "etcdctl"); err == nil {
		t.Error("a row against a rival that there is not was found")
	}
}

// A part that is measured again replaces its own table and updates the head.
func TestRenew(t *testing.T) {
	t.Parallel()
	text := document(t)
	measured := func(seconds float64) string {
		return bench.Table([]bench.Row{
			{Measure: "refresh", Case: "9 members", Unit: "s", Here: bench.Sample{seconds}, Rival: "as many terraform_data", Against: bench.Sample{0.125}, Goal: bench.Goal{Bound: bench.Ratio, Limit: 1.5}},
			{Measure: "something new", Unit: "s", Here: bench.Sample{seconds}, Goal: bench.Goal{Bound: bench.Value, Limit: 10}},
		})
	}
	slow, err := bench.Renew(text, "members", measured(98))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| Time to refresh nine members | **98.0 s** | 0.125 s (nine `terraform_data`) |\n",
		"| refresh, 9 members | 98.0 s | ≤ 1.50 × 0.125 s (as many terraform_data) | `terraform_data` is built",
		"| something new | 98.0 s | ≤ 10.0 s | " + bench.NoReason + " |\n",
	} {
		if !strings.Contains(slow, want) {
			t.Errorf("missing: %s", want)
		}
	}
	fast, err := bench.Renew(slow, "members", measured(0.1))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(fast, "98.0") {
		t.Error("the measure before is still there")
	}
	if again, err := bench.Renew(fast, "members", measured(98)); err != nil || again != slow {
		t.Errorf("the same again is not the same: %v", err)
	}
	if _, err := bench.Renew(text, "gap", ""); err == nil {
		t.Error("a head without its figures was written")
	}
	if _, err := bench.Renew(text, "nothing", ""); err == nil {
		t.Error("a block that there is not was replaced")
	}
}

func TestGoals(t *testing.T) {
	row := func(here, against float64, bound bench.Bound, limit float64) bench.Row {
		return bench.Row{Here: bench.Sample{here}, Against: bench.Sample{against}, Goal: bench.Goal{Bound: bound, Limit: limit}}
	}
	for _, c := range []struct {
		row  bench.Row
		want bool
	}{
		{row(12, 10, bench.Ratio, 1.2), true},
		{row(13, 10, bench.Ratio, 1.2), false},
		{row(15, 10, bench.Excess, 5), true},
		{row(16, 10, bench.Excess, 5), false},
		{row(9, 10, bench.Below, 0), true},
		{row(10, 10, bench.Below, 0), false},
		{row(80, 10, bench.Value, 80), true},
		{row(81, 90, bench.Value, 80), false},
		{row(9, 1, bench.None, 0), true},
		{bench.Row{Goal: bench.Goal{Bound: bench.Value, Limit: 1}}, false}, // a row without values does not reach its goal
	} {
		if got := c.row.Met(); got != c.want {
			t.Errorf("%+v: met is %v", c.row, got)
		}
	}
}
