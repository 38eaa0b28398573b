// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package model

import (
	"testing"
	"time"
)

// campaign is a set of scenarios with a limit on the failures in each of them.
type campaign struct {
	name    string
	budget  budget
	options options
	members uint8 // maximum
	tasks   int   // maximum
}

// orderly is the normal world. In the other two, events happen that no client
// can prevent, and the model relies on the servers' own checks.
var (
	orderly = options{fenced: true}
	rude    = options{fenced: true, rude: true, guard: true}
	late    = options{guard: true}
)

// campaigns always run: seven million states, about ten seconds of one
// processor.
var campaigns = []campaign{
	{"one fault", budget{faults: 1}, orderly, 4, 5},
	{"a crash, an answer lost", budget{crashes: 1, ambiguous: 1}, orderly, 5, 5},
	{"a lock that expires, an answer lost", budget{freezes: 1, ambiguous: 1}, orderly, 5, 5},
	{"a fault, a crash, a lock that expires, an answer lost", budget{1, 1, 1, 1}, orderly, 5, 1},
	{"a fault, and a process that sleeps between check and call", budget{faults: 1, freezes: 1}, rude, 3, 2},
	{"a fault, and a change that comes late", budget{faults: 1, ambiguous: 1}, late, 2, 2},
}

// longCampaigns also run with ETCD_TEST_FULL=1.
var longCampaigns = []campaign{
	{"one fault among five", budget{faults: 1}, orderly, 5, 5},
	{"two faults", budget{faults: 2}, orderly, 5, 5},
	{"a fault, a crash, an answer lost", budget{faults: 1, crashes: 1, ambiguous: 1}, orderly, 5, 5},
	{"a fault, a lock that expires, an answer lost", budget{faults: 1, freezes: 1, ambiguous: 1}, orderly, 5, 5},
	{"a crash, a lock that expires, an answer lost", budget{crashes: 1, freezes: 1, ambiguous: 1}, orderly, 5, 5},
	{"a fault, a crash, a lock that expires, an answer lost", budget{1, 1, 1, 1}, orderly, 3, 2},
	{"a fault, and a process that sleeps between check and call", budget{faults: 1, freezes: 1}, rude, 5, 5},
	{"a fault, and a change that comes late", budget{faults: 1, ambiguous: 1}, late, 5, 5},
}

// TestApply visits every state that one or two applies can reach with a cluster
// of up to five members and a given number of failures. In each state it checks
// the conditions of [state.happens], [state.wrong] and [search.stuck]:
//
//   - no change of ours loses the quorum, unless something has failed since it
//     was decided; a member is not promoted if it is not alive, or if the other
//     voters would be too few without it; no leader leaves before it hands over;
//   - every added member has an owner, in a record or in a state;
//   - while every machine is alive, the end is reachable from every state.
func TestApply(t *testing.T) {
	list := campaigns
	if full() {
		list = append(campaigns[:len(campaigns):len(campaigns)], longCampaigns...)
	}
	for _, c := range list {
		t.Run(c.name, func(t *testing.T) {
			begin := time.Now()
			searched, states, steps, largest := 0, 0, 0, 0
			for _, sc := range scenarios(c.budget, c.options) {
				if sc.members() > c.members || len(sc.tasks) > c.tasks {
					continue
				}
				q := search{sc: sc}
				q.run()
				searched, states, steps = searched+1, states+len(q.queue), steps+q.steps
				largest = max(largest, len(q.queue))
				if q.fault != nil {
					t.Errorf("%s: %s", sc.name, q.fault)
				}
				if len(q.goals) == 0 {
					t.Errorf("%s: it never ends", sc.name)
				}
			}
			t.Logf("%d scenarios of up to %d members, at most %d faults, %d crashes, %d expired locks, %d lost answers: %d states (at most %d in one), %d steps, %s",
				searched, c.members, c.budget.faults, c.budget.crashes, c.budget.freezes, c.budget.ambiguous, states, largest, steps, time.Since(begin).Round(time.Millisecond))
		})
	}
}

// TestOneAfterTheOther: with one operation at a time, in any order that Terraform
// chooses, no operation waits for one that can start only after it. There are no
// failures here, no operation gives up, and there is no second apply.
func TestOneAfterTheOther(t *testing.T) {
	searched, states := 0, 0
	for n := range uint8(maxNodes) {
		n++
		sets := map[string][]task{"all leave": everybody(n), "one leaves": {leaves(0, 0, 0)}}
		if n < maxNodes {
			sets["one joins"] = []task{joins(0, n, 0)}
		}
		if n+2 <= maxNodes {
			sets["two join"] = []task{joins(0, n, 0), joins(0, n+1, 1)}
		}
		if n > 1 {
			out, in := replaces(0, 0, 0, 0)
			sets["one is replaced"] = []task{out, in}
			if n < maxNodes {
				sets["one joins, one leaves"] = []task{joins(0, n, 0), leaves(0, 0, 1)}
				sets["one joins, one is replaced"] = []task{out, in, joins(0, n, 1)}
			}
		}
		for name, tasks := range sets {
			for _, parallel := range []uint8{1, uint8(len(tasks))} {
				q := search{quiet: true, sc: scenario{name: name, voters: n, tasks: tasks, parallel: [maxProcs]uint8{parallel, parallel}, options: orderly}}
				q.run()
				searched, states = searched+1, states+len(q.queue)
				if q.fault != nil {
					t.Errorf("%s of %d, %d at a time: %s", name, n, parallel, q.fault)
				}
			}
		}
	}
	t.Logf("%d scenarios, %d states", searched, states)
}

// TestDestroyWithTheDead: in a cluster of five with two dead machines, all
// members are removed, in any order.
func TestDestroyWithTheDead(t *testing.T) {
	q := search{quiet: true, sc: scenario{
		name: "destroy", voters: 5, deadNodes: []uint8{3, 4}, tasks: everybody(5), parallel: [maxProcs]uint8{5, 5}, options: orderly,
	}}
	q.run()
	if q.fault != nil {
		t.Error(q.fault)
	}
	t.Logf("%d states, %d ends", len(q.queue), len(q.goals))
}
