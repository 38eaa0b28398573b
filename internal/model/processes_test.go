// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package model

// mayStart reports whether Terraform can start the operation now.
func (m *machinery) mayStart(s *state, i uint8) bool {
	t := m.sc.tasks[i]
	if s.tasks[i].pc != idle || t.after != none && s.tasks[t.after].pc != done {
		return false
	}
	if t.insteadOf != none && s.tasks[t.insteadOf].pc != failed {
		return false
	}
	running := uint8(0)
	for j, o := range m.sc.tasks {
		if o.proc == t.proc && s.active(uint8(j)) {
			running++
		}
	}
	return running < m.sc.parallel[t.proc]
}

// crash emits that a process is killed and run again: with its state, or with a
// state in which nothing of this Terraform run was saved.
func (m *machinery) crash(s *state, p uint8) {
	some, failures := false, false
	for i, t := range m.sc.tasks {
		if t.proc == p && s.active(uint8(i)) {
			some = true
		}
		if t.proc == p && s.tasks[i].pc == failed && !m.sc.replaced(i) {
			failures = true
		}
	}
	if !some && failures { // another apply, after one that ended with errors
		again := *s
		m.restart(&again, p, true)
		m.emit(happening("process "+string(rune('1'+p))+" is applied again", none), again, "")
	}
	if !some || s.left.crashes == 0 {
		return
	}
	next := *s
	next.left.crashes--
	next.locks[p] = none
	if next.claim == p+1 {
		next.claim = orphaned
	}
	saved := next
	m.restart(&saved, p, true)
	m.emit(harm("process "+string(rune('1'+p))+" is killed, and applied again with its state", none), saved, "")
	lost := next
	m.restart(&lost, p, false)
	if lost != saved {
		m.emit(harm("process "+string(rune('1'+p))+" is killed, and applied again without what it had done", none), lost, "")
	}
}

func (m *machinery) restart(s *state, p uint8, saved bool) {
	for i, t := range m.sc.tasks {
		if t.proc != p || s.tasks[i].pc == idle || saved && s.tasks[i].pc == done {
			continue
		}
		fresh := run{leader: none, to: none}
		if m.sc.replaced(i) && s.tasks[i].pc != done {
			fresh.pc = failed
		}
		s.tasks[i] = fresh
	}
}

// replaced reports whether another task follows if this one is interrupted.
func (sc *scenario) replaced(i int) bool {
	for _, t := range sc.tasks {
		if t.insteadOf != none && int(t.insteadOf) == i {
			return true
		}
	}
	return false
}

// rejoins reports whether a member that leaves the node makes room for a new machine.
func (sc *scenario) rejoins(n uint8) bool {
	for _, t := range sc.tasks {
		if t.node == n && t.kind == leave && t.replacement {
			return true
		}
	}
	return false
}
