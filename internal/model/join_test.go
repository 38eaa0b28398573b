// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package model

import (
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// intend returns the next call of an addition: to record the intent, unless it
// is recorded already.
func (m *machinery) intend(s *state, i uint8) pc {
	if s.tasks[i].rec == (record{state: intended, node: m.sc.tasks[i].node}) {
		return jAdd
	}
	return jIntend
}

// join emits the steps of reconfigure's join.
func (m *machinery) join(s *state, i uint8) {
	t, r := m.sc.tasks[i], &s.tasks[i]
	switch r.pc {
	case jRecord:
		if !s.led() {
			m.again(s, i, "cannot read its record", jLock, true)
			return
		}
		next := *s
		next.tasks[i].rec, next.tasks[i].recFresh, next.tasks[i].pc = s.records[t.owner], true, jLook
		m.emit(m.by(i, "reads its record"), next, "")
	case jLook:
		m.tryAnnounce(s, i)
	case jUndo:
		back := func(s *state) { m.release(s, i); s.tasks[i] = run{pc: jLock, leader: none, to: none} }
		c := change{what: remove, node: r.to, gen: r.id, owner: t.owner, fault: r.fault}
		m.call(s, i, "takes its wrong announcement back", c, back, back, back)
	case jIntend:
		m.put(s, i, "writes its intent", record{state: intended, node: t.node}, jSureAdd)
	case jAdd:
		c := change{what: addLearner, node: t.node, gen: s.nodes[t.node].gen + 1, owner: t.owner, fault: r.fault}
		back := func(s *state) { m.release(s, i); s.tasks[i] = run{pc: jLock, leader: none, to: none} }
		m.call(s, i, "announces its member", c, func(s *state) {
			s.tasks[i].id, s.tasks[i].pc, s.tasks[i].tried = c.gen, jAnnounced, false
			if m.sc.mistake == announceUnrecorded { // the record is read only now
				s.tasks[i].rec, s.tasks[i].recFresh = s.records[t.owner], true
			}
		}, back, back)
	case jAnnounced:
		m.put(s, i, "records the member", record{announced, t.node, r.id, r.tried}, jMembers)
	case jRan:
		m.put(s, i, "records that its member has run", record{announced, t.node, r.id, true}, jWatch)
	case jMembers:
		switch n := s.nodes[t.node]; {
		case !s.led():
		case n.seat == outside || n.gen != r.id:
			m.fail(s, i, "finds its member gone")
		case n.started:
			if r.rec == (record{announced, t.node, r.id, true}) {
				m.to(s, i, "sees its member started", jWatch)
			} else {
				m.to(s, i, "sees its member started", jRan)
			}
		}
		m.expires(s, i)
	case jWatch:
		m.watch(s, i)
	case jPromote:
		c := change{what: promote, node: t.node, gen: r.id, owner: t.owner, fault: r.fault}
		look := func(s *state) { s.tasks[i].pc, s.tasks[i].fault = jWatch, false }
		unknown := func(s *state) { look(s); s.tasks[i].before = notSeen }
		m.call(s, i, "promotes its member", c, look, unknown, unknown)
	}
}

// expires emits that the time for a join is over: it fails without a state, and
// the member stays added.
func (m *machinery) expires(s *state, i uint8) {
	if !m.quiet {
		m.fail(s, i, "runs out of time")
	}
}

// put writes the record with compare-and-swap; it stands for join.write and join.put.
func (m *machinery) put(s *state, i uint8, what string, rec record, then pc) {
	t, r := m.sc.tasks[i], &s.tasks[i]
	switch {
	case !s.led() && then == jWatch: // it keeps waiting, and keeps its lock
		m.expires(s, i)
		return
	case !s.led():
		m.again(s, i, what+", without an answer", jLock, true)
		return
	case !m.writes(s):
		return
	case !r.recFresh:
		m.fail(s, i, "finds its record changed by another run")
		return
	}
	next := *s
	next.write(m.sc, t.owner, rec)
	next.tasks[i].rec, next.tasks[i].recFresh = rec, true
	unheard := next
	m.announcedNow(&next, i, then)
	m.emit(m.by(i, what), next, "")
	if s.left.ambiguous > 0 && then != jWatch { // while the join waits, it reads the record back
		unheard.left.ambiguous--
		m.again(&unheard, i, what+", but the answer is lost", jLock, false)
	}
}

// announcedNow continues after a write of the record. If the member already
// votes, there is nothing left to change, and the lock is released.
func (m *machinery) announcedNow(s *state, i uint8, then pc) {
	s.tasks[i].pc = then
	if then == jMembers {
		n := s.nodes[m.sc.tasks[i].node]
		if n.seat == voter && n.gen == s.tasks[i].id {
			m.release(s, i)
		}
	}
}

// write replaces a record. Operations that read it earlier have an outdated one.
func (s *state) write(sc *scenario, owner uint8, rec record) {
	s.records[owner] = rec
	for i, t := range sc.tasks {
		if t.owner == owner {
			s.tasks[i].recFresh = false
		}
	}
}

// tryAnnounce stands for join.act and join.add: Identify, DecideAdd.
func (m *machinery) tryAnnounce(s *state, i uint8) {
	t, r := m.sc.tasks[i], &s.tasks[i]
	q := s.ask('i', t.node, 0)
	q.rec = r.rec
	found := m.mind.answer(s, q)
	next := *s
	next.tasks[i].leader, next.tasks[i].fault = s.leader, false
	switch found.step {
	case membership.StepAdopt:
		next.tasks[i].id = found.gen
		ran := s.nodes[t.node].started || r.rec.ran
		if r.rec == (record{announced, t.node, found.gen, ran}) {
			m.announcedNow(&next, i, jMembers)
		} else {
			next.tasks[i].pc, next.tasks[i].tried = jAnnounced, ran
		}
		m.emit(m.by(i, "finds its member in the list"), next, "")
	case membership.StepWithdraw:
		next.tasks[i].id, next.tasks[i].to, next.tasks[i].pc = found.gen, found.found, jSureUndo
		m.emit(m.by(i, "finds its member under a wrong URL"), next, "")
	case membership.StepAnnounce:
		d := m.mind.answer(s, s.ask('a', t.node, 0))
		switch d.verdict {
		case membership.Go:
			next.tasks[i].pc = jSureAdd
			m.emit(m.by(i, "may be announced"), next, "")
		default:
			m.again(s, i, verdictOf(d), jLock, true)
		}
	default:
		m.fail(s, i, "is refused: "+string(found.code))
	}
}

// watch stands for the end of join.advance, join.voting and join.promote.
func (m *machinery) watch(s *state, i uint8) {
	t, r := m.sc.tasks[i], &s.tasks[i]
	defer m.expires(s, i)
	n := s.nodes[t.node]
	if n.seat == outside || n.gen != r.id {
		if s.led() {
			m.fail(s, i, "finds its member gone")
		}
		return
	}
	if n.seat == voter {
		if s.led() && n.lives() && n.link == linked {
			next := *s
			if m.writes(s) {
				next.turns[t.node] = 0 // Engine.endTurn
			}
			m.finish(next, i, "sees its member vote")
		}
		return
	}
	q := s.ask('p', t.node, r.id)
	q.before = r.before
	d := m.mind.answer(s, q)
	next := *s
	next.tasks[i].fault, next.tasks[i].leader = false, s.leader
	if next.tasks[i].before = notSeen; n.started && n.machine == up && n.link == linked && s.leader != none {
		next.tasks[i].before = seenNow
	}
	if d.verdict == membership.Go {
		next.tasks[i].pc = jSureVote
		m.emit(m.by(i, "may be promoted"), next, "")
	} else if next.tasks[i] != *r {
		m.emit(m.by(i, verdictOf(d)), next, "")
	}
}
