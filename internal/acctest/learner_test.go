// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
)

// A learner that died after it had caught up is not promoted. etcd itself would
// promote it, and a cluster of one would lose its quorum. (ETCD_TEST_FULL=1
// tests both deaths with both cluster sizes.)
func TestAccDeadLearnerIsNotPromoted(t *testing.T) {
	t.Parallel()
	for _, founders := range [][]string{{"a"}, {"a", "b", "c"}} {
		for how, c := range map[string]struct{ die, live func(f *Fleet) }{
			"killed": {
				die:  func(f *Fleet) { f.Crash("d") },
				live: func(f *Fleet) { f.Repair("d") },
			},
			"frozen": {
				die:  func(f *Fleet) { f.Signal("d", syscall.SIGSTOP) },
				live: func(f *Fleet) { f.Signal("d", syscall.SIGCONT) },
			},
		} {
			if sample := how == "killed" == (len(founders) == 1); !sample && !full() {
				continue
			}
			t.Run(fmt.Sprintf("%s %d to %d", how, len(founders), len(founders)+1), func(t *testing.T) {
				t.Parallel()
				f := NewFleet(t, FleetOptions{Founders: founders})
				f.Form()
				f.Add("d")
				f.Nodes["d"].Joins = "learner"
				f.Apply().MustSucceed()
				f.MustList(append([]string{"d (learner)"}, founders...)...)
				f.Plan().MustBeEmpty()

				c.die(f)
				f.Nodes["d"].Promote, f.Nodes["d"].Create = true, "20s"
				writer := f.Writer(founders...)
				plan := f.Plan()
				plan.MustDo(map[string]string{address("etcd_learner", "d"): "update"})
				plan.MustNotKnow(address("etcd_learner", "d"), "role", "client_urls", "version")
				failed := f.Apply()
				e := failed.MustSay("Member d did not join in time")
				id := fmt.Sprint(f.State(address("etcd_learner", "d"))["id"])
				want := fmt.Sprintf("d (%s) has started and was not promoted; it stays a learner. The last reason: d (%s) does not answer (%s: ", id, id, f.Nodes["d"].Client)
				if !strings.HasPrefix(e.Detail, want) {
					t.Errorf("%s\n got %s\nwant %s…", e.Summary, e.Detail, want)
				}
				f.MustList(append([]string{"d (learner)"}, founders...)...)
				f.mustNotPause(writer, pause, founders...)

				c.live(f)
				f.Nodes["d"].Create = "60s"
				f.Apply().MustSucceed()
				f.MustVote(append([]string{"d"}, founders...)...)
			})
		}
	}
}
