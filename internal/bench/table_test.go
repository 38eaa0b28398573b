// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package bench_test

import (
	"math"
	"slices"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/bench"
)

func TestQuantiles(t *testing.T) {
	for _, c := range []struct {
		sample bench.Sample
		q      float64
		want   float64
	}{
		{bench.Sample{3}, 0.5, 3},
		{bench.Sample{4, 1}, 0.5, 2.5},
		{bench.Sample{5, 1, 3, 2, 4}, 0.5, 3},
		{bench.Sample{5, 1, 3, 2, 4}, 0.25, 2},
		{bench.Sample{5, 1, 3, 2, 4}, 0.75, 4},
		{bench.Sample{4, 1}, 0, 1},
		{bench.Sample{4, 1}, 1, 4},
	} {
		before := slices.Clone(c.sample)
		if got := c.sample.Quantile(c.q); got != c.want {
			t.Errorf("quantile %v of %v is %v, want %v", c.q, c.sample, got, c.want)
		}
		if !slices.Equal(c.sample, before) {
			t.Errorf("the sample has changed: %v", c.sample)
		}
	}
	if got := (bench.Sample{}).Median(); !math.IsNaN(got) {
		t.Errorf("nothing has the median %v", got)
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

func TestTable(t *testing.T) {
	got := bench.Table([]bench.Row{
		{Measure: "a join", Case: "empty", Unit: "s", Here: bench.Sample{0.3, 0.1, 0.2, 0.25, 0.15}, Rival: "a loop", Against: bench.Sample{0.25}, Goal: bench.Goal{Bound: bench.Ratio, Limit: 1.2}},
		{Measure: "a join", Case: "1 GB", Unit: "s", Here: bench.Sample{12.34, 11}, Rival: "a loop", Against: bench.Sample{2, 2, 2}, Goal: bench.Goal{Bound: bench.Below}},
		{Measure: "memory", Unit: "MB", Here: bench.Sample{61}, Goal: bench.Goal{Bound: bench.Value, Limit: 80}},
		{Measure: "calls", Unit: "calls", Here: bench.Sample{1000}},
	})
	want := `| measure | | n | provider | against | | ratio | goal | |
|---|---|--:|--:|---|--:|--:|---|---|
| a join | empty | 5 | 0.200 (0.150–0.250) s | a loop | 0.250 s | 0.800 × | ≤ 1.20 × | met |
|  | 1 GB | 2 | 11.7 (11.0–12.3) s | a loop | 2.00 s | 5.83 × | below | **missed** |
| memory |  | 1 | 61.0 MB |  |  |  | ≤ 80.0 MB | met |
| calls |  | 1 | 1000 calls |  |  |  |  |  |
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
