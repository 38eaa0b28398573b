// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package bench_test

import (
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/bench"
)

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
