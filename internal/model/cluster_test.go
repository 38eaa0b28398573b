// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package model

import (
	"fmt"
)

// happens applies a change to the cluster and returns what is wrong with it, if
// anything. It is called only with a quorum: without one nothing happens.
//
// A change is judged by the state in which it was decided. A failure since then
// (change.fault) excuses it: no decision can foresee it.
func (s *state) happens(c change, sc *scenario) (wrong string) {
	n := &s.nodes[c.node]
	had := s.quorum()
	switch c.what {
	case addLearner:
		n.seat, n.gen, n.started, n.synced, n.owner = learner, c.gen, false, false, c.owner
		return ""
	case promote:
		voters, living := s.count()
		n.seat = voter
		s.out[c.node] = 0
		switch {
		case c.fault:
		case !n.lives():
			wrong = fmt.Sprintf("%s was given a vote, and is not alive", nameOf(c.node))
		case voters > 1 && 2*living <= voters+1 && sc.orderly():
			wrong = fmt.Sprintf("%s was given a vote, and if it failed %d of %d voters would be alive", nameOf(c.node), living, voters+1)
		}
		if c.owner != none && n.owner != c.owner {
			wrong = fmt.Sprintf("%s was given a vote by somebody who did not announce it", nameOf(c.node))
		}
	case remove:
		voters, living := s.count()
		for i, was := range s.out {
			if c.replace && !c.unseen && n.lives() && n.seat == voter && living < int(was) && !c.fault && sc.orderly() {
				wrong = fmt.Sprintf("%s makes room before %s has come back", nameOf(c.node), nameOf(uint8(i)))
			}
		}
		if c.replace && n.seat == voter {
			s.out[c.node] = uint8(voters)
		}
		if s.leader == c.node {
			s.leader = none
			// This costs only a second of writes. It cannot be prevented if
			// calls arrive late or the lock expires between check and call.
			if voters, _ := s.count(); n.lives() && voters > 1 && !c.fault && sc.orderly() {
				wrong = fmt.Sprintf("%s was removed while it led", nameOf(c.node))
			}
		}
		if c.owner != none && n.owner != c.owner {
			wrong = fmt.Sprintf("%s was removed by somebody who did not announce it", nameOf(c.node))
		}
		if c.backstop && n.seat == voter && n.lives() && !c.fault && sc.orderly() { // otherwise a promotion may arrive late
			wrong = fmt.Sprintf("the backstop removed %s, a voter that lives", nameOf(c.node))
		}
		*n = node{gen: n.gen, machine: dead, owner: none}
		if sc.rejoins(c.node) {
			n.machine = knocking // a new machine in its place
		}
		if voters, _ := s.count(); voters == 0 {
			wrong = "the last voter was removed"
		}
	}
	if voters, living := s.count(); wrong == "" && had && !s.quorum() && !c.fault {
		wrong = fmt.Sprintf("%d of %d voters are alive after a change, and nothing has failed since it was decided", living, voters)
	}
	return wrong
}

// takes reports whether the cluster accepts a change.
func (s *state) takes(c change, guard bool) bool {
	voters, living := s.count()
	n := s.nodes[c.node]
	switch c.what {
	case addLearner:
		for _, o := range s.nodes {
			if o.seat == learner {
				return false // too many learner members in cluster
			}
		}
		return n.seat == outside && (!guard || voters == 1 || 2*living > voters+1)
	case promote:
		// etcd checks the log, and whether the member was ever started, but not
		// whether it is alive.
		return n.seat == learner && n.gen == c.gen && n.started && n.synced
	default:
		if n.seat == outside || n.gen != c.gen || n.seat == voter && voters == 1 {
			return false
		}
		return !guard || n.seat == learner || !n.lives() || 2*(living-1) > voters-1
	}
}

// wrong returns the condition that does not hold in this state.
func (s *state) wrong(sc *scenario) string {
	for i, n := range s.nodes {
		if n.seat == outside || n.owner == none || !sc.fenced {
			continue // a late addition may arrive after its record is gone
		}
		if !s.owned(sc, uint8(i)) {
			return fmt.Sprintf("%s is announced, and neither a record nor a state says by whom", nameOf(uint8(i)))
		}
		for j, o := range s.nodes[:i] {
			if o.seat != outside && o.owner == n.owner {
				return fmt.Sprintf("%s and %s were announced for one owner", nameOf(uint8(j)), nameOf(uint8(i)))
			}
		}
	}
	return ""
}

