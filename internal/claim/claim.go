// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package claim holds claims: a key with a time to live and a value that nobody
// else writes. Whoever has created the key owns it for as long as it renews it.
//
//	start      create only; a key that exists is somebody else's claim
//	take over  compare and delete that very claim, then start
//	beat       compare and swap on the value, with the time to live renewed
//	stop       compare and delete on the value
//
// A beat that comes too late fails; it never brings an expired key back. A
// stop that comes too late deletes nothing that is not its own. Claims are kept
// with leases on the v3 API ([V3]) and with TTL keys on the v2 API ([V2]), in
// the layout that programs of the v2 era use (/running/<name>).
//
// The lock that keeps the membership changes of several processes apart
// ([Lock]) is such a claim.
package claim

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
)

// ErrLost is any [*LostError].
var ErrLost = errors.New("the claim is lost")

// AlarmError says that the server takes no new claims because of an alarm.
// Under NOSPACE, claims that are held already can be renewed and given up;
// under CORRUPT the lease is renewed and nothing is written or deleted.
type AlarmError struct {
	// Kind is etcd's own word: NOSPACE or CORRUPT.
	Kind string
	// Err is what the server answered.
	Err error
}

// Error implements error.
func (e *AlarmError) Error() string {
	return "the alarm " + e.Kind + " keeps the server from taking a claim: " + e.Err.Error()
}

// Unwrap returns what the server answered.
func (e *AlarmError) Unwrap() error { return e.Err }

// Entry is a claim as it stands in the store.
type Entry struct {
	// Key is the whole key, Value the owner's word.
	Key   string
	Value string
	// Left is how long the claim has to live unless it is renewed, in whole
	// seconds. It is 0 if Forever is true: someone wrote the key without a time
	// to live, so it does not expire.
	Left    time.Duration
	Forever bool

	// created tells one life of the key from the next: the create revision on
	// v3, the created index on v2.
	created int64
	// modified is the modified index on v2.
	modified uint64
	// lease is the lease of the key on v3; orphan is true if that is gone. The
	// key goes with its lease, so it is about to go, or something is wrong.
	lease  int64
	orphan bool
}

// Name is the last part of the key.
func (e Entry) Name() string { return e.Key[strings.LastIndexByte(e.Key, '/')+1:] }

// HeldError says that a key exists already.
type HeldError struct{ Entry Entry }

// Error implements error.
func (e *HeldError) Error() string {
	if e.Entry.Forever {
		return fmt.Sprintf("%s is held by %s, without a time to live", e.Entry.Key, connection.Quote(e.Entry.Value))
	}
	return fmt.Sprintf("%s is held by %s for another %s unless it is renewed", e.Entry.Key, connection.Quote(e.Entry.Value), e.Entry.Left)
}

// LostError says that a claim is no longer its owner's.
type LostError struct {
	Key string
	// Now is what is there instead; nil where nothing is, or where it is not
	// known.
	Now *Entry
	// Late is how long ago the claim was last known to be held, where it was
	// given up because no renewal came through in time.
	Late time.Duration
	// Err is why no renewal came through; nil where the store itself said that
	// the claim is lost.
	Err error
}

// Error implements error.
func (e *LostError) Error() string {
	switch {
	case e.Err != nil:
		return fmt.Sprintf("%s was not renewed for %s: %v", e.Key, e.Late.Round(time.Millisecond), e.Err)
	case e.Now != nil:
		return fmt.Sprintf("%s was lost, it is held by %s now", e.Key, connection.Quote(e.Now.Value))
	default:
		return e.Key + " was lost, it is gone"
	}
}

// Is makes the error an [ErrLost].
func (e *LostError) Is(target error) bool { return target == ErrLost }

// Unwrap returns why no renewal came through.
func (e *LostError) Unwrap() error { return e.Err }

// Kind says what happened to a claim.
type Kind string

// The kinds of event.
const (
	// Started: the key was created.
	Started Kind = "started"
	// Beaten: the key was written again.
	Beaten Kind = "beat"
	// Stopped: the key was deleted before its time was over.
	Stopped Kind = "stopped"
	// Missed: the key's time was over.
	Missed Kind = "missed"
)

// Event is something that happened to a claim.
type Event struct {
	Kind Kind
	// Name is the last part of the key.
	Name string
	// Value is the claim's value, for Stopped and Missed the last one it had.
	Value string
}

// Store is where claims are kept. Its implementations are safe for concurrent
// use; every method honours ctx. Apart from the errors named, they return what
// the endpoints answered.
type Store interface {
	// Create makes the key if there is none. Errors: [*HeldError], [*AlarmError].
	Create(ctx context.Context, key, value string, ttl time.Duration) (Entry, error)
	// Beat writes the claim e again and gives it its full time to live, if it is
	// the same claim still and has e's value. It may be repeated after an error
	// whose outcome is not known. Errors: [*LostError].
	Beat(ctx context.Context, e Entry, ttl time.Duration) (Entry, error)
	// Delete deletes the claim e, if it is the same claim still and has e's
	// value. Errors: [*LostError].
	Delete(ctx context.Context, e Entry) error
	// Get returns the claim at key; ok is false if there is none.
	Get(ctx context.Context, key string) (e Entry, ok bool, err error)
	// List returns the claims directly under prefix, by name, and the revision
	// at which they stood so.
	List(ctx context.Context, prefix string) (entries []Entry, revision int64, err error)
	// Watch calls emit with what happens to the claims directly under prefix
	// after a revision, in order, until ctx ends; then it returns nil. It
	// listens at all endpoints, so that the death of one goes unnoticed.
	Watch(ctx context.Context, prefix string, revision int64, emit func(Event)) error
}

// under returns the name of a key that is directly under prefix.
func under(prefix, key string) (name string, ok bool) {
	name, ok = strings.CutPrefix(key, strings.TrimSuffix(prefix, "/")+"/")
	return name, ok && name != "" && !strings.Contains(name, "/")
}
