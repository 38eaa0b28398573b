// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package model

import (
	"hash/maphash"
	"strings"
)

// search visits every reachable state, nearest first. It distinguishes states
// by a 64-bit hash. The probability that two of a hundred million collide, and
// one is not visited, is one in three thousand.
type search struct {
	sc    scenario
	quiet bool
	// trails enables the recording of how each state was reached.
	trails bool

	seed  maphash.Seed
	known table
	queue []state
	head  int
	steps int
	trail []crumb
	// edges are those of the graph without failures, for [search.stuck].
	edges []uint32
	first []uint32 // where the edges of each state begin
	goals []uint32
	hopes []bool
	fault *failure
}

type crumb struct {
	from uint32
	step step
}

// failure is a forbidden state and the steps that lead to it.
type failure struct {
	what  string
	state uint32
	last  step
	trace []string
}

func (f *failure) String() string {
	return f.what + "\n  " + strings.Join(f.trace, "\n  ")
}

// begin returns the states in which the scenario may begin: one for each voter
// that may lead.
func (sc *scenario) begin() []state {
	s := state{leader: none, left: sc.budget}
	for i := range s.nodes {
		s.nodes[i].owner = none
		if i < int(sc.voters) {
			s.nodes[i] = node{seat: voter, machine: up, started: true, synced: true, owner: none}
		} else {
			s.nodes[i].machine = dead
		}
	}
	for i := range s.locks {
		s.locks[i] = none
	}
	for i := range s.tasks {
		s.tasks[i].leader, s.tasks[i].to = none, none
	}
	for _, t := range sc.tasks {
		if t.kind == join && t.node >= sc.voters {
			s.nodes[t.node].machine = knocking
		}
		if t.kind == leave && t.owner < maxOwners { // the owner added it long ago
			s.records[t.owner] = record{announced, t.node, 0, true}
			s.nodes[t.node].owner = t.owner
		}
	}
	for i, t := range sc.tasks {
		if t.kind == join && sc.replaced(i) && sc.tasks[i+1].kind == join {
			s.nodes[t.node].machine = dead // no process runs at the wrong URL
		}
	}
	for _, n := range sc.deadNodes {
		s.nodes[n].machine = dead
	}
	var out []state
	for i, n := range s.nodes {
		if n.seat == voter && n.lives() {
			led := s
			led.leader = uint8(i)
			out = append(out, led)
		}
	}
	return out
}

// canonical makes states equal that differ only by a permutation of those
// voters that no operation concerns.
func (q *search) canonical(s *state) {
	var like [maxNodes]int
	n := 0
	for i := range int(q.sc.voters) {
		if !q.sc.concerns(uint8(i)) {
			like[n] = i
			n++
		}
	}
	for a := 1; a < n; a++ {
		for b := a; b > 0 && s.rank(like[b]) < s.rank(like[b-1]); b-- {
			s.swap(uint8(like[b]), uint8(like[b-1]))
		}
	}
}

// concerns reports whether an operation concerns the node.
func (sc *scenario) concerns(n uint8) bool {
	for _, t := range sc.tasks {
		if t.node == n {
			return true
		}
	}
	return false
}

// rank orders nodes that are otherwise equal.
func (s *state) rank(i int) uint32 {
	n := uint8(i)
	r := uint32(s.viewOf(i)) << 8
	if s.leader == n {
		r |= 1
	}
	for j := range s.tasks {
		if s.tasks[j].leader == n {
			r |= 2
		}
		if s.tasks[j].to == n {
			r |= 4 << j
		}
	}
	return r
}

func (s *state) swap(a, b uint8) {
	s.nodes[a], s.nodes[b] = s.nodes[b], s.nodes[a]
	turn := func(x *uint8) {
		switch *x {
		case a:
			*x = b
		case b:
			*x = a
		}
	}
	turn(&s.leader)
	for j := range s.tasks {
		turn(&s.tasks[j].leader)
		turn(&s.tasks[j].to)
	}
}

// run searches until all states are visited or one is wrong.
func (q *search) run() {
	q.seed = maphash.MakeSeed()
	rules := q.sc.rules
	if rules.add == nil {
		rules = theRules
	}
	m := &machinery{sc: &q.sc, quiet: q.quiet, mind: &mind{rules: rules, known: map[question]answer{}}}
	for _, s := range q.sc.begin() {
		q.visit(s, 0, step{what: "it begins"})
	}
	var here uint32
	m.emit = func(st step, s state, wrong string) {
		if q.fault != nil {
			return
		}
		q.steps++
		to := q.visit(s, here, st)
		if !st.harm {
			q.edges = append(q.edges, to)
		}
		if wrong == "" {
			wrong = s.wrong(&q.sc)
		}
		if wrong != "" {
			q.fault = &failure{what: wrong, state: here, last: st}
		}
	}
	for ; q.head < len(q.queue) && q.fault == nil; q.head++ {
		s := q.queue[q.head]
		here = uint32(q.head)
		q.first = append(q.first, uint32(len(q.edges)))
		m.next(&s)
		if q.sc.reached(&s) {
			q.goals = append(q.goals, here)
		}
		q.hopes = append(q.hopes, !s.killed)
	}
	if q.fault == nil && !q.sc.endless {
		q.stuck()
	}
	if q.fault != nil {
		q.explain()
	}
}

// visit returns the number of a state. A new state gets a new number.
func (q *search) visit(s state, from uint32, st step) uint32 {
	q.canonical(&s)
	id, known := q.known.number(maphash.Comparable(q.seed, s), uint32(len(q.queue)))
	if !known {
		q.queue = append(q.queue, s)
		if q.trails {
			q.trail = append(q.trail, crumb{from, st})
		}
	}
	return id
}

// reached reports whether all tasks are done.
func (sc *scenario) reached(s *state) bool {
	for i, t := range sc.tasks {
		other := t.insteadOf
		for j, o := range sc.tasks {
			if o.insteadOf == uint8(i) {
				other = uint8(j)
			}
		}
		if s.tasks[i].pc != done && (other == none || s.tasks[other].pc != done) {
			return false
		}
	}
	return true
}
