// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// standstill is how long a member is frozen: longer than an election and than
// etcd's own timeouts for a member, shorter than any other timeout.
const standstill = 10 * time.Second

// calls returns how often the tap has seen the method.
func (m *matrix) calls(method string) int {
	n := 0
	for _, c := range m.tap.Calls() {
		if c.Method == method {
			n++
		}
	}
	return n
}

// A member freezes in the middle of an operation. The run waits, or continues
// if the others have the quorum, and succeeds by itself when the member runs
// again. In the meantime no member is promoted unless it was before.
func TestAccFrozenMember(t *testing.T) {
	t.Parallel()
	type moment struct {
		step  step
		at    etcdtest.Call
		when  etcdtest.Moment
		calls map[string]int // the maximum while a member is frozen
	}
	announced := moment{joining, etcdtest.Call{Method: "MemberAdd", Nth: 1}, etcdtest.After, map[string]int{"MemberPromote": 0}}
	promoted := moment{joining, etcdtest.Call{Method: "MemberPromote", Nth: 1}, etcdtest.Before, map[string]int{"MemberPromote": 1}}
	locked := moment{promoting, etcdtest.Call{Method: "LeaseGrant", Nth: 1}, etcdtest.After, map[string]int{"MemberPromote": 0}}
	leaves := moment{removing, etcdtest.Call{Method: "LeaseGrant", Nth: 1}, etcdtest.After, nil}
	aside := moment{step: removing}
	learns := moment{step: following}
	a := func(*matrix) string { return "a" }
	d := func(*matrix) string { return "d" }
	for name, c := range map[string]struct {
		victim  func(m *matrix) string
		moments []moment
		short   bool
	}{
		// Before each operation, a becomes the leader, or another member does.
		"the leader": {a, []moment{announced, leaves, learns, locked, aside}, false},
		"a follower": {a, []moment{announced, leaves, learns, locked, aside}, true},
		"the member": {d, []moment{promoted, leaves, learns, locked, aside}, false},
	} {
		if !c.short && !etcdtest.Full() {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMatrix(t)
			writer := m.Writer("b", "c")
			moments := c.moments
			if !etcdtest.Full() {
				moments = moments[:2]
			}
			for _, at := range moments {
				lead := "b"
				if name == "the leader" {
					lead = "a"
				}
				m.makeLead(lead, "a", "b", "c")
				at.step.lead = false
				if at.at.Method == "" {
					m.undisturbed(at.step)
					continue
				}
				m.freeze(at.step, at.at, at.when, c.victim(m), at.calls)
			}
			m.MustNotPause(writer, Pause, "a", "b", "c")
		})
	}
}

// freeze runs a step during which a member freezes at the given moment.
func (m *matrix) freeze(s step, at etcdtest.Call, when etcdtest.Moment, victim string, most map[string]int) {
	m.t.Helper()
	m.begin(s)
	thawed := make(chan map[string]int, 1)
	m.tap.Watch(at, when, func() bool {
		err := m.SignalFile(victim, "etcd.pid", syscall.SIGSTOP)
		time.AfterFunc(standstill, func() {
			seen := map[string]int{}
			for method := range most {
				seen[method] = m.calls(method)
			}
			_ = m.SignalFile(victim, "etcd.pid", syscall.SIGCONT) // its machine may be gone
			if err != nil {
				m.t.Errorf("%s cannot be frozen: %v", victim, err)
			}
			thawed <- seen
		})
		return true
	})
	out := m.Apply().MustSucceed()
	if !m.tap.Fired() {
		m.t.Fatalf("%s: %s did not come", s.name, at)
	}
	for method, n := range <-thawed {
		if n > most[method] {
			m.t.Errorf("%s: %d × %s while %s stood still", s.name, n, method, victim)
		}
	}
	m.t.Logf("%s, %s frozen %s %s: done after %v", s.name, victim, when, at, out.Took.Round(time.Millisecond))
	m.mustHaveCome(s)
}

// A run that is frozen for longer than its lock lives continues in the middle
// of an operation, after another run has taken the lock. It notices this, stops
// and reports it. The next apply does the rest.
func TestAccFrozenRun(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		step step
		// at is the call, counted from the lease of the lock, after which the
		// run freezes.
		at etcdtest.Call
		// next is the call that it must not make; says is its report on d.
		next, says string
		// before are steps that run undisturbed.
		before []step
	}{
		{removing, etcdtest.Call{Method: "MoveLeader", Nth: 1}, "MemberRemove", " is a voter now.", []step{joining}},
		{joining, etcdtest.Call{Method: "MemberAdd", Nth: 1}, "MemberPromote", " is a learner now.", nil},
		{promoting, etcdtest.Call{Method: "MemberList", Nth: 1}, "MemberPromote", " is a learner now.", []step{following}},
	} {
		if c.step.name != removing.name && !etcdtest.Full() {
			continue
		}
		t.Run(c.step.name, func(t *testing.T) {
			t.Parallel()
			m := newMatrix(t)
			for _, s := range c.before {
				m.undisturbed(s)
			}
			other := m.Sibling()
			m.begin(c.step)
			started := make(chan *Running, 1)
			frozen := make(chan []int, 1)
			m.tap.Watch(etcdtest.Call{Method: "LeaseGrant", Nth: 1}, etcdtest.After, func() bool {
				m.tap.Watch(c.at, etcdtest.After, func() bool {
					pids := (<-started).Providers()
					for _, pid := range pids {
						_ = syscall.Kill(pid, syscall.SIGSTOP)
					}
					frozen <- pids
					return true
				})
				return true
			})
			run := m.Start("apply")
			started <- run
			pids := <-frozen
			// Its lock blocks other runs until it expires. Then the next run
			// starts.
			other.Destroy("-target=" + Address("etcd_member", "c")).MustSucceed()
			if m.lock() != nil {
				t.Error("the lock is held")
			}
			if n := m.calls(c.next); n > 0 {
				t.Fatalf("%s came too early", c.next)
			}
			for _, pid := range pids {
				_ = syscall.Kill(pid, syscall.SIGCONT)
			}
			out := run.Wait().MustFail()
			if n := m.calls(c.next); n > 0 {
				t.Errorf("%d × %s after the lock was lost", n, c.next)
			}
			e := out.Errors()
			if len(e) != 1 {
				t.Fatalf("%d errors, want 1:\n%s", len(e), out.Report())
			}
			e[0].MustContain(t, e[0].Summary, "This run lost the lock on membership changes: it is gone.", "It stopped before its next step.",
				"According to the member list d (", c.says, "Apply again: it carries on from there.")
			m.tap.Watch(etcdtest.Call{}, etcdtest.Before, nil)

			m.Drop("c") // as in the other directory
			m.Apply().MustSucceed()
			want := slices.DeleteFunc(slices.Clone(c.step.want), func(name string) bool { return name == "c" })
			m.MustVote(want...)
			m.Plan().MustBeEmpty()
		})
	}
}
