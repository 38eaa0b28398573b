// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package simulated

import (
	"fmt"
	"maps"
	"strings"
	"testing"

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
