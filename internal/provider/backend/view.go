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
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/syncmap"
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

// look is an observation of the cluster.
type look struct {
	viewKey
	// changes is the number of changes at its start, at the time of its end.
	changes uint64
	at      time.Time
	snap    membership.Snapshot
	err     error
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

// views are the latest observations of a cluster, the latest first.
type views struct {
	viewing sync.Mutex
	latest  []*look
	turns   syncmap.Map[string, chan struct{}] // of the callers that may observe, by trust
}

// CachedSnapshot returns an observation of the cluster. It may be up to two seconds old,
// so that the refresh of any number of resources needs only one, but it began
// after the end of every change made by this process. want is the expected
// cluster, 0 if there is none. The error is that of the observation or of ctx.
// One caller observes, and the others wait for it, each as long as its ctx allows. If the
// one gives up, the next observes. CachedSnapshot is for display and for plans; code that
// changes the cluster observes it directly ([cluster.Cluster.Observe]).
func (c *Cluster) CachedSnapshot(ctx context.Context, want membership.ClusterID) (membership.Snapshot, error) {
	// A change that ends after this point does not invalidate this observation.
	changes := c.backend.changes.Load()
	key := viewKey{want, c.settings.Trust(ctx)}
	turn := c.turns.GetOrMake(key.trust, func() chan struct{} { return make(chan struct{}, 1) })
	select {
	case turn <- struct{}{}:
		defer func() { <-turn }()
	case <-ctx.Done():
		return membership.Snapshot{}, ctx.Err()
	}
	if l := c.viewed(key, changes); l != nil {
		log.Debug(ctx, log.Membership, "observation used", "age", c.Clock.Now().Sub(l.at))
		return l.snap, l.err
	}
	l := &look{viewKey: key, changes: c.backend.changes.Load()}
	log.Debug(ctx, log.Membership, "observing the cluster", "endpoints", c.settings.Endpoints)
	l.snap, l.err = c.Cluster.Observe(ctx, want)
	log.Debug(ctx, log.Membership, "observed the cluster", "cluster", l.snap.ClusterID, "members", len(l.snap.Members), "error", l.err)
	c.viewing.Lock()
	defer c.viewing.Unlock()
	if l.at = c.Clock.Now(); ctx.Err() == nil { // otherwise the error is that of this caller
		c.latest = append([]*look{l}, slices.DeleteFunc(c.latest, func(was *look) bool { return was.viewKey == key })...)
	}
	return l.snap, l.err
}

// viewed returns a valid observation, nil if there is none.
func (c *Cluster) viewed(key viewKey, changes uint64) *look {
	c.viewing.Lock()
	defer c.viewing.Unlock()
	now := c.Clock.Now()
	for _, l := range c.latest {
		if l.changes >= changes && now.Sub(l.at) <= freshness && l.serves(key) {
			return l
		}
	}
	return nil
}
