// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package model

import (
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// leavingNow stands for ProcessState.leaving: the members that this process removes.
func (m *machinery) leavingNow(s *state, p uint8) (out uint8) {
	for i, t := range m.sc.tasks {
		if t.kind != join && t.proc == p && s.active(uint8(i)) && s.tasks[i].pc < wRecord {
			if n := s.nodes[t.node]; n.seat != outside && n.gen == m.subject(s, uint8(i)) {
				out |= 1 << t.node
			}
		}
	}
	return out
}

// subject returns the ID of the member to remove: the one in state, or the one
// that the backstop found.
func (m *machinery) subject(s *state, i uint8) uint8 {
	if m.sc.tasks[i].kind == withdraw {
		return s.tasks[i].id
	}
	return m.sc.tasks[i].gen
}

// leave emits the steps of reconfigure's leave, and of the backstop before it.
func (m *machinery) leave(s *state, i uint8) {
	t, r := m.sc.tasks[i], &s.tasks[i]
	next := *s
	switch r.pc {
	case wRecord, wLook, wDrop:
		m.withdraw(s, i)
	case lLook:
		m.attempt(s, i)
	case lMove:
		next.tasks[i].pc, next.tasks[i].fault = lLook, false
		if s.led() && s.leader == r.leader && s.nodes[r.to].seat == voter && s.nodes[r.to].lives() {
			next.elect(r.to)
			next.tasks[i].to = none
			m.emit(m.by(i, "moves leadership away"), next, "")
		} else {
			next.tasks[i].to = none
			m.emit(m.by(i, "cannot move leadership"), next, "")
		}
	case lBegin:
		voters, _ := s.count()
		if m.writes(s) {
			next.turns[t.node] = uint8(voters)
			next.clearTurns(t.node)
			next.tasks[i].begun, next.tasks[i].pc = true, lSure
			m.emit(m.by(i, "puts its turn on record"), next, "")
		} else if !s.led() {
			m.to(s, i, "cannot put its turn on record", lLook)
		}
	case lRemove:
		c := change{what: remove, node: t.node, gen: m.subject(s, i), owner: none, fault: r.fault, replace: t.replacement, unseen: r.unseen, backstop: t.kind == withdraw}
		look := func(s *state) { s.tasks[i].pc, s.tasks[i].fault = lLook, false }
		sent := func(s *state) { look(s); s.tasks[i].tried = true }
		refused := look
		if n := s.nodes[t.node]; n.seat == outside || n.gen != c.gen {
			refused = sent // not found: already removed
		}
		m.call(s, i, "removes its member", c, sent, refused, look)
	case lForget:
		if !m.writes(s) {
			// It is retried for a while; then the record does not change.
			if !s.led() {
				m.finish(*s, i, "has left")
			}
			return
		}
		m.forget(&next, i)
		m.finish(next, i, "has left")
	}
}

// withdraw emits the steps of reconfigure's backstop, up to the point where an
// ordinary removal begins.
func (m *machinery) withdraw(s *state, i uint8) {
	t, r := m.sc.tasks[i], &s.tasks[i]
	next := *s
	switch r.pc {
	case wRecord:
		switch {
		case !s.led():
			m.expires(s, i)
		case s.records[t.owner].state == noRecord:
			m.finish(*s, i, "finds no record")
		default:
			next.tasks[i].rec, next.tasks[i].pc = s.records[t.owner], wLook
			m.emit(m.by(i, "reads the record"), next, "")
		}
	case wLook:
		q := s.ask('w', t.node, 0)
		q.rec = r.rec
		found := m.mind.answer(s, q)
		holds := s.locks[t.proc] == i
		careless := m.sc.mistake == withdrawUnlocked
		next.tasks[i].left = found.unmanaged
		switch {
		case holds && found.verdict != membership.Done:
			m.release(&next, i)
			next.tasks[i] = run{pc: wRecord, leader: none, to: none}
			m.emit(m.by(i, "finds something else than before"), next, "")
		case found.verdict == membership.Go:
			next.tasks[i] = run{pc: lLock, id: found.gen, rec: r.rec, leader: none, to: none}
			m.emit(m.by(i, "finds what was announced"), next, "")
		case found.verdict != membership.Done && !careless:
			next.tasks[i].pc = wRecord
			m.emit(m.by(i, verdictOf(found)), next, "")
			m.expires(s, i)
		case holds:
			next.tasks[i].pc = wSure
			m.emit(m.by(i, "finds nothing to remove"), next, "")
		case r.rec.state == intended && !careless:
			next.tasks[i].pc = wLock
			m.emit(m.by(i, "finds nothing that was announced"), next, "")
		default:
			next.tasks[i].pc = wDrop
			m.emit(m.by(i, "finds nothing to remove"), next, "")
		}
	case wDrop:
		if m.writes(s) {
			if n := &next.nodes[t.node]; r.left && n.owner == t.owner {
				n.owner = none // a warning tells the operator that it is no longer managed
			}
			next.write(m.sc, t.owner, record{})
			m.finish(next, i, "deletes the record")
		} else {
			m.expires(s, i)
		}
	}
}

// clearTurns deletes the turns that are over; it stands for the end of leave.begin.
func (s *state) clearTurns(own uint8) {
	_, living := s.count()
	for i, voters := range s.turns {
		if n := s.nodes[i]; i != int(own) && (n.seat == voter && n.lives() && n.link == linked || living >= int(voters)) {
			s.turns[i] = 0
		}
	}
}

// forget stands for leave.forget.
func (m *machinery) forget(s *state, i uint8) {
	t := m.sc.tasks[i]
	rec := s.records[t.owner]
	switch {
	case !t.replacement:
		s.turns[t.node] = 0
		s.write(m.sc, t.owner, record{})
	case rec.state != noRecord && rec.state != intended && rec.gen == m.subject(s, i):
		rec.state, rec.ran = removed, true // a member that leaves was seen running
		s.write(m.sc, t.owner, rec)
	}
}

// attempt stands for leave.look: one observation, DecideRemove and its
// consequences. The lock is held from the first change until it has settled.
func (m *machinery) attempt(s *state, i uint8) {
	t, r := m.sc.tasks[i], &s.tasks[i]
	q := s.ask('r', t.node, m.subject(s, i))
	if q.more, q.flag = m.leavingNow(s, t.proc), t.replacement; q.flag {
		q.turns = s.turns
	}
	d := m.mind.answer(s, q)
	next := *s
	next.tasks[i].fault, next.tasks[i].leader, next.tasks[i].to = false, s.leader, none
	switch d.verdict {
	case membership.Done: // leave.survivorsAgree; with Done there is a leader
		next.tasks[i].pc = lForget
		m.emit(m.by(i, "finds its member gone"), next, "")
	case membership.Go:
		if m.stale(s, i) {
			m.release(&next, i)
			next.tasks[i] = run{pc: wRecord, leader: none, to: none}
			m.emit(m.by(i, "finds its member other than before"), next, "")
			return
		}
		next.tasks[i].to, next.tasks[i].pc = d.moveTo, lSure
		next.tasks[i].unseen = t.replacement && s.nodes[t.node].link == hidden
		m.emit(m.by(i, "may leave"), next, "")
	case membership.Wait:
		if m.sc.mistake == lockKeptWaiting {
			return
		}
		m.again(s, i, verdictOf(d), lLock, false)
		m.expires(s, i)
	default:
		if d.code == membership.LastVoter && !t.replacement {
			m.finish(*s, i, "is the last voter, and is forgotten")
			return
		}
		m.again(s, i, verdictOf(d), lLock, !r.tried)
		if r.tried {
			m.expires(s, i)
		}
	}
}

// stale stands for withdrawal.still: the backstop would no longer remove the
// member.
func (m *machinery) stale(s *state, i uint8) bool {
	t, r := m.sc.tasks[i], &s.tasks[i]
	if t.kind != withdraw {
		return false
	}
	q := s.ask('w', t.node, 0)
	q.rec = r.rec
	a := m.mind.answer(s, q)
	return a.verdict != membership.Go || a.gen != r.id
}
