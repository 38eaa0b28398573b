// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package backend

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// stuckPort is a cluster whose observations last until the test releases them
// or their context ends.
type stuckPort struct {
	cluster.Cluster
	looks atomic.Int32
	begun chan struct{}
	let   chan struct{}
	ended chan error
}

func (p *stuckPort) Observe(ctx context.Context, _ membership.ClusterID) (membership.Snapshot, error) {
	p.looks.Add(1)
	p.begun <- struct{}{}
	select {
	case <-p.let:
		return membership.Snapshot{ClusterID: 1}, nil
	case <-ctx.Done():
		p.ended <- ctx.Err()
		return membership.Snapshot{}, ctx.Err()
	}
}

func stuck(t *testing.T) (*Cluster, *stuckPort) {
	t.Helper()
	c, err := (&Backend{Run: NewRun(), Settings: connection.Settings{Endpoints: []string{"http://h:1"}}}).Cluster(nil)
	if err != nil {
		t.Fatal(err)
	}
	port := &stuckPort{begun: make(chan struct{}, 9), let: make(chan struct{}), ended: make(chan error, 9)}
	c.Cluster = port
	return c, port
}

type viewed struct {
	snap membership.Snapshot
	err  error
}

// viewing calls View in the background.
func viewing(ctx context.Context, c *Cluster, want membership.ClusterID) <-chan viewed {
	out := make(chan viewed, 1)
	go func() {
		snap, err := c.View(ctx, want)
		out <- viewed{snap, err}
	}()
	return out
}

func soon[T any](t *testing.T, what string, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(etcdtest.WaitLimit):
		t.Fatalf("not within %v: %s", etcdtest.WaitLimit, what)
		panic("unreachable")
	}
}

// waiters waits until n callers wait for the observation in progress.
func waiters(t *testing.T, c *Cluster, n int) {
	t.Helper()
	etcdtest.Until(t, fmt.Sprint(n, " callers wait"), func() bool {
		c.viewing.Lock()
		defer c.viewing.Unlock()
		f := c.flights[""]
		return f != nil && f.waiting == n
	})
}

// A caller whose time is over returns at once, while the observation continues
// for the others, including those that expect a certain cluster.
func TestViewHonoursEachCallersContext(t *testing.T) {
	t.Parallel()
	c, port := stuck(t)
	first, giveUp := context.WithCancel(t.Context())
	one := viewing(first, c, 0)
	soon(t, "the look begins", port.begun)
	late, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	two, three := viewing(late, c, 0), viewing(t.Context(), c, 1)
	if got := soon(t, "the second caller gives up", two); !errors.Is(got.err, context.DeadlineExceeded) {
		t.Errorf("the second caller got %v", got)
	}
	waiters(t, c, 2)
	giveUp()
	if got := soon(t, "the first caller gives up", one); !errors.Is(got.err, context.Canceled) {
		t.Errorf("the first caller got %v", got)
	}
	close(port.let)
	if got := soon(t, "the look serves the third caller", three); got.err != nil || got.snap.ClusterID != 1 {
		t.Errorf("the third caller got %v", got)
	}
	if n := port.looks.Load(); n != 1 {
		t.Errorf("looked %d times, want once", n)
	}
}

// An observation without waiting callers ends, and the next caller starts another.
func TestAbandonedView(t *testing.T) {
	t.Parallel()
	c, port := stuck(t)
	ctx, giveUp := context.WithCancel(t.Context())
	one := viewing(ctx, c, 0)
	soon(t, "the look begins", port.begun)
	giveUp()
	soon(t, "the caller gives up", one)
	if err := soon(t, "the look ends", port.ended); !errors.Is(err, context.Canceled) {
		t.Errorf("the look ended with %v", err)
	}
	two := viewing(t.Context(), c, 0)
	soon(t, "another look begins", port.begun)
	close(port.let)
	if got := soon(t, "it serves", two); got.err != nil || got.snap.ClusterID != 1 {
		t.Errorf("got %v", got)
	}
}

// An observation that began before the end of a change does not serve a caller
// that came after the change, even if it is still in progress.
func TestViewDuringAChange(t *testing.T) {
	t.Parallel()
	c, port := stuck(t)
	one := viewing(t.Context(), c, 0)
	soon(t, "the look begins", port.begun)
	c.Changed()
	two := viewing(t.Context(), c, 0)
	waiters(t, c, 2)
	port.let <- struct{}{}
	if got := soon(t, "the look serves the first caller", one); got.err != nil {
		t.Error(got.err)
	}
	soon(t, "the second caller's look begins", port.begun)
	port.let <- struct{}{}
	if got := soon(t, "it serves", two); got.err != nil {
		t.Error(got.err)
	}
	if n := port.looks.Load(); n != 2 {
		t.Errorf("looked %d times, want twice", n)
	}
}
