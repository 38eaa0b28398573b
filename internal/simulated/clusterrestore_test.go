// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package simulated

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/driver"
)

// restore of a cluster that exists is stored and changes no machine and no member.
func TestClusterRestoreOfExisting(t *testing.T) {
	t.Parallel()
	simulate(t, 1, "", func(w *world) {
		s := newSite(w)
		s.apply("form", "a b c", "one", "a b c")
		was := s.ids()
		for _, snapshot := range []string{"/s.db", "/other.db"} {
			s.ws.Resources[0].Values["restore"] = driver.Values{"snapshot": snapshot, "sha256": strings.Repeat("0", 64)}
			plan, r := s.ws.Up(s.Context(), s.start("set "+snapshot))
			if r.Err() != nil || len(plan.Actions()) != 1 {
				s.Fatalf("%s: %v %v", snapshot, r.Err(), plan.Actions())
			}
			if !strings.Contains(fmt.Sprint(r), "nothing is restored") {
				s.Errorf("%s: no warning in %v", snapshot, r)
			}
			s.empty("after " + snapshot)
		}
		if got := s.ids(); !maps.Equal(got, was) {
			s.Errorf("members %v, before %v", got, was)
		}
	})
}

// A cluster is created from a snapshot. A node that is rebuilt afterwards joins: neither
// its environment nor its script restores anything.
func TestClusterFormsFromSnapshot(t *testing.T) {
	t.Parallel()
	simulate(t, 1, "", func(w *world) {
		s := newSite(w)
		up := func(what, image string) {
			s.ws.Resources = clusterOf("a b c", image)
			s.ws.Resources[0].Values["restore"] = driver.Values{"snapshot": "/s.db", "sha256": strings.Repeat("0", 64)}
			if _, r := s.ws.Up(s.Context(), s.start(what)); r.Err() != nil {
				s.Fatalf("%s: %v", what, r.Err())
			}
			s.rest(30 * time.Second)
			s.expect(what, s.list(), "a b c")
		}
		restoring := func(want int) {
			s.Helper()
			if got := strings.Count(s.ws.State("etcd_cluster.this").Value.String(), `"ETCD_JOIN_RESTORE":`); got != want {
				s.Errorf("%d nodes restore the snapshot, want %d", got, want)
			}
		}
		up("form", "one")
		restoring(3)
		s.empty("formed")
		for left := 2; left >= 0; left-- {
			up("roll", "two")
			restoring(left)
		}
		s.empty("rolled")
	})
}
