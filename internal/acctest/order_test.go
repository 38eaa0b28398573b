// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import "testing"

// step is the end or the start of a change, as a CLI prints it.
type step struct{ kind, address, action string }

func done(address, action string) step  { return step{"apply_complete", address, action} }
func begun(address, action string) step { return step{"apply_start", address, action} }

// inOrder fails the test unless the run has printed these steps in this order. A step
// that does not start before another one ends is given with its start.
func inOrder(o *Outcome, steps ...step) {
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
// guarantees: a member is removed before its machine is destroyed, and added after its
// machine runs.
func TestAccOrders(t *testing.T) {
	OnEach(t, func(t *testing.T, cli string) {
		f := NewFleet(t, FleetOptions{CLI: cli})
		f.Form()

		f.Add("d")
		inOrder(f.Form(), done(cluster, "update"), begun(machine("d"), "create"), done(machine("d"), "create"), begun(member("d"), "create"), done(member("d"), "create"))
		f.Settled()

		f.Drop("d")
		inOrder(f.Form(), done(member("d"), "delete"), begun(machine("d"), "delete"), done(machine("d"), "delete"), begun(cluster, "update"))
		f.Settled()

		f.Image = "two"
		inOrder(f.Form(), replacement("a")...)

		// b is next. e joins in the same apply.
		f.Add("e")
		o := f.Form()
		inOrder(o, replacement("b")...)
		inOrder(o, done(machine("b"), "delete"), done(cluster, "update"), begun(machine("e"), "create"), done(machine("e"), "create"), begun(member("e"), "create"), done(member("e"), "create"))

		inOrder(f.Form(), replacement("c")...)
		f.Settled()
	})
}

// replacement are the steps of a node that is rebuilt.
func replacement(name string) []step {
	return []step{
		done(member(name), "delete"), begun(machine(name), "delete"), done(machine(name), "delete"), begun(cluster, "update"), done(cluster, "update"),
		begun(machine(name), "create"), done(machine(name), "create"), begun(member(name), "create"), done(member(name), "create"),
	}
}
