// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package bench_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/bench"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
)

// writeInterval is the pause between two writes through the same one of three
// members: the shortest gap that can be measured.
const writeInterval = 5 * time.Millisecond

// replacing is a way to remove the leader and to add another member.
type replacing struct {
	name   string
	remove func(*testing.T, *etcdtest.Cluster, *etcdtest.Process)
	join   func(*testing.T, *etcdtest.Cluster, *etcdtest.Process)
}

// measureGap measures the longest time without an acknowledged write while the
// leader is removed, and while it is replaced.
func measureGap(t *testing.T, c campaign) []bench.Row {
	removed, replaced := map[string]bench.Sample{}, map[string]bench.Sample{}
	failed := map[string]bench.Sample{}
	var sides []side
	for _, r := range []replacing{
		{here, engineRemoves, engineJoins},
		{"etcdctl", plainRemove, tightLoop},
	} {
		sides = append(sides, side{r.name, func(t *testing.T) {
			cl := etcdtest.Start(t, 3, etcdtest.Options{})
			pause(t, healthInterval+time.Second)
			leader := cl.Leader(t)
			w := cl.NewWriter(t, etcdtest.WriterOptions{Interval: writeInterval})
			pause(t, 500*time.Millisecond)
			if gap := w.LongestGap(); gap.Duration() > time.Second {
				t.Fatalf("nothing has happened yet, and there is a gap: %v", gap)
			}
			from := time.Now()
			r.remove(t, cl, leader)
			cl.Untrack(leader)
			// The consequences of the removal count too: measure until writes
			// continue and there is a leader.
			if err := cl.WaitHealthy(within(t, limit)); err != nil {
				t.Fatal(err)
			}
			pause(t, 500*time.Millisecond)
			removed[r.name] = append(removed[r.name], 1000*seconds(w.LongestGapSince(from).Duration()))
			leader.PowerOff() // like the loss of its machine
			p := cl.NewJoiner(t, "d")
			seen := watch(t, cl.Members()[0].Client(t), p.PeerURL())
			startOnceListed(t, seen, p)
			r.join(t, cl, p)
			wait(t, "the vote", seen.voting)
			pause(t, time.Second)
			w.Stop()
			gap := w.LongestGapSince(from)
			replaced[r.name] = append(replaced[r.name], 1000*seconds(gap.Duration()))
			n, last := w.Failures()
			failed[r.name] = append(failed[r.name], float64(n))
			t.Logf("longest gap %v; %d of %d writes failed, the last with: %v", gap, n, len(w.Acknowledged())+n, last)
			lost, err := w.Lost(within(t, limit), cl.Client(t))
			if err != nil || len(lost) > 0 {
				t.Errorf("acknowledged and lost: %d writes; %v", len(lost), err)
			}
		}})
	}
	turns(t, c.rounds(9), sides...)
	const measure = bench.LongestGap
	goal := bench.Goal{Bound: bench.Ratio, Limit: 0.1}
	return []bench.Row{
		{Measure: measure, Case: "the leader is removed", Unit: "ms", Here: removed[here], Rival: "plain member remove", Against: removed["etcdctl"], Goal: goal},
		{Measure: measure, Case: "the leader is replaced", Unit: "ms", Here: replaced[here], Rival: "member remove, member add --learner, promote", Against: replaced["etcdctl"], Goal: goal},
		{Measure: measure, Case: "failed calls of the writers", Unit: "calls", Here: failed[here], Rival: "member remove, member add --learner, promote", Against: failed["etcdctl"]},
	}
}

// engineRemoves removes a member as the provider does.
func engineRemoves(t *testing.T, c *etcdtest.Cluster, p *etcdtest.Process) {
	t.Helper()
	ctx := within(t, limit)
	e := engineFor(t, c.Endpoints())
	_, id, err := e.Cluster.Members(ctx)
	if err != nil {
		t.Fatal(err)
	}
	_, err = e.Leave(ctx, reconfigure.LeaveRequest{
		Owner: "name:" + p.Name, Name: p.Name, ID: membership.MemberID(c.MemberID(t, p)), Cluster: id, PeerURLs: []string{p.PeerURL()}, Replacement: true,
	})
	if err != nil {
		t.Fatal(err)
	}
}

// plainRemove removes a member with one command.
func plainRemove(t *testing.T, c *etcdtest.Cluster, p *etcdtest.Process) {
	t.Helper()
	if _, err := c.Etcdctl("member", "remove", fmt.Sprintf("%x", c.MemberID(t, p))); err != nil {
		t.Fatal(err)
	}
}
