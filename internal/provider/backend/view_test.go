// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package backend

import (
	"cmp"
	"context"
	"errors"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/clock"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/must"
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
		must.Succeed(t, err)
		port := &slowPort{takes: takes}
		c.Cluster = port
		f(t, c, port)
	})
}

// Callers wait for an observation in progress, each for as long as it has time. It ends with
// the caller that made it, and the next caller starts another. One that began before
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
			{at: late, ends: 15 * late, want: 1},
		}, looks: 2},
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
						snap, err := cl.CachedSnapshot(ctx, it.want)
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
			if snap, err := c.CachedSnapshot(t.Context(), step.want); err != nil || snap.ClusterID != 1 {
				t.Fatal(snap, err)
			}
			if n := port.looks.Load(); n != step.looks {
				t.Errorf("step %d: looked %d times so far, want %d", i+1, n, step.looks)
			}
		}
	})
}

// Resources share connections (with what was observed through them), claims and locks,
// and the table of entries. The rest of a Backend is as the provider was configured.
func TestBackendSharesNothingElse(t *testing.T) {
	t.Parallel()
	shared := map[string]string{
		"Pool": "connections", "clusters": "connections", "byID": "connections", "changes": "connections",
		"Held": "claims", "state": "claims", "Table": "entries",
		"Unknown": "configuration", "Settings": "configuration", "Lost": "configuration", "InUse": "configuration", "Run": "configuration",
	}
	for f := range reflect.TypeFor[Backend]().Fields() {
		if shared[f.Name] == "" {
			t.Errorf("%s is shared. Make it an entry of the table, or pass it on an edge of Terraform's graph", f.Name)
		}
	}
}

// Every entry of the table is added, and none is taken back or changed.
func TestTable(t *testing.T) {
	t.Parallel()
	var table Table
	if table.HasJoined(7) || !table.firstTime("x") || table.firstTime("x") {
		t.Error("the zero value is not ready to use")
	}
	table.Note(membership.Entry{ID: 7})
	if table.HasJoined(7) {
		t.Error("a note of the state is taken for a member that joined")
	}
	table.Note(membership.Entry{ID: 7, Effect: membership.Created})
	if !table.HasJoined(7) {
		t.Error("a member that joined is forgotten")
	}
	first, again, other := table.EnterFile("f", "a"), table.EnterFile("f", "a"), table.EnterFile("f", "b")
	if first || again || !other {
		t.Error("the plan of a file is not that of its resource")
	}
	table.Apply()
	if broken := table.Enter(membership.Entry{Object: 1, Effect: membership.Created, After: &membership.Side{}, Found: membership.Identity{Code: membership.NameTaken}}, membership.Known{}); !table.Applies() || slices.Clone(broken) != nil {
		t.Errorf("an apply is judged as a plan: %v", broken)
	}
}

var errNobody = errors.New("nobody is there")

func (p *slowPort) Members(context.Context) ([]membership.Member, membership.ClusterID, error) {
	return nil, 0, errNobody
}

// Records returns a store that fails, because it is of no cluster.
func (p *slowPort) Records(membership.ClusterID) cluster.Store[cluster.Record] {
	return cluster.New(connection.Settings{}, nil).Records(0)
}

// Observations are shared for a short time, but not across an attempted change.
func TestViewIsForgottenByChanges(t *testing.T) {
	b := &Backend{Run: NewRun(), Settings: connection.Settings{Endpoints: []string{"http://h:1"}}}
	c, err := b.Cluster(nil)
	must.Succeed(t, err)
	port := &slowPort{fails: errNobody}
	c.Cluster = port
	looksOf := func() int {
		before := port.looks.Load()
		if _, err := c.CachedSnapshot(t.Context(), 0); !errors.Is(err, errNobody) {
			t.Fatal(err)
		}
		return int(port.looks.Load() - before)
	}
	if first, second := looksOf(), looksOf(); first != 1 || second != 0 {
		t.Errorf("looked %d times, then %d times", first, second)
	}
	// The same cluster, at another of its endpoints.
	other, err := b.Cluster([]string{"http://i:1"})
	must.Succeed(t, err)
	other.Cluster = &slowPort{fails: errNobody}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, change := range map[string]func(){
		"join":                  func() { _, _ = c.Join(ctx, reconfigure.JoinRequest{}) },
		"leave":                 func() { _, _ = c.Remove(ctx, reconfigure.RemoveRequest{}) },
		"update":                func() { _, _ = c.UpdatePeerURLs(t.Context(), reconfigure.UpdateRequest{}) },
		"another owner":         func() { _ = c.RecordOwner(ctx, "", reconfigure.UpdateRequest{}) },
		"no successor":          func() { _ = c.AbandonReplacement(ctx, "o", "a") },
		"another one's join":    func() { _, _ = other.Join(ctx, reconfigure.JoinRequest{}) },
		"another one's removal": func() { _, _ = other.Remove(ctx, reconfigure.RemoveRequest{}) },
	} {
		change()
		if n := looksOf(); n != 1 {
			t.Errorf("looked %d times after a change (%s)", n, name)
		}
		if n := looksOf(); n != 0 {
			t.Errorf("looked %d times more after a change (%s)", n, name)
		}
	}
}
