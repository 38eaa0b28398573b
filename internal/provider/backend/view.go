// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package backend

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/log"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// freshness is how long one observation of the cluster serves the refresh of
// many resources. It is far shorter than the time that a person needs to act.
const freshness = 2 * time.Second

// viewKey distinguishes observations by the expected cluster, and by the hosts
// that are trusted because of the resource that is observed
// ([connection.Settings.Trust]).
type viewKey struct {
	want  membership.ClusterID
	trust string
}

// look is an observation of the cluster, in progress or complete. An
// observation in progress continues as long as a caller waits for it.
type look struct {
	viewKey
	// changes is the number of changes at its start.
	changes uint64
	waiting int
	cancel  context.CancelFunc
	// over is closed at the end, when the fields below are set.
	over chan struct{}
	at   time.Time
	snap membership.Snapshot
	err  error
}

// serves reports whether the observation can replace another one.
func (l *look) serves(key viewKey) bool {
	switch {
	case l.viewKey == key:
		return true
	case l.trust != key.trust || l.err != nil:
		return false
	case key.want == 0: // with a single cluster, it does not matter which is expected
		return len(l.snap.Others) == 0
	default:
		return l.snap.ClusterID == key.want
	}
}

// views are the latest observations of a cluster, the latest first, and those in progress.
type views struct {
	viewing sync.Mutex
	latest  []*look
	flights map[string]*look // by trust
}

// CachedSnapshot returns an observation of the cluster. It may be up to two seconds old,
// so that the refresh of any number of resources needs only one, but it began
// after the end of every change made by this process. want is the expected
// cluster, 0 if there is none. The error is that of the observation or of ctx.
// A caller that gives up returns at once, and the others keep their
// observation. CachedSnapshot is for display and for plans; code that changes the cluster
// observes it directly ([cluster.Cluster.Observe]).
func (c *Cluster) CachedSnapshot(ctx context.Context, want membership.ClusterID) (membership.Snapshot, error) {
	// A change that ends after this point does not invalidate this observation.
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

// viewed returns a valid observation, nil if there is none.
func (c *Cluster) viewed(key viewKey, changes uint64) *look {
	now := c.Clock.Now()
	for _, l := range c.latest {
		if l.changes >= changes && now.Sub(l.at) <= freshness && l.serves(key) {
			return l
		}
	}
	return nil
}

// look starts an observation. The observation keeps the values of ctx but does not
// end with it. It ends early when the last caller that waits for it has given up.
func (c *Cluster) look(ctx context.Context, key viewKey) *look {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	l := &look{viewKey: key, changes: c.backend.changes.Load(), cancel: cancel, over: make(chan struct{})}
	c.flights[key.trust] = l
	go func() {
		defer close(l.over)
		log.Debug(ctx, log.Membership, "observing the cluster", "endpoints", c.settings.Endpoints)
		l.snap, l.err = c.Cluster.Observe(ctx, key.want)
		log.Debug(ctx, log.Membership, "observed the cluster", "cluster", l.snap.ClusterID, "members", len(l.snap.Members), "error", l.err)
		c.viewing.Lock()
		defer c.viewing.Unlock()
		delete(c.flights, key.trust)
		if ctx.Err() == nil { // otherwise it was cancelled and has no result
			l.at = c.Clock.Now()
			c.latest = append([]*look{l}, slices.DeleteFunc(c.latest, func(was *look) bool { return was.viewKey == key })...)
		}
	}()
	return l
}
