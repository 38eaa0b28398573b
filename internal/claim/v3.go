// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package claim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
)

// V3 keeps claims with leases, on the v3 API. Its zero value is not usable: see
// [NewV3].
//
// Each claim has its own lease. Stop deletes the key and lets the lease run
// out. So when a key disappears, a watcher finds its lease alive if the key was
// deleted, and gone if it expired. (A lease that is revoked by hand looks as if
// it had expired.)
type V3 struct {
	route    connection.Route
	settings connection.Settings
	pool     *connection.Pool
}

// NewV3 returns a store that sends requests through route, and watches every
// endpoint of settings. It does not dial.
func NewV3(route connection.Route, settings connection.Settings, pool *connection.Pool) *V3 {
	return &V3{route: route, settings: settings, pool: pool}
}

// createTries is how often Create tries if the lease is gone each time, and
// createPause the pause between two tries, which grows with each try.
const (
	createTries = 5
	createPause = 100 * time.Millisecond
)

// atOnce limits the concurrent requests for the time that leases have left.
const atOnce = 16

// cleanupTimeout limits the cleanup after a claim that could not be created.
const cleanupTimeout = time.Second

// Create implements [Store].
func (s *V3) Create(ctx context.Context, key, value string, ttl time.Duration) (Entry, error) {
	for try := 1; ; try++ {
		e, err := s.create(ctx, key, value, ttl)
		// The lease expired before the key was written, because this process
		// was suspended in between. No claim was held, so none is lost. This
		// does not happen again and again.
		if !errors.Is(err, rpctypes.ErrLeaseNotFound) || try == createTries {
			return e, err
		}
		if err := s.settings.Time().Sleep(ctx, time.Duration(try)*createPause); err != nil {
			return e, err
		}
	}
}

// create grants a lease and tries to create the key with it.
func (s *V3) create(ctx context.Context, key, value string, ttl time.Duration) (Entry, error) {
	granted, err := connection.Ask(ctx, s.route, func(ctx context.Context, c *clientv3.Client) (*clientv3.LeaseGrantResponse, error) {
		return c.Grant(ctx, int64(roundUp(ttl)/time.Second))
	})
	if err != nil {
		return Entry{}, s.heldOr(ctx, key, err)
	}
	resp, err := connection.Ask(ctx, s.route, func(ctx context.Context, c *clientv3.Client) (*clientv3.TxnResponse, error) {
		return commit(ctx, c, key, []clientv3.Cmp{clientv3.Compare(clientv3.CreateRevision(key), "=", 0)},
			clientv3.OpPut(key, value, clientv3.WithLease(granted.ID)))
	})
	var other *mvccpb.KeyValue
	if err == nil {
		mine := Entry{Key: key, Value: value, Left: ttl, created: resp.Header.Revision, lease: int64(granted.ID)}
		other = found(resp)
		if other == nil {
			return mine, nil
		}
		// A request whose answer was lost, and that was sent again through
		// another endpoint, finds its own key.
		mine.created = other.CreateRevision
		if other.Lease == mine.lease {
			return mine, nil
		}
	}
	// Revoking the lease also deletes the key, if it was written after all.
	after, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancel()
	_, _ = connection.Ask(after, s.route, func(ctx context.Context, c *clientv3.Client) (*clientv3.LeaseRevokeResponse, error) {
		return c.Revoke(ctx, granted.ID)
	})
	if err != nil {
		return Entry{}, s.heldOr(ctx, key, err)
	}
	return Entry{}, &HeldError{*s.entry(ctx, other)}
}

// commit makes a change of a key if the comparisons hold, and reads the key if not.
func commit(ctx context.Context, c *clientv3.Client, key string, hold []clientv3.Cmp, change ...clientv3.Op) (*clientv3.TxnResponse, error) {
	return c.Txn(ctx).If(hold...).Then(change...).Else(clientv3.OpGet(key)).Commit()
}

// heldOr returns a [HeldError] if the key exists and err is an alarm, an
// [AlarmError] if the key does not exist, and err itself if it is not an alarm.
func (s *V3) heldOr(ctx context.Context, key string, err error) error {
	kind := alarmOf(err)
	if kind == "" {
		return err
	}
	if e, getErr := s.Get(ctx, key); getErr == nil && e != nil {
		return &HeldError{*e}
	}
	return &AlarmError{Kind: kind, Err: err}
}

// alarmOf returns the kind of the alarm under which the server refuses to
// write, "" for any other error. Both kinds refuse puts, transactions that put,
// and new leases; CORRUPT also refuses deletions and revocations. Reads and the
// renewal of leases work under both (3.4 to 3.7).
func alarmOf(err error) string {
	switch {
	case errors.Is(err, rpctypes.ErrNoSpace):
		return "NOSPACE"
	case errors.Is(err, rpctypes.ErrCorrupt):
		return "CORRUPT"
	}
	return ""
}

// same returns the comparisons that hold as long as the claim is still e.
func same(e Entry) []clientv3.Cmp {
	return []clientv3.Cmp{
		clientv3.Compare(clientv3.CreateRevision(e.Key), "=", e.created),
		clientv3.Compare(clientv3.Value(e.Key), "=", e.Value),
	}
}

