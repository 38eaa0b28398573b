// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package bench_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/bench"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// store is what a cluster has when a member joins.
type store struct {
	name  string
	bytes int
	// old is a cluster that has lived for a while: it keeps little log, so that
	// a newcomer is sent a snapshot.
	old bool
	// version is "" for the newest.
	version etcdtest.Version
	rounds  int
	rivals  []joiner
}

// From a member's announcement to its vote. Everybody's machine is started at
// the moment at which the member is listed.
func measureJoin(t *testing.T, c campaign) []bench.Row {
	few := closest()
	stores := []store{{name: "empty", rounds: 1, rivals: few}}
	if c.whole {
		all := slices.Clone(few)
		for _, other := range []struct {
			who   string
			every time.Duration
		}{{"Talos", 2 * time.Second}, {"etcd-operator", 10 * time.Second}, {"k3s", 15 * time.Second}} {
			all = append(all, joiner{fmt.Sprintf("every %v, as %s does", other.every, other.who), bench.Goal{Bound: bench.Below}, pollEvery(other.every)})
		}
		stores = []store{
			{name: "empty", rounds: 5, rivals: all},
			{name: "empty, by snapshot", old: true, rounds: 9, rivals: few},
			{name: "100 MB, by snapshot", bytes: 100 << 20, old: true, rounds: 3, rivals: all},
			{name: "1 GB, by snapshot", bytes: 1 << 30, old: true, rounds: 3, rivals: all},
		}
	}
	return joinEach(t, stores)
}

// The same on etcd 3.5, which sends a newcomer its log for the first hundred
// thousand entries; 3.6 and 3.7 send a snapshot after a hundred.
func measureJoinByLog(t *testing.T, c campaign) []bench.Row {
	return joinEach(t, []store{{name: "etcd 3.5, empty, by log", version: etcdtest.V35, rounds: c.rounds(9), rivals: closest()}})
}

// closest are the rivals that ask most often.
func closest() []joiner {
	return []joiner{
		{"etcdctl member promote every 20 ms", bench.Goal{Bound: bench.Ratio, Limit: 1.2}, tightLoop},
		{"every 500 ms, as kubeadm does", bench.Goal{Bound: bench.Below}, pollEvery(500 * time.Millisecond)},
	}
}

func joinEach(t *testing.T, stores []store) []bench.Row {
	var rows []bench.Row
	for _, s := range stores {
		if !t.Run(s.name, func(t *testing.T) { rows = append(rows, joinAt(t, s)...) }) {
			break
		}
	}
	return rows
}

// joinAt measures joins to three members with such a store.
func joinAt(t *testing.T, s store) []bench.Row {
	o := etcdtest.Options{Version: s.version, QuotaBytes: 8 << 30}
	if s.old {
		o.Env = map[string]string{"ETCD_SNAPSHOT_COUNT": "100", "ETCD_SNAPSHOT_CATCHUP_ENTRIES": "10"}
	}
	cl := etcdtest.Start(t, 3, o)
	fill(t, cl, s.bytes)
	if s.old {
		outlive(t, cl, 100)
	}
	pause(t, healthInterval)
	vote, serving, call := map[string]bench.Sample{}, map[string]bench.Sample{}, map[string]bench.Sample{}
	var sides []side
	for _, j := range append([]joiner{{name: here, join: engineJoins}}, s.rivals...) {
		n := 0
		sides = append(sides, side{j.name, func(t *testing.T) {
			n++
			p := cl.NewJoiner(t, fmt.Sprintf("d%d", n))
			seen := watch(t, cl.ClientFor(t, cl.Members()[0]), p.PeerURL())
			listed := startOnceListed(t, seen, p)
			begin := time.Now()
			j.join(t, cl, p)
			took := time.Since(begin)
			from, to := wait(t, "the addition", listed), wait(t, "the vote", seen.voting)
			if err := p.WaitReady(within(t, limit)); err != nil {
				t.Fatal(err)
			}
			serves := time.Since(from)
			vote[j.name] = append(vote[j.name], seconds(to.Sub(from)))
			serving[j.name] = append(serving[j.name], seconds(serves))
			call[j.name] = append(call[j.name], seconds(took))
			t.Logf("listed to voting %v, to serving clients %v; asked to done %v", to.Sub(from).Round(time.Millisecond),
				serves.Round(time.Millisecond), took.Round(time.Millisecond))
			removeDead(t, cl, p)
		}})
	}
	turns(t, s.rounds, sides...)
	const measure = bench.Joining
	var rows []bench.Row
	for _, r := range s.rivals {
		rows = append(rows, bench.Row{Measure: measure, Case: s.name, Unit: "s", Here: vote[here], Rival: r.name, Against: vote[r.name], Goal: r.goal})
	}
	// A vote may be given to a member that serves nobody yet: etcdctl does, the
	// provider does not.
	tight := s.rivals[0]
	return append(rows,
		bench.Row{Measure: measure, Case: s.name + ": until it serves clients", Unit: "s", Here: serving[here], Rival: tight.name, Against: serving[tight.name], Goal: tight.goal},
		bench.Row{Measure: measure, Case: s.name + ": the whole operation", Unit: "s", Here: call[here], Rival: tight.name, Against: call[tight.name]})
}

// outlive makes more entries than the cluster keeps in its log.
func outlive(t *testing.T, c *etcdtest.Cluster, entries int) {
	t.Helper()
	client := c.Client(t)
	ctx := within(t, limit)
	for range 2 * entries {
		if _, err := client.Put(ctx, "/bench/life", "x"); err != nil {
			t.Fatal(err)
		}
	}
}

// startOnceListed starts the machine at the moment at which its member is
// listed, and passes that moment on.
func startOnceListed(t *testing.T, seen *spectator, p *etcdtest.Process) chan time.Time {
	t.Helper()
	listed, over, done := make(chan time.Time, 1), make(chan struct{}), make(chan struct{})
	t.Cleanup(func() { close(over); <-done })
	go func() {
		defer close(done)
		select {
		case at := <-seen.listed:
			p.Start()
			listed <- at
		case <-over:
		}
	}()
	return listed
}

// removeDead ends a member and takes it out, and waits until the cluster may
// be changed again.
func removeDead(t *testing.T, c *etcdtest.Cluster, p *etcdtest.Process) {
	t.Helper()
	id := c.MemberID(t, p)
	p.PowerOff()
	client := c.Client(t)
	until(t, 50*time.Millisecond, func(ctx context.Context) error {
		if _, err := client.MemberRemove(ctx, id); err != nil && !errors.Is(err, rpctypes.ErrMemberNotFound) {
			return err
		}
		return nil
	})
	if err := c.WaitHealthy(within(t, limit)); err != nil {
		t.Fatal(err)
	}
	pause(t, time.Second)
}

// fill writes that much, in values of 16 KiB under keys of their own.
func fill(t *testing.T, c *etcdtest.Cluster, bytes int) {
	t.Helper()
	const value, perTxn = 16 << 10, 32
	client := c.Client(t)
	ctx := within(t, limit)
	random := newRandom()
	for key := 0; key*value < bytes; {
		var ops []clientv3.Op
		for range perTxn {
			ops = append(ops, clientv3.OpPut("/bench/"+strconv.Itoa(key), random.text(value)))
			key++
		}
		if _, err := client.Txn(ctx).Then(ops...).Commit(); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.WaitHealthy(ctx); err != nil {
		t.Fatal(err)
	}
}
