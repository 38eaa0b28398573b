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

// look is a look at the cluster, under way or over. While it is under way it goes
// on as long as anyone waits for it.
type look struct {
	// changes is how many changes there were when it began.
	changes uint64
	waiting int
	cancel  context.CancelFunc
	// over is closed at the end, when what follows is known.
	over chan struct{}
	at   time.Time
	snap membership.Snapshot
	err  error
}

// serves reports whether the look is as good as one for the wanted cluster.
func (l *look) serves(want membership.ClusterID) bool {
	switch {
	case l.err != nil:
		return false
	case want == 0: // with one cluster alone it makes no difference which was expected
		return len(l.snap.Others) == 0
	default:
		return l.snap.ClusterID == want
	}
}

// views are the latest looks at a cluster, and those that are under way.
type views struct {
	viewing sync.Mutex
	latest  map[viewKey]*look
	flights map[string]*look // by trust
}

// viewKey tells looks apart: by the cluster that was expected, and by the hosts
// that were asked because of the resource that the look was for
// ([connection.Settings.Trust]).
type viewKey struct {
	want  membership.ClusterID
	trust string
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
			log.Debug(ctx, log.Membership, "observation used", "age", c.Clock.Now().Sub(v.at))
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
func (c *Cluster) viewed(key viewKey, changes uint64) *look {
	now := c.Clock.Now()
	valid := func(l *look) bool { return l != nil && l.changes >= changes && now.Sub(l.at) <= freshness }
	if l := c.latest[key]; valid(l) {
		return l
	}
	for other, l := range c.latest {
		if other.trust == key.trust && valid(l) && l.serves(key.want) {
			return l
		}
	}
	return nil
}

// look begins a look. It does not end with ctx, whose values it keeps, but when
// the last caller that waits for it has given up.
func (c *Cluster) look(ctx context.Context, key viewKey) *look {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	l := &look{changes: c.backend.changes.Load(), cancel: cancel, over: make(chan struct{})}
	c.flights[key.trust] = l
	go func() {
		defer close(l.over)
		log.Debug(ctx, log.Membership, "observing the cluster", "endpoints", c.settings.Endpoints)
		l.snap, l.err = c.Cluster.Look(ctx, key.want)
		log.Debug(ctx, log.Membership, "observed the cluster", "cluster", l.snap.ClusterID, "members", len(l.snap.Members), "error", l.err)
		c.viewing.Lock()
		defer c.viewing.Unlock()
		delete(c.flights, key.trust)
		if ctx.Err() == nil { // otherwise it was cut short, and says nothing
			l.at = c.Clock.Now()
			c.latest[key] = l
		}
	}()
	return l
}
