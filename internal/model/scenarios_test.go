// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package model

import (
	"fmt"
	"os"
)

func full() bool { return os.Getenv("ETCD_TEST_FULL") != "" }

// joins, leaves and the like create the tasks of scenarios. The n-th initial
// member is node n; new members follow.
func joins(proc, n, owner uint8) task {
	return task{kind: join, proc: proc, node: n, owner: owner, after: none, insteadOf: none}
}

func leaves(proc, n, owner uint8) task {
	return task{kind: leave, proc: proc, node: n, owner: owner, after: none, insteadOf: none}
}

// replaces returns a member that leaves and its successor that joins, from a
// new configuration. at is the number of the first of the two tasks in their
// scenario.
func replaces(proc, n, owner, at uint8) (out, in task) {
	out, in = leaves(proc, n, owner), joins(proc, n, owner+2)
	out.replacement, in.after = true, at
	return out, in
}

func (t task) instead(of uint8) task { t.insteadOf = of; return t }

// everybody returns tasks in which all n members leave.
func everybody(n uint8) (out []task) {
	for i := range n {
		out = append(out, leaves(0, i, i))
	}
	return out
}

// members returns the largest number of members of the scenario.
func (sc *scenario) members() uint8 {
	n := sc.voters
	for _, t := range sc.tasks {
		n = max(n, t.node+1)
	}
	return n
}

// scenarios returns the scenarios of a search: every combination of one or two
// applies with one or two changes each, on clusters of up to five members.
func scenarios(b budget, o options) []scenario {
	var out []scenario
	add := func(name string, voters int, parallel uint8, tasks ...task) *scenario {
		out = append(out, scenario{
			name: fmt.Sprintf("%s of %d", name, voters), voters: uint8(voters), tasks: tasks,
			parallel: [maxProcs]uint8{parallel, parallel}, budget: b, options: o,
		})
		return &out[len(out)-1]
	}
	for n := 1; n <= maxNodes; n++ {
		last := uint8(n)
		if n+1 <= maxNodes {
			add("one joins a cluster", n, 1, joins(0, last, 0))
			add("a join is broken off, then destroyed in a cluster", n, 1, joins(0, last, 0),
				task{kind: withdraw, proc: 1, node: last, owner: 0, after: none, insteadOf: 0})
			add("two applies of the same member to a cluster", n, 1, joins(0, last, 0), joins(1, last, 0))
			if n > 1 {
				add("two applies, one joins and one leaves a cluster", n, 1, joins(0, last, 0), leaves(1, 0, 1))
				add("one apply, one joins and one leaves a cluster", n, 2, joins(0, last, 0), leaves(0, 0, 1))
			}
		}
		if n+2 <= maxNodes {
			add("two applies add to a cluster", n, 1, joins(0, last, 0), joins(1, last+1, 1))
			add("one apply adds two to a cluster", n, 2, joins(0, last, 0), joins(0, last+1, 1))
			wrong := add("a wrong URL is corrected in a cluster", n, 1, joins(0, last, 0), joins(1, last+1, 0).instead(0))
			wrong.endless = !o.fenced // a late addition takes the learner slot and has no owner
		}
		add("one leaves a cluster", n, 1, leaves(0, 0, 0))
		if b.faults+b.crashes+b.freezes+b.ambiguous <= 1 && (n < maxNodes || full()) {
			add("destroy", n, last, everybody(last)...)
		}
		if n > 1 {
			o0, i0 := replaces(0, 0, 0, 0)
			add("one is replaced in a cluster", n, 1, o0, i0)
			two := add("two applies, one leaves and one is replaced in a cluster", n, 1, o0, i0, leaves(1, 1, 1))
			two.endless = n == 2 // the only remaining voter is never replaced
			o1, i1 := replaces(1, 1, 1, 2)
			add("two applies replace in a cluster", n, 1, o0, i0, o1, i1)
			add("two applies take out of a cluster", n, 1, leaves(0, 0, 0), leaves(1, 1, 1))
			add("one apply takes two out of a cluster", n, 2, leaves(0, 0, 0), leaves(0, 1, 1))
			if n+1 <= maxNodes {
				add("two applies, one joins and one is replaced in a cluster", n, 1, o0, i0, joins(1, last, 1))
			}
		}
	}
	return out
}
