// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package backend

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/clock"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// slowPort is a cluster whose observations take a while, and may fail.
type slowPort struct {
	cluster.Cluster
	takes time.Duration
	fails error
	looks atomic.Int32
}

func (p *slowPort) Observe(ctx context.Context, _ membership.ClusterID) (membership.Snapshot, error) {
	p.looks.Add(1)
	return membership.Snapshot{ClusterID: 1}, cmp.Or(p.fails, clock.System{}.Sleep(ctx, p.takes))
}

// viewing runs f with a cluster whose observations take that time.
func viewing(t *testing.T, takes time.Duration, f func(t *testing.T, c *Cluster, port *slowPort)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c, err := (&Backend{Run: NewRun(), Settings: connection.Settings{Endpoints: []string{"http://h:1"}}}).Cluster(nil)
		if err != nil {
			t.Fatal(err)
		}
		port := &slowPort{takes: takes}
		c.Cluster = port
		f(t, c, port)
	})
}

// Callers share an observation in progress, each for as long as it has time. Without
// callers the observation ends, and the next caller starts another. One that began before
// the end of a change does not serve who came after the change.
func TestViewsThatOverlap(t *testing.T) {
	t.Parallel()
	const late = time.Second
	type caller struct {
		at, patience, ends time.Duration
		want               membership.ClusterID
		fails              error
	}
	for name, c := range map[string]struct {
		callers []caller
		changed time.Duration
		looks   int32
	}{
		"callers whose time is over": {callers: []caller{
			{patience: 5 * late, ends: 5 * late, fails: context.DeadlineExceeded}, {at: late, patience: late, ends: 2 * late, fails: context.DeadlineExceeded},
			{at: late, ends: 10 * late, want: 1},
		}, looks: 1},
		"nobody waits any more": {callers: []caller{{patience: late, ends: late, fails: context.DeadlineExceeded}, {at: 2 * late, ends: 12 * late}}, looks: 2},
		"a change in between":   {callers: []caller{{ends: 10 * late}, {at: 2 * late, ends: 20 * late}}, changed: late, looks: 2},
	} {
		t.Run(name, func(t *testing.T) {
			viewing(t, 10*late, func(t *testing.T, cl *Cluster, port *slowPort) {
				begin := time.Now()
				if c.changed > 0 {
					time.AfterFunc(c.changed, cl.Changed)
				}
				var all sync.WaitGroup
				for i, it := range c.callers {
					all.Go(func() {
						time.Sleep(it.at)
						ctx, cancel := context.WithTimeout(t.Context(), cmp.Or(it.patience, time.Hour))
						defer cancel()
						snap, err := cl.View(ctx, it.want)
						if took := time.Since(begin); !errors.Is(err, it.fails) || err == nil && snap.ClusterID != 1 || took != it.ends {
							t.Errorf("caller %d: %v, %v after %v", i+1, snap, err, took)
						}
					})
				}
				all.Wait()
				if n := port.looks.Load(); n != c.looks {
					t.Errorf("looked %d times, want %d", n, c.looks)
				}
			})
		})
	}
}

// An observation serves callers that expect the cluster and callers that expect
// none. An old observation does not keep a newer one from being used.
func TestViewIsShared(t *testing.T) {
	t.Parallel()
	viewing(t, 0, func(t *testing.T, c *Cluster, port *slowPort) {
		for i, step := range []struct {
			later time.Duration
			want  membership.ClusterID
			looks int32
		}{
			{0, 0, 1}, {0, 1, 1}, {freshness, 1, 1},
			{time.Millisecond, 1, 2}, {freshness, 1, 2}, {0, 1, 2},
			{time.Millisecond, 0, 3}, {0, 1, 3},
			{freshness + 1, 1, 4}, {0, 0, 4}, {0, 2, 5},
		} {
			time.Sleep(step.later)
			if snap, err := c.View(t.Context(), step.want); err != nil || snap.ClusterID != 1 {
				t.Fatal(snap, err)
			}
			if n := port.looks.Load(); n != step.looks {
				t.Errorf("step %d: looked %d times so far, want %d", i+1, n, step.looks)
			}
		}
	})
}
