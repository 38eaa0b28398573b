// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package onecluster

import (
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
)

// step is the end or the start of a change, as a CLI prints it.
type step struct{ kind, address, action string }

func done(address, action string) step  { return step{"apply_complete", address, action} }
func begun(address, action string) step { return step{"apply_start", address, action} }

// inOrder fails the test unless the run has printed these steps in this order. A step
// that does not start before another one ends is given with its start.
func inOrder(o *acctest.Outcome, steps ...step) {
	o.TB.Helper()
	at := -1
	for _, s := range steps {
		found := -1
		for i, h := range o.Hooks {
			if h.Type == s.kind && h.Address == s.address && h.Action == s.action {
				found = i
				break
			}
		}
		if found <= at {
			o.TB.Errorf("%v is step %d, and what must come before it is step %d:\n%v", s, found, at, o.Hooks)
			return
		}
		at = found
	}
}

// A replacement, a removal and a growth do their steps in the order that keeps the
// guarantees: a member leaves before its machine, and joins after it.
func TestAccOneClusterOrders(t *testing.T) {
	t.Parallel()
	s := newSite(t, acctest.CLI(t), "a b c")
	s.apply()

	s.Add("d")
	inOrder(s.apply(), done(cluster, "update"), begun(machine("d"), "create"), done(machine("d"), "create"), begun(member("d"), "create"), done(member("d"), "create"))
	s.settled()

	s.Drop("d")
	inOrder(s.apply(), done(member("d"), "delete"), begun(machine("d"), "delete"), done(machine("d"), "delete"), begun(cluster, "update"))
	s.settled()

	s.Image = "two"
	replaced := replacement("a")
	inOrder(s.apply(), replaced...)

	// b is next. e joins in the same apply.
	s.Add("e")
	o := s.apply()
	inOrder(o, replacement("b")...)
	inOrder(o, done(machine("b"), "delete"), done(cluster, "update"), begun(machine("e"), "create"), done(machine("e"), "create"), begun(member("e"), "create"), done(member("e"), "create"))

	inOrder(s.apply(), replacement("c")...)
	s.settled()
}

// replacement are the steps of a node that is rebuilt.
func replacement(name string) []step {
	return []step{
		done(member(name), "delete"), begun(machine(name), "delete"), done(machine(name), "delete"), begun(cluster, "update"), done(cluster, "update"),
		begun(machine(name), "create"), done(machine(name), "create"), begun(member(name), "create"), done(member(name), "create"),
	}
}