// owned reports whether the owner of the member at a node can find it again: by
// the record, or by the state of Terraform.
func (s *state) owned(sc *scenario, n uint8) bool {
	m := s.nodes[n]
	r := s.records[m.owner]
	if r.node == n && (r.state == intended || r.state == announced && r.gen == m.gen) {
		return true
	}
	for i, t := range sc.tasks {
		if t.kind == join && t.owner == m.owner && s.tasks[i].pc == done && s.tasks[i].id == m.gen {
			return true
		}
	}
	return false
}

// environment emits the events that we do not cause: machines start, catch up,
// fail and come back; leaders are elected; locks expire; changes in transit
// arrive or are lost.
func (m *machinery) environment(s *state) {
	quorum, led := s.quorum(), s.led()
	for i := range s.nodes {
		at, n := uint8(i), s.nodes[i]
		if n.seat != outside && n.machine == knocking && n.link != cut {
			next := *s
			next.nodes[i].machine, next.nodes[i].started = up, true
			m.emit(happening("starts", at), next, "")
		}
		if n.seat == learner && n.lives() && n.started && !n.synced && led {
			next := *s
			next.nodes[i].synced = true
			m.emit(happening("catches up", at), next, "")
		}
		if n.link != linked {
			next := *s
			next.nodes[i].link = linked
			m.emit(happening("can be reached again", at), next, "")
		}
		if quorum && !led && n.seat == voter && n.lives() {
			next := *s
			next.elect(at)
			m.emit(happening("is elected", at), next, "")
		}
		m.faults(s, at)
	}
	switch holder := s.claim; {
	case holder == orphaned:
		next := *s
		next.claim = 0
		m.emit(happening("the lock of a process that is gone expires", none), next, "")
	case holder != 0 && s.left.freezes > 0 && (m.sc.rude || !s.sending(holder-1, m.sc)):
		next := *s
		next.claim = 0
		next.left.freezes--
		m.emit(harm("the lock expires while its holder sleeps", none), next, "")
	}
	if c := s.pending; c.what != noChange {
		dropped := *s
		dropped.pending = change{}
		m.emit(happening("the change that was on its way is lost", c.node), dropped, "")
		if quorum {
			next := dropped
			wrong := ""
			if next.takes(c, m.sc.guard) {
				wrong = next.happens(c, m.sc)
			}
			m.emit(happening("the change that was on its way arrives", c.node), next, wrong)
		}
	}
}

func (s *state) elect(n uint8) {
	s.leader = n
	for i := range s.tasks {
		if s.tasks[i].before == seenNow {
			s.tasks[i].before = seenThen
		}
	}
}

func (m *machinery) faults(s *state, at uint8) {
	n := s.nodes[at]
	if s.left.faults == 0 || n.machine == dead || n.seat == outside && n.machine != knocking {
		return
	}
	next := *s
	next.left.faults--
	for i := range next.tasks {
		next.tasks[i].fault = next.active(uint8(i))
	}
	if next.pending.what != noChange {
		next.pending.fault = true
	}
	gone := next
	gone.nodes[at].machine, gone.killed = dead, true
	m.emit(harm("dies", at), gone, "")
	if n.seat == outside || n.link != linked {
		return
	}
	apart := next
	apart.nodes[at].link = cut
	m.emit(harm("is cut off from its peers", at), apart, "")
	unseen := *s
	unseen.left.faults--
	unseen.nodes[at].link = hidden
	m.emit(harm("cannot be reached from here", at), unseen, "")
}

// sending reports whether the process has checked its lock and not yet made the
// call that follows the check.
func (s *state) sending(proc uint8, sc *scenario) bool {
	for i, t := range sc.tasks {
		if t.proc == proc && s.tasks[i].pc.sends() {
			return true
		}
	}
	return false
}
