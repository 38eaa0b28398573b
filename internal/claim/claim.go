// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package claim holds claims: keys with a time to live that only one process
// writes. The process that created a key owns it for as long as it renews it.
//
//	start      create only; an existing key is the claim of another process
//	take over  compare and delete that claim, then start
//	beat       compare and swap on the value, with the time to live renewed
//	stop       compare and delete on the value
//
// A late beat fails; it never restores an expired key. A late stop deletes only
// its own claim. Claims are kept with leases on the v3 API ([V3]) and with TTL
// keys on the v2 API ([V2]), in the layout of the v2 era (/running/<name>).
//
// [Lock], the lock that serialises the membership changes of several processes,
// is such a claim.
package claim

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
)

// AlarmError means that the server accepts no new claims because of an alarm.
// Under NOSPACE, existing claims can be renewed and released. Under CORRUPT the
// lease is renewed, but nothing is written or deleted.
type AlarmError struct {
	// Kind is etcd's name of the alarm: NOSPACE or CORRUPT.
	Kind string
	// Err is the error from the server.
	Err error
}

// Error implements error.
func (e *AlarmError) Error() string {
	return "the alarm " + e.Kind + " keeps the server from taking a claim: " + e.Err.Error()
}

// Unwrap returns the error from the server.
func (e *AlarmError) Unwrap() error { return e.Err }

// Entry is a claim as the store holds it.
type Entry struct {
	// Key is the whole key, Value the value that the owner wrote.
	Key   string
	Value string
	// Left is the remaining time to live in whole seconds, unless the claim is
	// renewed. It is 0 if Forever is true: the key was written without a time
	// to live, so it does not expire.
	Left    time.Duration
	Forever bool

	// created distinguishes a key from a later key of the same name: the create
	// revision on v3, the created index on v2.
	created int64
	// modified is the modified index on v2.
	modified uint64
	// lease is the lease of the key on v3; orphan is true if that lease does
	// not exist any more. The server deletes a key with its lease, so the key
	// is about to be deleted, or something is wrong.
	lease  int64
	orphan bool
}

// Name is the last part of the key.
func (e Entry) Name() string { return e.Key[strings.LastIndexByte(e.Key, '/')+1:] }

// HeldError means that the key exists already.
type HeldError struct{ Entry Entry }

// Error implements error. Its callers word what they do about it.
func (e *HeldError) Error() string {
	return e.Entry.Key + " is held by " + connection.Quote(e.Entry.Value)
}

// LostError means that the owner does not hold the claim any more.
type LostError struct {
	Key string
	// Now is the claim that exists instead; nil if there is none, or if it is
	// not known.
	Now *Entry
	// Late is the time since the claim was last known to be held, if it was
	// given up because it was not renewed in time.
	Late time.Duration
	// Err is why the renewal failed; nil if the store itself reported that the
	// claim is lost.
	Err error
}

// Error implements error.
func (e *LostError) Error() string {
	switch {
	case e.Err != nil:
		return fmt.Sprintf("%s was not renewed for %s: %v", e.Key, e.Late.Round(time.Millisecond), e.Err)
	case e.Now != nil:
		return fmt.Sprintf("%s was lost, it is held by %s now", e.Key, nameOf(holderOf(*e.Now), *e.Now))
	}
	return e.Key + " was lost: it expired, because the process or its machine stood still, or it was deleted"
}

// Unwrap returns why the renewal failed.
func (e *LostError) Unwrap() error { return e.Err }

// Kind is the kind of an [Event].
type Kind string

// The kinds of event.
const (
	// Started: the key was created.
	Started Kind = "started"
	// Beaten: the key was written again.
	Beaten Kind = "beat"
	// Stopped: the key was deleted before it expired.
	Stopped Kind = "stopped"
	// Missed: the key expired.
	Missed Kind = "missed"
)

// Event is a change of a claim.
type Event struct {
	Kind Kind
	// Name is the last part of the key.
	Name string
	// Value is the claim's value, for Stopped and Missed its last value.
	Value string
}

// Store keeps claims. Its implementations are safe for concurrent use, and
// every method honours ctx. In addition to the errors named, the methods return
// the errors of the endpoints.
type Store interface {
	// Create creates the key if it does not exist. Errors: [*HeldError], [*AlarmError].
	Create(ctx context.Context, key, value string, ttl time.Duration) (Entry, error)
	// Beat writes the claim e again and renews its full time to live, if it is
	// still the same claim and has e's value. It may be repeated after an error
	// whose outcome is not known. Errors: [*LostError].
	Beat(ctx context.Context, e Entry, ttl time.Duration) (Entry, error)
	// Delete deletes the claim e, if it is still the same claim and has e's
	// value. Errors: [*LostError].
	Delete(ctx context.Context, e Entry) error
	// Get returns the claim at key, nil if there is none.
	Get(ctx context.Context, key string) (*Entry, error)
	// List returns the claims directly under prefix, sorted by name, and the
	// revision of this list.
	List(ctx context.Context, prefix string) (entries []Entry, revision int64, err error)
	// Watch calls emit for each event of the claims directly under prefix after
	// a revision, in order. It returns nil when ctx ends. It watches all
	// endpoints, so the failure of one endpoint does not interrupt it.
	Watch(ctx context.Context, prefix string, revision int64, emit func(Event)) error
}

// under returns the name of a key that is directly under prefix.
func under(prefix, key string) (name string, ok bool) {
	name, ok = strings.CutPrefix(key, strings.TrimSuffix(prefix, "/")+"/")
	return name, ok && name != "" && !strings.Contains(name, "/")
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
