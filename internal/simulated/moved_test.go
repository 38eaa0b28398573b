// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package simulated

import (
	"slices"
	"strings"
	"testing"
)

// A learner that is moved to etcd_member is promoted, and the record goes with it.
func TestMovedLearner(t *testing.T) {
	t.Parallel()
	for name, named := range map[string]bool{"with a node": false, "with a name": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found(t, "a b c", func(e *estate) {
				e.ws.Resources = append(e.ws.Resources, nodesOf("d", "a b c")...)
				last := len(e.ws.Resources) - 1
				if named {
					e.ws.Provider = e.provider("a b c")
					e.ws.Resources[last].Values = member("d").Values
					e.ws.Resources[last].After = []string{"machine.d"}
				}
				e.ws.Resources[last].Type = "etcd_learner"
				e.up()
				e.settled("(d) a b c")
				e.ok(e.ws.Move(e.Context(), e.start("moved"), "etcd_learner.d", "etcd_member.d"))
				e.ws.Resources[last].Type = "etcd_member"
				e.up()
				e.settled("a b c d")
				keys := e.keys()
				if slices.ContainsFunc(keys, func(k string) bool { return strings.Contains(k, "learner:") }) {
					t.Errorf("the record is still that of the learner: %v", keys)
				}
				e.ws.Resources = e.ws.Resources[:last-1]
				e.up()
				e.settled("a b c")
			})
		})
	}
}

// A query lists the cluster and each of its members with what an import needs.
func TestQuery(t *testing.T) {
	t.Parallel()
	found(t, "a b c", func(e *estate) {
		e.ws.Resources = append(e.ws.Resources, nodesOf("d", "a b c")...)
		e.ws.Resources[len(e.ws.Resources)-1].Type = "etcd_learner"
		e.up()
		for typ, want := range map[string]int{"etcd_cluster": 1, "etcd_member": 3, "etcd_learner": 1} {
			c := e.call("query "+typ, e.provider("a b c"))
			got := c.list(typ, 0, true)
			c.run.Close()
			for _, r := range got {
				if len(r.Diagnostics) > 0 || r.Identity == nil || r.Resource == nil {
					t.Errorf("%s: %+v", typ, r)
				}
			}
			if len(got) != want {
				t.Errorf("%s: %d results, want %d", typ, len(got), want)
			}
		}
	})
}
