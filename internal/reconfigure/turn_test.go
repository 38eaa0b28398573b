// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package reconfigure_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/claim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
)

// turns returns the names of the replacements on record.
func (b *bench) turns(t *testing.T) []string {
	t.Helper()
	all, err := b.engine.Cluster.Turns(b.id(t)).List(etcdtest.WaitContext(t))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, turn := range all {
		out = append(out, turn.Name)
	}
	return out
}

func (b *bench) replace(t *testing.T, name string) reconfigure.LeaveRequest {
	t.Helper()
	r := b.leaveRequest(t, name)
	r.Replacement = true
	return r
}

func mustBeTurnOf(t *testing.T, err error, name string) membership.Turn {
	t.Helper()
	var refusal *reconfigure.Refusal
	if !errors.As(err, &refusal) || refusal.Decision.Code != membership.TurnOfAnother || len(refusal.Decision.Facts.Turns) != 1 ||
		refusal.Decision.Facts.Turns[0].Name != name {
		t.Fatalf("got %v, want that it is the turn of %s", err, name)
	}
	return refusal.Decision.Facts.Turns[0]
}

// A replacement that one Terraform run left unfinished stops replacements in
// every other run until the successor votes. It does not stop a permanent
// removal or the removal of a failed member.
func TestTurnOutlivesItsRun(t *testing.T) {
	t.Parallel()
	for _, v := range etcdtest.Versions() {
		t.Run(string(v), func(t *testing.T) {
			t.Parallel()
			b := start(t, 3, etcdtest.Options{Version: v, Names: []string{"a", "b", "c"}})
			second := b.process(t, "bob@ops2", claim.LockTTL)
			c := b.replace(t, "c")
			if _, err := b.engine.Leave(etcdtest.WaitContext(t), c); err != nil {
				t.Fatal(err)
			}
			if got := b.turns(t); !slices.Equal(got, []string{"c"}) {
				t.Fatalf("on record: %v", got)
			}
			b.Member("c").PowerOff()

			r := b.replace(t, "b")
			_, err := second.Leave(etcdtest.WaitContext(t), r)
			if open := mustBeTurnOf(t, err, "c"); open.Voters != 3 || open.Since.IsZero() {
				t.Errorf("on record: %+v", open)
			}
			if m := b.members(t); len(m) != 2 {
				t.Fatalf("%d members", len(m))
			}

			// The successor joins in a third run, and the waiting run continues.
			waits := make(chan error, 1)
			go func() {
				patient := r
				patient.TurnTimeout = etcdtest.WaitLimit
				_, err := second.Leave(etcdtest.WaitContext(t), patient)
				waits <- err
			}()
			third := b.process(t, "carol@ops3", claim.LockTTL)
			p := b.NewJoiner(t, "d")
			p.Env["ETCD_NAME"] = "c"
			go b.startAnnounced(t, p)
			join := request(p, reconfigure.Voting)
			join.Name = "c"
			if _, err := third.Join(etcdtest.WaitContext(t), join); err != nil {
				t.Fatal(err)
			}
			if err := <-waits; err != nil {
				t.Fatal(err)
			}
			if got := b.turns(t); !slices.Equal(got, []string{"b"}) {
				t.Errorf("on record: %v", got)
			}
			if _, still := named(b.members(t), "b"); still {
				t.Error("b is still there")
			}

			// The others may be removed permanently, and the record with them.
			last := b.leaveRequest(t, "a")
			if _, err := b.engine.Leave(etcdtest.WaitContext(t), last); err != nil {
				t.Fatal(err)
			}
			if m := b.members(t); len(m) != 1 {
				t.Errorf("%d members", len(m))
			}
		})
	}
}

// After another member was added, a turn is over and does not come back when
// the cluster shrinks.
func TestTurnIsOverForGood(t *testing.T) {
	t.Parallel()
	b := start(t, 3, etcdtest.Options{Names: []string{"a", "b", "c"}})
	if _, err := b.engine.Leave(etcdtest.WaitContext(t), b.replace(t, "c")); err != nil {
		t.Fatal(err)
	}
	b.Member("c").PowerOff()
	d := b.NewJoiner(t, "d")
	go b.startAnnounced(t, d)
	if _, err := b.engine.Join(etcdtest.WaitContext(t), request(d, reconfigure.Voting)); err != nil {
		t.Fatal(err)
	}
	if got := b.turns(t); len(got) > 0 {
		t.Errorf("on record: %v", got)
	}
	if _, err := b.engine.Leave(etcdtest.WaitContext(t), b.leaveRequest(t, "d")); err != nil {
		t.Fatal(err)
	}
	if _, err := b.engine.Leave(etcdtest.WaitContext(t), b.replace(t, "b")); err != nil {
		t.Error(err)
	}
}

