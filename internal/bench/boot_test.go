// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package bench_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/bench"
)

// measureBoot measures how long a member is listed before its process runs, on
// a machine that boots slowly.
func measureBoot(t *testing.T, c campaign) []bench.Row {
	boot := 3
	if c.whole {
		boot = 30
	}
	f := acctest.NewFleet(t, acctest.FleetOptions{})
	f.Write("slow.sh", fmt.Sprintf("[ \"$1\" != new ] || sleep %d\nexec sh %q \"$@\"\n", boot, f.MachineScript))
	f.MachineScript = filepath.Join(f.Dir, "slow.sh")
	f.Form()
	var waiting bench.Sample
	turns(t, c.rounds(3), side{here, func(t *testing.T) {
		f.Add("d")
		seen := watch(t, f.Client("a"), f.Nodes["d"].Peer, func() {})
		f.Apply().MustSucceed()
		m := seen()
		waiting = append(waiting, m.started.Sub(m.listed).Seconds())
		f.Drop("d")
		f.Apply().MustSucceed()
	}})
	return []bench.Row{{
		Measure: "member added, etcd not started", Case: fmt.Sprintf("a machine that boots for %ds", boot), Unit: "s", Here: waiting,
		Goal: bench.Goal{Bound: bench.Value, Limit: 1},
	}}
}
