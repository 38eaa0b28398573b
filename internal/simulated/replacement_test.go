// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package simulated

import (
	"context"
	"errors"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/driver"
)

// soldOut is a cloud that makes one machine only.
type soldOut struct{ made bool }

// Create implements [driver.Machines].
func (s *soldOut) Create(context.Context, map[string]string) (id string, err error) {
	if s.made {
		return "", errors.New("there is no other machine")
	}
	s.made = true
	return "first", nil
}

// Destroy implements [driver.Machines].
func (*soldOut) Destroy(context.Context, string) error { return nil }

// Exists implements [driver.Machines].
func (*soldOut) Exists(context.Context, string) bool { return true }

// The rule: while the replacement of one member is not over, no other living member is
// removed for its own. A plan is refused, and so is the apply of a plan that was made
// before.
func TestSecondReplacementIsRefused(t *testing.T) {
	t.Parallel()
	simulate(t, 1, "a b c d e", func(w *world) {
		spaces := map[string]*driver.Workspace{}
		for _, name := range []string{"a", "b"} {
			node := nodes([]string{name}, "1")
			ws := driver.New(w, w.provider("a b c d e"), node[0])
			ws.Machines = &soldOut{}
			_, r := ws.Up(w.Context(), w.start("machine"))
			w.ok(r)
			ws.Resources = node
			w.ok(ws.Import(w.Context(), w.start("import"), "etcd_member."+name, name))
			_, r = ws.Up(w.Context(), w.start("member"))
			w.ok(r)
			ws.Resources = nodes([]string{name}, "2")
			spaces[name] = ws
		}
		before, r := spaces["b"].Plan(w.Context(), w.start("before"))
		w.ok(r)
		_, r = spaces["a"].Up(w.Context(), w.start("a"))
		w.expect("the successor of a", w.failure(r).Summary, "there is no other machine")

		_, r = spaces["b"].Plan(w.Context(), w.start("after"))
		w.expect("the plan", w.failure(r).Summary, "This plan would endanger the cluster")
		r = spaces["b"].Apply(w.Context(), w.start("late"), before)
		w.expect("the apply of the plan before", w.failure(r).Summary, "Cannot remove member b")
		w.expect("the members", w.list(), "b c d e")
	})
}
