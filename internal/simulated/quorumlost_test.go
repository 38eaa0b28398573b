// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package simulated

import (
	"strings"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/driver"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdsim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/joinscript/rules"
)

// Without a quorum, a plan and its apply take a few seconds in addition to the five for
// which a refusal must hold. A member that does not answer costs a request timeout once in
// each of both.
func TestQuorumLostIsRefusedSoon(t *testing.T) {
	t.Parallel()
	for how, fail := range map[string]func(p *etcdsim.Process){"off": (*etcdsim.Process).PowerOff, "frozen": (*etcdsim.Process).Freeze} {
		for _, c := range []struct {
			want, says     string
			planned, after time.Duration
		}{
			{"a b c d", "Cannot add member d", 5 * time.Second, 11 * time.Second},
			{"b c", "Cannot remove member a", 4 * time.Second, 8 * time.Second},
			{"a b", "Cannot remove member c", 4 * time.Second, 8 * time.Second},
		} {
			t.Run(c.want+" "+how, func(t *testing.T) {
				t.Parallel()
				simulate(t, 1, "a b c", func(w *world) {
					ws := w.adopt("a b c")
					fail(w.members["b"])
					fail(w.members["c"])
					w.rest(time.Minute)
					if how == "frozen" {
						c.planned, c.after = c.planned+8*time.Second, c.after+8*time.Second
					}
					ws.Resources = members(c.want)
					begin := time.Now()
					plan, r := ws.Plan(w.Context(), w.start("plan"))
					w.ok(r)
					if took := time.Since(begin); took > c.planned {
						t.Errorf("the plan took %v", took)
					}
					begin = time.Now()
					w.fails("apply", ws.Apply(w.Context(), w.start("apply"), plan), c.says)
					if took := time.Since(begin); took > c.after || took < 5*time.Second {
						t.Errorf("the apply took %v", took)
					}
				})
			})
		}
	}
}

// An election, or the restart of a majority that takes a few seconds, is no loss of the
// quorum, whenever it begins.
func TestRestartIsNoLossOfQuorum(t *testing.T) {
	t.Parallel()
	for _, names := range []string{"a", "b c", "a b c"} {
		for _, want := range []string{"a b c d", "a b"} {
			for at := time.Duration(0); at < 2*time.Second; at += 700 * time.Millisecond {
				t.Run(want+" without "+names+" after "+at.String(), func(t *testing.T) {
					t.Parallel()
					simulate(t, 1, "a b c", func(w *world) {
						ws := w.adopt("a b c")
						ws.Machines, ws.Resources = newFleet(w), members(want)
						if strings.Contains(want, "d") {
							ws.Resources = append(ws.Resources, driver.Resource{Type: "machine", Name: "d", Values: driver.Values{"name": "d", "image": "1"}})
						}
						go func() {
							for _, step := range []struct {
								rest time.Duration
								do   func(*etcdsim.Process)
							}{{at, (*etcdsim.Process).PowerOff}, {3 * time.Second, func(p *etcdsim.Process) { _ = p.Start() }}} {
								if w.schedule.Clock("restart").Sleep(w.Context(), step.rest) != nil {
									return
								}
								for _, name := range strings.Fields(names) {
									step.do(w.members[name])
								}
							}
						}()
						_, r := ws.Up(w.Context(), w.start("restarting"))
						w.ok(r)
						w.expect("members", w.list(), want)
					})
				})
			}
		}
	}
}

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
