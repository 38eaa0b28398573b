// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package claim

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
)

// Watch implements [Store].
func (s *V3) Watch(ctx context.Context, prefix string, revision int64, emit func(Event)) error {
	r := newRelay(revision, emit)
	compacted := func(err error) bool { return errors.Is(err, rpctypes.ErrCompacted) }
	return everywhere(ctx, s.settings, compacted, func(ctx context.Context, endpoint string) error {
		c, err := s.pool.Client(ctx, s.settings, endpoint)
		if err != nil {
			return err
		}
		return c.DoLong(ctx, 0, func(ctx context.Context) error {
			stream, cancel := context.WithCancel(ctx)
			defer cancel()
			answers := c.Watch(clientv3.WithRequireLeader(stream), prefix+"/",
				clientv3.WithPrefix(), clientv3.WithPrevKV(), clientv3.WithRev(r.from()))
			for answer := range answers {
				if err := answer.Err(); err != nil {
					return err
				}
				for _, e := range answer.Events {
					if name, ok := under(prefix, string(e.Kv.Key)); ok {
						r.pass(e.Kv.ModRevision, name, func() Event { return s.event(ctx, name, e) })
					}
				}
			}
			return nil
		})
	})
}

// event translates an event of a key into an event of the claim.
func (s *V3) event(ctx context.Context, name string, e *clientv3.Event) Event {
	out := Event{Name: name, Value: string(e.Kv.Value), Kind: Beaten}
	switch {
	case e.IsCreate():
		out.Kind = Started
	case e.Type == clientv3.EventTypeDelete:
		// If the lease cannot be read, the worse case is assumed.
		out.Kind = Missed
		last := s.entry(ctx, e.PrevKv)
		if last != nil {
			out.Value = last.Value
		}
		if last != nil && (last.Forever || last.Left > 0) {
			out.Kind = Stopped
		}
	}
	return out
}

// watchRetry is the pause before another watch at the same endpoint.
const watchRetry = 250 * time.Millisecond

// everywhere keeps f running at each endpoint, and returns nil when ctx ends.
// It returns early with an error that compacted accepts: no watch can go on.
func everywhere(ctx context.Context, s connection.Settings, compacted func(error) bool, f func(ctx context.Context, endpoint string) error) error {
	watches, end := context.WithCancelCause(ctx)
	defer end(nil)
	var wg sync.WaitGroup
	for _, endpoint := range s.Endpoints {
		wg.Go(func() {
			for watches.Err() == nil {
				if err := f(watches, endpoint); compacted(err) {
					end(err)
					return
				}
				_ = s.Time().Sleep(watches, watchRetry)
			}
		})
	}
	wg.Wait()
	if ctx.Err() != nil {
		return nil
	}
	return context.Cause(watches)
}

// relay merges the events of several watches. It emits each event once and in
// order. Every watch delivers all events in order, so the watch that delivers
// an event first has delivered all events before it.
type relay struct {
	mu sync.Mutex
	// next is the revision at which a new watch begins. It is the last revision again,
	// because another watch may have delivered only a part of it.
	next int64
	// seen is the last revision of each key that was emitted.
	seen map[string]int64
	emit func(Event)
}

func newRelay(after int64, emit func(Event)) *relay {
	return &relay{next: after + 1, seen: map[string]int64{}, emit: emit}
}

// pass emits an event unless it was emitted before. event may ask a server: the
// other watches do not wait for the answer.
func (r *relay) pass(revision int64, key string, event func() Event) {
	r.mu.Lock()
	isNew := revision > r.seen[key]
	r.mu.Unlock()
	if !isNew {
		return
	}
	e := event()
	r.mu.Lock()
	defer r.mu.Unlock()
	if revision > r.seen[key] {
		r.seen[key], r.next = revision, revision
		r.emit(e)
	}
}

// from returns the revision at which a new watch begins.
func (r *relay) from() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.next
}