// found returns the key that a transaction read because its comparison failed,
// nil if there was none.
func found(resp *clientv3.TxnResponse) *mvccpb.KeyValue {
	if resp.Succeeded || len(resp.Responses) == 0 {
		return nil
	}
	if kvs := resp.Responses[0].GetResponseRange().GetKvs(); len(kvs) > 0 {
		return kvs[0]
	}
	return nil
}

// Beat implements [Store].
func (s *V3) Beat(ctx context.Context, e Entry, ttl time.Duration) (Entry, error) {
	lease := clientv3.LeaseID(e.lease)
	resp, err := connection.Ask(ctx, s.route, func(ctx context.Context, c *clientv3.Client) (*clientv3.TxnResponse, error) {
		// The lease is renewed first. If it were gone after the key was
		// written, watchers would see a beat that does not count.
		if _, err := c.KeepAliveOnce(ctx, lease); err != nil {
			return nil, err
		}
		resp, err := commit(ctx, c, e.Key, same(e), clientv3.OpPut(e.Key, e.Value, clientv3.WithLease(lease)))
		if alarmOf(err) != "" {
			// The lease was renewed; a read can still tell whether the claim
			// exists.
			resp, err = commit(ctx, c, e.Key, same(e))
		}
		return resp, err
	})
	switch {
	case errors.Is(err, rpctypes.ErrLeaseNotFound):
		now, _ := s.Get(ctx, e.Key)
		return e, &LostError{Key: e.Key, Now: now}
	case err != nil:
		return e, err
	case !resp.Succeeded:
		return e, &LostError{Key: e.Key, Now: s.entry(ctx, found(resp))}
	}
	e.Left = ttl
	return e, nil
}

// Delete implements [Store].
func (s *V3) Delete(ctx context.Context, e Entry) error {
	sent := false
	resp, err := connection.Ask(ctx, s.route, func(ctx context.Context, c *clientv3.Client) (*clientv3.TxnResponse, error) {
		if e.lease != 0 {
			// The lease must outlive the key long enough for watchers to see
			// it. A lease that is gone deleted the key as well, as the
			// comparison shows.
			_, _ = c.KeepAliveOnce(ctx, clientv3.LeaseID(e.lease))
		}
		resp, err := commit(ctx, c, e.Key, same(e), clientv3.OpDelete(e.Key))
		sent = sent || err != nil
		return resp, err
	})
	switch {
	case err != nil || resp.Succeeded:
		return err
	case sent && found(resp) == nil: // an earlier attempt succeeded
		return nil
	}
	return &LostError{Key: e.Key, Now: s.entry(ctx, found(resp))}
}

// Get implements [Store].
func (s *V3) Get(ctx context.Context, key string) (*Entry, error) {
	resp, err := connection.Ask(ctx, s.route, func(ctx context.Context, c *clientv3.Client) (*clientv3.GetResponse, error) {
		return c.Get(ctx, key)
	})
	if err != nil || len(resp.Kvs) == 0 {
		return nil, err
	}
	return s.entry(ctx, resp.Kvs[0]), nil
}

// List implements [Store].
func (s *V3) List(ctx context.Context, prefix string) (entries []Entry, revision int64, err error) {
	resp, err := connection.Ask(ctx, s.route, func(ctx context.Context, c *clientv3.Client) (*clientv3.GetResponse, error) {
		return c.Get(ctx, prefix+"/", clientv3.WithPrefix(), clientv3.WithLimit(connection.MaxKeys+1))
	})
	switch {
	case err != nil:
		return nil, 0, err
	case len(resp.Kvs) > connection.MaxKeys:
		return nil, 0, fmt.Errorf("more than %d keys begin with %s", connection.MaxKeys, connection.Quote(prefix+"/"))
	}
	kvs := slices.DeleteFunc(resp.Kvs, func(kv *mvccpb.KeyValue) bool {
		_, ok := under(prefix, string(kv.Key))
		return !ok
	})
	entries = make([]Entry, len(kvs))
	slots := make(chan struct{}, atOnce)
	var wg sync.WaitGroup
	for i, kv := range kvs {
		slots <- struct{}{}
		wg.Go(func() {
			entries[i] = *s.entry(ctx, kv)
			<-slots
		})
	}
	wg.Wait()
	return entries, resp.Header.Revision, ctx.Err()
}

// entry returns the entry of a key, with the time that its lease has left, 0 if the lease
// cannot be read. It returns nil without a key.
func (s *V3) entry(ctx context.Context, kv *mvccpb.KeyValue) *Entry {
	if kv == nil {
		return nil
	}
	e := &Entry{
		Key: string(kv.Key), Value: string(kv.Value), Forever: kv.Lease == 0,
		created: kv.CreateRevision, lease: kv.Lease,
	}
	if e.Forever {
		return e
	}
	lease, err := connection.Ask(ctx, s.route, func(ctx context.Context, c *clientv3.Client) (*clientv3.LeaseTimeToLiveResponse, error) {
		return c.TimeToLive(ctx, clientv3.LeaseID(kv.Lease))
	})
	if err == nil {
		e.Left, e.orphan = time.Duration(max(lease.TTL, 0))*time.Second, lease.TTL < 0 // -1 if it is gone
	}
	return e
}

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