// Three members are replaced one at a time, in order of name. If one successor
// does not come, the others stay.
func TestThreeTakeTurns(t *testing.T) {
	t.Parallel()
	b := start(t, 3, etcdtest.Options{Names: []string{"a", "b", "c"}})
	var wg sync.WaitGroup
	requests := map[string]reconfigure.LeaveRequest{}
	for _, name := range []string{"c", "b", "a"} {
		r := b.replace(t, name)
		r.TurnTimeout, r.Timeout = etcdtest.WaitLimit, etcdtest.WaitLimit
		requests[name] = r
	}
	ctx := etcdtest.WaitContext(t)
	results, left := map[string]error{}, make(chan string, 3)
	var mu sync.Mutex
	for name, r := range requests {
		wg.Go(func() {
			_, err := b.engine.Leave(ctx, r)
			mu.Lock()
			defer mu.Unlock()
			results[name] = err
			if err == nil {
				left <- name
			}
		})
	}
	if first := <-left; first != "a" {
		t.Errorf("%s left first", first)
	}
	b.Member("a").PowerOff()
	p := b.NewJoiner(t, "d")
	p.Env["ETCD_NAME"] = "a"
	go b.startAnnounced(t, p)
	join := request(p, reconfigure.Voting)
	join.Name = "a"
	if _, err := b.engine.Join(etcdtest.WaitContext(t), join); err != nil {
		t.Fatal(err)
	}
	if second := <-left; second != "b" {
		t.Errorf("%s left second", second)
	}
	b.Member("b").PowerOff()
	never := b.NewJoiner(t, "e")
	join = request(never, reconfigure.Voting)
	join.Name = "b"
	_ = runOut(t, func(err error) bool { return errors.As(err, new(*reconfigure.Incomplete)) },
		func(ctx context.Context) error { _, err := b.engine.Join(ctx, join); return err })
	wg.Wait() // long before c's timeout
	mustBeTurnOf(t, results["c"], "b")
	if _, still := named(b.members(t), "c"); !still {
		t.Error("c is gone")
	}
}

// lookout counts the observations of turns.
type lookout struct {
	cluster.Cluster
	looks atomic.Int32
}

func (l *lookout) Turns(id membership.ClusterID) cluster.Turns {
	l.looks.Add(1)
	return l.Cluster.Turns(id)
}

// The member whose turn it is stays first while it waits for the lock: the next
// one only observes.
func TestNobodyOvertakesInTurn(t *testing.T) {
	t.Parallel()
	b := start(t, 3, etcdtest.Options{Names: []string{"a", "b", "c"}})
	first, second := b.replace(t, "a"), b.replace(t, "b")
	first.TurnTimeout, second.TurnTimeout = etcdtest.WaitLimit, etcdtest.WaitLimit
	var one, two sync.WaitGroup
	defer two.Wait()
	defer one.Wait()
	unlock, err := b.engine.Process.Lock(etcdtest.WaitContext(t), first.Cluster)
	if err != nil {
		t.Fatal(err)
	}
	unlock = sync.OnceFunc(unlock)
	defer unlock()

	ctx, cancel := context.WithCancel(etcdtest.WaitContext(t))
	defer cancel()
	behind := *b.engine
	port := &lookout{Cluster: b.engine.Cluster}
	behind.Cluster = port
	var ofFirst, ofSecond error
	one.Go(func() { _, ofFirst = b.engine.Leave(ctx, first) })
	etcdtest.Until(t, "it is the turn of a", func() bool { return slices.Contains(b.engine.Process.Leaving(), first.ID) })
	two.Go(func() { _, ofSecond = behind.Leave(ctx, second) })
	etcdtest.Until(t, "b looks, and looks again", func() bool { return port.looks.Load() > 3 })
	if leaving := b.engine.Process.Leaving(); slices.Contains(leaving, second.ID) {
		t.Errorf("b is on its way out: %v", leaving)
	}
	unlock()
	one.Wait()
	if ofFirst != nil {
		t.Fatal(ofFirst)
	}
	cancel()
	two.Wait()
	if !errors.Is(ofSecond, context.Canceled) {
		t.Errorf("got %v, want that b waited until it was told to stop", ofSecond)
	}
	if _, still := named(b.members(t), "b"); !still {
		t.Error("b is gone")
	}
}
