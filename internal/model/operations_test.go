// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package model

import (
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// pc is the next remote call of an operation, or the event that it waits for.
type pc uint8

const (
	idle pc = iota
	done
	failed // with an error; another apply may retry it

	jLock      // guarded.acquire: Engine.lock, the lock of this process
	jRecord    // join.look: Records.Get
	jLook      // join.look: Observe; join.act decides
	jSureUndo  // join.takeBack: hold.ensure
	jUndo      //   Remove of our own wrong addition
	jSureAdd   // join.add: hold.ensure
	jIntend    //   join.write(Intended): Records.Put, then jSureAdd again
	jAdd       //   AddLearner
	jAnnounced // join.write(Announced): Records.Put
	jMembers   // join.advance: Members, until the name is published
	jRan       // join.write(Announced): Records.Put, that the member has run
	jWatch     // join.advance: Observe; join.promote or join.voting decide
	jSureVote  // join.promote: hold.ensure
	jPromote   //   Promote

	lLock   // guarded.acquire: Engine.lock
	lLook   // leave.look: Observe; DecideRemove
	lSure   // leave.act: hold.ensure
	lMove   //   MoveLeader
	lBegin  //   leave.begin: Turns.Put, then lSure again
	lRemove //   Remove
	lForget // leave.forget: Records.Delete, or Get and Put

	wRecord // Engine.Withdraw, withdrawal.trace: Records.Get
	wLook   //   Observe; DecideWithdraw
	wLock   // withdrawal.drop: Engine.lock
	wSure   //   hold.ensure
	wDrop   //   Records.Delete
)

// sends reports whether the operation is between the check of its lock and the
// call that follows the check.
func (p pc) sends() bool {
	switch p {
	case jUndo, jIntend, jAdd, jPromote, lMove, lBegin, lRemove, wDrop:
		return true
	}
	return false
}

// step is an event, for a trace.
type step struct {
	what string
	task uint8 // none for an event that no task causes
	node uint8
	harm bool // it is a failure
}

func happening(what string, n uint8) step { return step{what: what, task: none, node: n} }
func harm(what string, n uint8) step      { return step{what: what, task: none, node: n, harm: true} }

// machinery generates the steps of one scenario.
type machinery struct {
	sc   *scenario
	mind *mind
	emit func(step, state, string)
	// quiet omits failures of the environment and operations that give up.
	quiet bool
}

// next emits all possible steps in a state.
func (m *machinery) next(s *state) {
	m.environment(s)
	for p := range uint8(maxProcs) {
		m.crash(s, p)
	}
	for i := range m.sc.tasks {
		m.operation(s, uint8(i))
	}
}

// active reports whether the operation runs.
func (s *state) active(i uint8) bool { return s.tasks[i].pc > failed }

// by returns a step of an operation.
func (m *machinery) by(i uint8, what string) step {
	return step{what: what, task: i, node: m.sc.tasks[i].node}
}

// operation emits the possible next steps of one operation.
func (m *machinery) operation(s *state, i uint8) {
	t, r := m.sc.tasks[i], &s.tasks[i]
	switch {
	case r.pc == idle:
		if m.mayStart(s, i) {
			m.to(s, i, "begins", [...]pc{join: jLock, leave: lLock, withdraw: wRecord}[t.kind])
		}
		return
	case !s.active(i):
		return
	}
	if r.claim && s.claim != t.proc+1 && !m.quiet && m.sc.mistake != lockUnchecked { // hold.ctx has ended: LockLost
		m.fail(s, i, "stops, having lost the lock")
	}
	switch r.pc {
	case jLock, lLock, wLock:
		if s.locks[t.proc] == none {
			next := *s
			next.locks[t.proc] = i
			switch r.pc {
			case jLock:
				next.tasks[i].pc = jRecord
			case lLock:
				next.tasks[i].pc = lLook
			case wLock:
				next.tasks[i].pc = wSure
			}
			m.emit(m.by(i, "takes the lock of its process"), next, "")
		}
	case jSureUndo:
		m.sure(s, i, jUndo, jRecord)
	case jSureAdd:
		if m.sc.mistake == announceUnrecorded {
			m.sure(s, i, jAdd, jRecord)
		} else {
			m.sure(s, i, m.intend(s, i), jRecord)
		}
	case wSure:
		m.sure(s, i, wDrop, wRecord)
	case jSureVote:
		m.sure(s, i, jPromote, jWatch)
	case lSure:
		next := lRemove
		switch {
		case r.to != none:
			next = lMove
		case t.replacement && !r.begun && s.nodes[t.node].seat == voter && m.sc.mistake != turnUnrecorded:
			next = lBegin
		}
		m.sure(s, i, next, lLook)
	default:
		switch t.kind {
		case join:
			m.join(s, i)
		default:
			m.leave(s, i)
		}
	}
}

// to emits that the operation continues at p.
func (m *machinery) to(s *state, i uint8, what string, p pc) {
	next := *s
	next.tasks[i].pc = p
	m.emit(m.by(i, what), next, "")
}

// sure stands for hold.ensure: it checks or takes the lock between processes.
// After the lock was taken, everything is observed again.
func (m *machinery) sure(s *state, i uint8, send, look pc) {
	t, r := m.sc.tasks[i], &s.tasks[i]
	next := *s
	switch {
	case m.sc.mistake == removeUnlocked && t.kind == leave:
		m.to(s, i, "goes on without the lock", send)
	case r.claim && (s.claim == t.proc+1 || m.sc.mistake == lockUnchecked):
		m.to(s, i, "has made sure of its lock", send)
	case r.claim:
		m.fail(s, i, "finds its lock lost")
	case s.claim == 0 && m.writes(s):
		next.claim = t.proc + 1
		next.tasks[i].claim = true
		next.tasks[i].pc = look
		if m.sc.mistake == noLookUnderLock {
			next.tasks[i].pc = send
		}
		m.emit(m.by(i, "takes the lock"), next, "")
	case !s.led():
		switch look {
		case wRecord:
			m.expires(s, i)
		case lLook: // it keeps the lock of its process and observes again
			m.to(s, i, "cannot take the lock", look)
			m.expires(s, i)
		case jWatch:
			m.to(s, i, "cannot take the lock", look)
		default:
			m.again(s, i, "cannot take the lock", jLock, true)
		}
	}
}

// writes reports whether a write is answered now.
func (m *machinery) writes(s *state) bool {
	return s.led() && (!m.sc.fenced || s.pending.what == noChange)
}

// release releases the locks of the operation; it stands for hold.release.
func (m *machinery) release(s *state, i uint8) {
	t, r := m.sc.tasks[i], &s.tasks[i]
	if s.locks[t.proc] == i {
		s.locks[t.proc] = none
	}
	if r.claim && m.sc.mistake != lockKept {
		r.claim = false
		if s.claim == t.proc+1 {
			// The lock is deleted, or expires later.
			if s.claim = 0; !s.led() {
				s.claim = orphaned
			}
		}
	}
}

// end ends the operation. Only its ID still matters, and only if it succeeded.
func (m *machinery) end(s *state, i uint8, p pc) {
	m.release(s, i)
	s.tasks[i] = run{pc: p, id: s.tasks[i].id, leader: none, to: none}
	if p == failed {
		s.tasks[i].id = 0
	}
}

func (m *machinery) finish(s state, i uint8, what string) {
	m.end(&s, i, done)
	m.emit(m.by(i, what), s, "")
}

func (m *machinery) fail(s *state, i uint8, what string) {
	next := *s
	m.end(&next, i, failed)
	m.emit(m.by(i, what), next, "")
}

// again emits that the operation releases its lock and starts again and, if
// mayFail, that it gives up.
func (m *machinery) again(s *state, i uint8, what string, p pc, mayFail bool) {
	next := *s
	m.release(&next, i)
	id := next.tasks[i].id
	next.tasks[i] = run{pc: p, leader: none, to: none, tried: next.tasks[i].tried, claim: next.tasks[i].claim}
	if m.sc.tasks[i].kind == withdraw {
		next.tasks[i].id, next.tasks[i].rec = id, s.tasks[i].rec
	}
	m.emit(m.by(i, what), next, "")
	if mayFail && !m.quiet {
		m.fail(s, i, "gives up")
	}
}

// call emits the outcomes of a call that changes the membership.
func (m *machinery) call(s *state, i uint8, what string, c change, answered func(*state), refused, unanswered func(*state)) {
	at := m.by(i, what)
	if m.sc.fenced && s.pending.what != noChange || !s.led() {
		// The call hangs until its deadline.
		if !s.led() {
			next := *s
			unanswered(&next)
			m.emit(m.by(i, what+", without an answer"), next, "")
		}
		return
	}
	if !s.takes(c, m.sc.guard) {
		next := *s
		refused(&next)
		m.emit(m.by(i, what+", and is refused"), next, "")
		return
	}
	next := *s
	wrong := next.happens(c, m.sc)
	answered(&next)
	m.emit(at, next, wrong)
	if s.left.ambiguous == 0 {
		return
	}
	unheard := *s
	unheard.left.ambiguous--
	wrong = unheard.happens(c, m.sc)
	unanswered(&unheard)
	m.emit(m.by(i, what+", but the answer is lost"), unheard, wrong)
	if s.pending.what == noChange {
		late := *s
		late.left.ambiguous--
		late.pending = c
		unanswered(&late)
		m.emit(m.by(i, what+", and nobody knows whether it arrived"), late, "")
	}
}

// verdictOf returns the text of an answer for a trace.
func verdictOf(a answer) string {
	if a.verdict == membership.Wait {
		return "must wait: " + string(a.code)
	}
	return "is refused: " + string(a.code)
}
