// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package model

import (
	"slices"
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// in returns the rules with one of them replaced.
func in(change func(*rules)) rules {
	r := theRules
	change(&r)
	return r
}

// instead ignores some reasons that prevent a change.
func instead(d membership.Decision, codes ...membership.Code) membership.Decision {
	if slices.Contains(codes, d.Code) {
		return membership.Decision{Verdict: membership.Go}
	}
	return d
}

// with adds a mistake to the options of a scenario.
func with(o options, m mistake, r rules) options {
	o.mistake, o.rules = m, r
	return o
}

// TestSearchFindsMistakes adds mistakes to the rules and to the protocol around
// them. The search must find the consequence of each one and show its trace.
func TestSearchFindsMistakes(t *testing.T) {
	o0, i0 := replaces(0, 0, 0, 0)
	o1, i1 := replaces(1, 1, 1, 2)
	both := [maxProcs]uint8{1, 1}
	pair := []task{leaves(0, 0, 0), leaves(1, 1, 1)}
	back := task{kind: withdraw, proc: 1, node: 1, owner: 0, after: none, insteadOf: 0}
	for _, c := range []struct {
		name string
		sc   scenario
		want string
	}{
		{"a learner is promoted that does not answer", scenario{
			voters: 1, tasks: []task{joins(0, 1, 0)}, budget: budget{faults: 1},
			options: with(orderly, noMistake, in(func(r *rules) {
				r.promote = func(s membership.Snapshot, p membership.PromoteRequest) membership.Decision {
					return instead(membership.DecidePromote(s, p), membership.NotAlive)
				}
			})),
		}, "m2 was given a vote, and is not alive"},
		{"the newcomer is not counted as failed", scenario{
			voters: 3, tasks: []task{joins(0, 3, 0)}, budget: budget{faults: 1},
			options: with(orderly, noMistake, in(func(r *rules) {
				r.promote = func(s membership.Snapshot, p membership.PromoteRequest) membership.Decision {
					return instead(membership.DecidePromote(s, p), membership.MemberDown)
				}
			})),
		}, "if it failed 2 of 4 voters would be alive"},
		{"a member leaves although the others are too few", scenario{
			voters: 3, tasks: []task{leaves(0, 0, 0)}, budget: budget{faults: 1},
			options: with(options{fenced: true, rude: true}, noMistake, in(func(r *rules) {
				r.remove = func(s membership.Snapshot, p membership.RemoveRequest) membership.Decision {
					return instead(membership.DecideRemove(s, p), membership.BelowQuorum)
				}
			})),
		}, "1 of 2 voters are alive after a change"},
		{"the leader does not hand over", scenario{
			voters: 3, tasks: []task{leaves(0, 0, 0)},
			options: with(orderly, noMistake, in(func(r *rules) {
				r.remove = func(s membership.Snapshot, p membership.RemoveRequest) membership.Decision {
					d := membership.DecideRemove(s, p)
					d.MoveLeaderTo = 0
					return d
				}
			})),
		}, "m1 was removed while it led"},
		{"the last voter is to be removed", scenario{
			voters: 1, tasks: []task{leaves(0, 0, 0)},
			options: with(orderly, noMistake, in(func(r *rules) {
				r.remove = func(s membership.Snapshot, p membership.RemoveRequest) membership.Decision {
					return instead(membership.DecideRemove(s, p), membership.LastVoter)
				}
			})),
		}, "the end cannot be reached"},
		{"somebody else's announcement is taken for ours", scenario{
			voters: 3, tasks: []task{joins(0, 3, 0), joins(1, 3, 1)}, endless: true,
			options: with(orderly, noMistake, in(func(r *rules) {
				r.identify = func(s membership.Snapshot, p membership.IdentifyRequest) membership.Identity {
					found := membership.Identify(s, p)
					if found.Code == membership.AnnouncedElsewhere || found.Code == membership.AlreadyMember {
						return membership.Identity{Step: membership.StepAdopt, ID: found.Facts.Subject}
					}
					return found
				}
			})),
		}, "by somebody who did not announce it"},
		{"a member is removed without the lock", scenario{
			voters: 4, tasks: pair, budget: budget{faults: 1}, options: with(options{fenced: true, rude: true}, removeUnlocked, rules{}),
		}, "1 of 2 voters are alive after a change"},
		{"the lock is not checked before the step", scenario{
			voters: 4, tasks: pair, budget: budget{faults: 1, freezes: 1}, options: with(orderly, lockUnchecked, rules{}),
		}, "m2 was removed while it led"},
		{"what was seen before the lock was taken is acted on", scenario{
			voters: 4, tasks: pair, budget: budget{faults: 1}, options: with(orderly, noLookUnderLock, rules{}),
		}, "1 of 2 voters are alive after a change"},
		{"the lock is not given up", scenario{
			voters: 3, tasks: pair, options: with(orderly, lockKept, rules{}),
		}, "the end cannot be reached"},
		{"the lock is kept while others are waited for", scenario{
			voters: 5, deadNodes: []uint8{3, 4}, tasks: everybody(5), parallel: [maxProcs]uint8{5, 5}, options: with(orderly, lockKeptWaiting, rules{}),
		}, "the end cannot be reached"},
		{"it is announced before the intent is on record", scenario{
			voters: 3, tasks: []task{joins(0, 3, 0)}, options: with(orderly, announceUnrecorded, rules{}),
		}, "m4 is announced, and neither a record nor a state says by whom"},
		{"the backstop does not take the lock", scenario{
			voters: 1, tasks: []task{joins(0, 1, 0), back}, budget: budget{crashes: 1, ambiguous: 1}, options: with(orderly, withdrawUnlocked, rules{}),
		}, "m2 is announced, and neither a record nor a state says by whom"},
		{"the backstop removes a voter that lives", scenario{
			voters: 2, tasks: []task{joins(0, 2, 0), {kind: withdraw, proc: 1, node: 2, owner: 0, after: none, insteadOf: 0}}, budget: budget{crashes: 1},
			options: with(orderly, noMistake, in(func(r *rules) {
				r.withdraw = func(s membership.Snapshot, p membership.WithdrawRequest) membership.Decision {
					d := membership.DecideWithdraw(s, p)
					for _, w := range d.Warnings {
						if w.Code == membership.Unmanaged {
							return membership.Decision{Verdict: membership.Go, Facts: w.Facts}
						}
					}
					return d
				}
			})),
		}, "the backstop removed m3, a voter that lives"},
		{"a member makes room without a word to the others", scenario{
			voters: 4, tasks: []task{o0, i0, o1, i1}, options: with(orderly, turnUnrecorded, rules{}),
		}, "m2 makes room before m1 has come back"},
		// No client can prevent this; the servers' own check is for it.
		{"the process sleeps between check and call, and the server checks nothing", scenario{
			voters: 4, tasks: pair, budget: budget{faults: 1, freezes: 1}, options: options{fenced: true, rude: true},
		}, "1 of 2 voters are alive after a change"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.sc.parallel == ([maxProcs]uint8{}) {
				c.sc.parallel = both
			}
			q := search{sc: c.sc, quiet: c.sc.mistake == lockKeptWaiting}
			q.run()
			if q.fault == nil {
				t.Fatalf("the search does not notice it in %d states", len(q.queue))
			}
			if !strings.Contains(q.fault.what, c.want) {
				t.Fatalf("the search found something else: %s", q.fault)
			}
			t.Logf("after %d states: %s", len(q.queue), q.fault)
			right := c.sc
			right.mistake, right.rules = noMistake, rules{}
			if right.rude {
				right.guard = true
			}
			q = search{sc: right, quiet: c.sc.mistake == lockKeptWaiting}
			if q.run(); q.fault != nil {
				t.Errorf("and without the mistake: %s", q.fault)
			}
		})
	}
}
