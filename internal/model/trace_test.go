// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package model

import (
	"fmt"
	"strings"
)

// explain finds the steps that lead to the failure, by a second search that
// records them.
func (q *search) explain() {
	if !q.trails {
		again := search{sc: q.sc, quiet: q.quiet, trails: true}
		again.run()
		if again.fault != nil {
			q.fault = again.fault
		}
		return
	}
	f := q.fault
	at := f.state
	if f.last.what != "" {
		f.trace = append(f.trace, q.say(f.last))
	} else {
		f.trace = append(f.trace, q.queue[at].describe(&q.sc))
	}
	for q.trail[at].step.what != "it begins" {
		f.trace = append(f.trace, q.say(q.trail[at].step))
		at = q.trail[at].from
	}
	f.trace = append(f.trace, fmt.Sprintf("it begins; %s leads", nameOf(q.queue[at].leader)))
	for i, j := 0, len(f.trace)-1; i < j; i, j = i+1, j-1 {
		f.trace[i], f.trace[j] = f.trace[j], f.trace[i]
	}
}

func (q *search) say(st step) string {
	if st.task != none {
		t := q.sc.tasks[st.task]
		return fmt.Sprintf("process %d, %s %s: %s", t.proc+1, [...]string{"join", "leave", "withdraw"}[t.kind], nameOf(t.node), st.what)
	}
	if st.node != none {
		return nameOf(st.node) + " " + st.what
	}
	return st.what
}

// describe describes the state of all members and operations.
func (s *state) describe(sc *scenario) string {
	var out []string
	for i, n := range s.nodes {
		if n.seat != outside {
			out = append(out, fmt.Sprintf("%s is a %s, %s", nameOf(uint8(i)), [...]string{"", "learner", "voter"}[n.seat], [...]string{"not started", "up", "dead"}[n.machine]))
		}
	}
	for i, t := range sc.tasks {
		out = append(out, fmt.Sprintf("the %s of %s is at step %d", [...]string{"join", "leave", "withdraw"}[t.kind], nameOf(t.node), s.tasks[i].pc))
	}
	switch s.claim {
	case 0:
	case orphaned:
		out = append(out, "the lock is nobody's")
	default:
		out = append(out, fmt.Sprintf("process %d has the lock", s.claim))
	}
	return strings.Join(out, "; ")
}
