// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package backend

import (
	"context"
	"sync"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/log"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// freshness is how long one look at the cluster serves the refresh of many
// resources. It is far below the time in which a person can act between.
const freshness = 2 * time.Second

// view is a look, when it was over, and how many changes there were when it
// began.
type view struct {
	at      time.Time
	changes uint64
	snap    membership.Snapshot
	err     error
}

// serves reports whether the look is as good as one for the wanted cluster.
func (v *view) serves(want membership.ClusterID) bool {
	switch {
	case v.err != nil:
		return false
	case want == 0: // with one cluster alone it makes no difference which was expected
		return len(v.snap.Others) == 0
	default:
		return v.snap.ClusterID == want
	}
}

// views are the latest looks at a cluster, and those that are under way.
type views struct {
	viewing sync.Mutex
	latest  map[viewKey]*view
	flights map[string]*flight // by trust
}

// viewKey tells looks apart: by the cluster that was expected, and by the hosts
// that were asked because of the resource that the look was for
// ([connection.Settings.Trust]).
type viewKey struct {
	want  membership.ClusterID
	trust string
}

// flight is a look that is under way. It goes on while anyone waits for it.
type flight struct {
	waiting int
	cancel  context.CancelFunc
	// over is closed at the end.
	over chan struct{}
}

// View returns a look at the cluster that may be up to two seconds old, so
// that the refresh of any number of resources makes one; but none that began
// before the end of a change which this process made. want is the cluster that
// is expected, 0 if none is. The error is that of the look, or ctx's: a caller
// that gives up does so at once, and the others keep their look. It is to show
// and to plan by; what changes something looks for itself
// ([cluster.Cluster.Observe]).
func (c *Cluster) View(ctx context.Context, want membership.ClusterID) (membership.Snapshot, error) {
	// A change that ends from now on does not make the look of this call old.
	changes := c.backend.changes.Load()
	key := viewKey{want, c.settings.Trust(ctx)}
	for {
		c.viewing.Lock()
		if v := c.viewed(key, changes); v != nil {
			c.viewing.Unlock()
			log.Debug(ctx, log.Membership, "cluster look used", "age", c.Clock.Now().Sub(v.at))
			return v.snap, v.err
		}
		f := c.flights[key.trust]
		if f == nil {
			f = c.look(ctx, key)
		}
		f.waiting++
		c.viewing.Unlock()

		var err error
		select {
		case <-f.over:
		case <-ctx.Done():
			err = ctx.Err()
		}
		c.viewing.Lock()
		if f.waiting--; f.waiting == 0 {
			f.cancel()
		}
		c.viewing.Unlock()
		if err != nil {
			return membership.Snapshot{}, err
		}
	}
}

// viewed returns a look that serves, nil if there is none.
func (c *Cluster) viewed(key viewKey, changes uint64) *view {
	now := c.Clock.Now()
	valid := func(v *view) bool { return v != nil && v.changes >= changes && now.Sub(v.at) <= freshness }
	if v := c.latest[key]; valid(v) {
		return v
	}
	for other, v := range c.latest {
		if other.trust == key.trust && valid(v) && v.serves(key.want) {
			return v
		}
	}
	return nil
}

// look begins a look. It does not end with ctx, whose values it keeps, but when
// the last caller that waits for it has given up.
func (c *Cluster) look(ctx context.Context, key viewKey) *flight {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	f := &flight{cancel: cancel, over: make(chan struct{})}
	if c.flights == nil {
		c.flights = map[string]*flight{}
	}
	c.flights[key.trust] = f
	v := &view{changes: c.backend.changes.Load()}
	go func() {
		defer close(f.over)
		log.Debug(ctx, log.Membership, "looking at the cluster", "endpoints", c.settings.Endpoints)
		v.snap, v.err = c.Port.Look(ctx, key.want)
		log.Debug(ctx, log.Membership, "looked at the cluster", "cluster", v.snap.ClusterID, "members", len(v.snap.Members), "error", v.err)
		c.viewing.Lock()
		defer c.viewing.Unlock()
		delete(c.flights, key.trust)
		if ctx.Err() != nil {
			return // it was cut short, and says nothing
		}
		v.at = c.Clock.Now()
		if c.latest == nil {
			c.latest = map[viewKey]*view{}
		}
		c.latest[key] = v
	}()
	return f
}
