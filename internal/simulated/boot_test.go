// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package simulated

import (
	"strings"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdsim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/joinscript/rules"
)

// form makes machines that form a cluster.
func form(w *world, names string) *fleet {
	f := newFleet(w)
	for _, name := range strings.Fields(names) {
		f.add(name, environment(name, names, false))
	}
	w.rest(time.Minute)
	return f
}

// What becomes of a machine that is made again, or that loses its data, before and after
// its member was replaced by a learner.
func TestMachinesStartAgain(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		lose   func(*fleet)
		before rules.Decision
	}{
		"another machine":                 {func(f *fleet) { f.lose("b"); f.add("b", environment("b", "a b c", false)) }, rules.Wait},
		"without data (C8)":               {func(f *fleet) { f.wipe("b") }, rules.Wait},
		"another one with its data (C9)":  {func(f *fleet) { f.keep["b"] = true; f.lose("b"); f.add("b", environment("b", "a b c", false)) }, ""},
		"the first, in its window (C11)":  {func(f *fleet) { f.lose("a"); f.add("a", environment("a", "a b c", false)) }, rules.Wait},
		"the same one, which goes on":     {func(f *fleet) { f.stop("b"); f.start("b") }, ""},
		"one that joined by its peers":    {func(f *fleet) { f.lose("b"); f.add("b", environment("b", "a c", true)) }, rules.Wait},
		"one that was frozen for an hour": {func(f *fleet) { f.w.members["b"].Freeze(); f.w.rest(time.Hour); f.w.members["b"].Thaw() }, ""},
	} {
		simulate(t, 1, "", func(w *world) {
			f := form(w, "a b c")
			name := "b"
			if strings.HasPrefix(what, "the first") {
				name = "a"
			}
			old := w.members[name].ID()
			c.lose(f)
			w.rest(time.Hour)
			w.expect(what+": before", f.of(name).state, c.before)
			if _, err := w.client("c").MemberRemove(w.Context(), old); err != nil {
				w.Fatal(what, err)
			}
			w.rest(10 * time.Minute)
			w.expect(what+": removed", f.of(name).state, rules.Wait)
			if _, err := w.client("c").MemberAddAsLearner(w.Context(), []string{etcdsim.PeerURL(name)}); err != nil {
				w.Fatal(what, err)
			}
			w.rest(time.Minute)
			w.expect(what+": added", f.of(name).state, "")
			if want := "(" + name + ")"; !strings.Contains(w.list(), want) {
				t.Errorf("%s: %s", what, w.list())
			}
		})
	}
}
