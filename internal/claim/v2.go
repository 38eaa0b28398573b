// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package claim

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	clientv2 "go.etcd.io/etcd/client/v2"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
)

// V2 keeps claims as TTL keys on the v2 API of etcd up to 3.5. Its zero value
// is not usable: see [NewV2].
type V2 struct {
	settings connection.Settings
	pool     *connection.Pool
}

// NewV2 returns a store that tries the endpoints of settings one after the
// other. It does not dial, and keeps no connection open between two calls.
func NewV2(settings connection.Settings, pool *connection.Pool) *V2 { return &V2{settings, pool} }

// indexTries limits how often a comparison is repeated that failed on the index
// alone, because an earlier attempt of the same beat had succeeded.
const indexTries = 3

// Create implements [Store].
func (s *V2) Create(ctx context.Context, key, value string, ttl time.Duration) (e Entry, err error) {
	sent := false // the outcome of a request is not known
	err = s.anywhere(ctx, func(ctx context.Context, keys connection.KeysV2) error {
		resp, refused := keys.Set(ctx, key, value, &clientv2.SetOptions{PrevExist: clientv2.PrevNoExist, TTL: ttl})
		switch {
		case refused == nil:
			e = entryV2(resp.Node)
			return nil
		case connection.CodeV2(refused) != clientv2.ErrorCodeNodeExist:
			sent = true
			return refused
		}
		node, _, err := keys.Node(ctx, key)
		if err != nil || node == nil {
			return cmp.Or(err, refused)
		}
		// After a request whose answer was lost, the key can be our own.
		// Without such a request, another owner uses the same value.
		e = entryV2(node)
		if sent && e.Value == value {
			return nil
		}
		return &HeldError{e}
	})
	return e, err
}

// Beat implements [Store].
func (s *V2) Beat(ctx context.Context, e Entry, ttl time.Duration) (Entry, error) {
	err := s.anywhere(ctx, func(ctx context.Context, keys connection.KeysV2) error {
		return s.compare(ctx, keys, &e, func(now Entry) error {
			resp, err := keys.Set(ctx, now.Key, now.Value, &clientv2.SetOptions{PrevValue: now.Value, PrevIndex: now.modified, TTL: ttl})
			if err == nil {
				e = entryV2(resp.Node)
			}
			return err
		})
	})
	return e, err
}

// Delete implements [Store].
func (s *V2) Delete(ctx context.Context, e Entry) error {
	sent := false
	return s.anywhere(ctx, func(ctx context.Context, keys connection.KeysV2) error {
		err := s.compare(ctx, keys, &e, func(now Entry) error {
			_, err := keys.Delete(ctx, now.Key, &clientv2.DeleteOptions{PrevValue: now.Value, PrevIndex: now.modified})
			return err
		})
		if lost, ok := errors.AsType[*LostError](err); sent && ok && lost.Now == nil {
			return nil // an earlier attempt succeeded
		}
		sent = sent || err != nil
		return err
	})
}

// compare makes a change that compares the value and the index of the claim e.
// If only the index differs, because an earlier attempt succeeded, compare
// tries again with the new index: the claim is the same as long as it has the
// same created index and e's value.
func (s *V2) compare(ctx context.Context, keys connection.KeysV2, e *Entry, change func(Entry) error) error {
	for try := 0; ; try++ {
		err := change(*e)
		if connection.CodeV2(err) == clientv2.ErrorCodeKeyNotFound {
			return &LostError{Key: e.Key}
		}
		if connection.CodeV2(err) != clientv2.ErrorCodeTestFailed {
			return err
		}
		node, _, err := keys.Node(ctx, e.Key)
		if err != nil || node == nil {
			return cmp.Or[error](err, &LostError{Key: e.Key})
		}
		now := entryV2(node)
		if try == indexTries || now.created != e.created || now.Value != e.Value {
			return &LostError{Key: e.Key, Now: &now}
		}
		*e = now
	}
}

// Get implements [Store].
func (s *V2) Get(ctx context.Context, key string) (e *Entry, err error) {
	err = s.anywhere(ctx, func(ctx context.Context, keys connection.KeysV2) error {
		node, _, err := keys.Node(ctx, key)
		e = nil
		if node != nil {
			e = new(entryV2(node))
		}
		return err
	})
	return e, err
}

// List implements [Store].
func (s *V2) List(ctx context.Context, prefix string) (entries []Entry, revision int64, err error) {
	err = s.anywhere(ctx, func(ctx context.Context, keys connection.KeysV2) error {
		dir, at, err := keys.Node(ctx, prefix)
		if dir == nil {
			dir = &clientv2.Node{}
		}
		entries, revision = nil, index(at)
		for _, node := range dir.Nodes {
			if !node.Dir {
				entries = append(entries, entryV2(node))
			}
		}
		return err
	})
	slices.SortFunc(entries, func(a, b Entry) int { return cmp.Compare(a.Key, b.Key) })
	return entries, revision, err
}

// Watch implements [Store].
func (s *V2) Watch(ctx context.Context, prefix string, revision int64, emit func(Event)) error {
	r := newRelay(revision, emit)
	compacted := func(err error) bool { return connection.CodeV2(err) == clientv2.ErrorCodeEventIndexCleared }
	return everywhere(ctx, s.settings, compacted, func(ctx context.Context, endpoint string) error {
		keys, err := s.pool.KeysV2(ctx, s.settings, endpoint)
		if err != nil {
			return err
		}
		next := keys.Watch(prefix, &clientv2.WatcherOptions{AfterIndex: indexOf(r.from() - 1), Recursive: true})
		for {
			resp, err := next(ctx)
			if err != nil {
				return err
			}
			if name, ok := under(prefix, resp.Node.Key); ok {
				r.pass(index(resp.Node.ModifiedIndex), name, func() Event { return eventV2(name, resp) })
			}
		}
	})
}

// eventV2 translates an event of a key into an event of the claim.
func eventV2(name string, resp *clientv2.Response) Event {
	// Beaten includes a plain set by a program that does not compare.
	e := Event{Name: name, Value: resp.Node.Value, Kind: Beaten}
	switch {
	case resp.Action == "expire":
		e.Kind = Missed
	case resp.Action == "delete", resp.Action == "compareAndDelete":
		e.Kind = Stopped
	case resp.PrevNode == nil:
		e.Kind = Started
	}
	if (e.Kind == Missed || e.Kind == Stopped) && resp.PrevNode != nil {
		e.Value = resp.PrevNode.Value
	}
	return e
}

func entryV2(n *clientv2.Node) Entry {
	return Entry{
		Key: n.Key, Value: n.Value, Left: n.TTLDuration(), Forever: n.Expiration == nil,
		created: index(n.CreatedIndex), modified: n.ModifiedIndex,
	}
}

// index and indexOf convert between the indexes of the v2 API and revisions.
func index(i uint64) int64     { return int64(i) } //nolint:gosec // an index counts raft entries from 0
func indexOf(rev int64) uint64 { return uint64(max(rev, 0)) }

// anywhere calls do with the keys API of one endpoint after the other, each
// within the request timeout, until an endpoint answers.
func (s *V2) anywhere(ctx context.Context, do func(context.Context, connection.KeysV2) error) error {
	return connection.Try(ctx, s.settings.Endpoints, func(err error) bool {
		return errors.As(err, new(*HeldError)) || errors.As(err, new(*LostError))
	}, func(endpoint string) error { return s.pool.V2(ctx, s.settings, endpoint, do) })
}
