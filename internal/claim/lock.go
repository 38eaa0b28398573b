// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package claim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/clock"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/log"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// Holder says who holds a [Lock]: the claim's value, in JSON.
type Holder struct {
	// Who is user@host, PID the process there, Run the provider process: two
	// processes with the same PID in two containers differ in it.
	Who string `json:"who"`
	PID int    `json:"pid"`
	Run string `json:"run"`
	// Since is when the lock was taken, by the holder's clock.
	Since time.Time `json:"since"`
	// Doing is what it was taken for, such as "add member infra4".
	Doing string `json:"doing"`
}

// String names the holder for a sentence.
func (h Holder) String() string {
	return fmt.Sprintf("%s (process %d, since %s, to %s)", h.Who, h.PID, h.Since.UTC().Format(time.RFC3339), h.Doing)
}

// Lock keeps the membership changes of several processes apart: a claim in the
// cluster itself, which says whose it is. It fences nothing: etcd's membership
// calls know no claim. So it is checked right before every change, and a change
// that was under way when it was lost must be looked at again.
type Lock struct {
	Store Store
	// Prefix is the metadata prefix: the claim is at <Prefix><cluster ID>/lock.
	Prefix string
	// Self is who takes the lock; Since and Doing are filled in.
	Self Holder
	// TTL is how long the lock of a process that was killed remains. Three
	// beats fit into it.
	TTL   time.Duration
	Clock clock.Clock
	// AtExit is that of the claim; see [Options].
	AtExit func(func(context.Context)) (forget func())
}

// LockTTL is the time to live of a membership lock: long enough for an
// election and a slow disk between two beats, short enough to wait for.
const LockTTL = 20 * time.Second

// Hold is a lock that is held.
type Hold interface {
	// Check makes sure that the lock is held now; see [Claim.Check].
	Check(ctx context.Context) error
	// Lost is closed when the lock is lost, Err says why.
	Lost() <-chan struct{}
	Err() error
	// Stop gives the lock up.
	Stop(ctx context.Context) error
}

// ErrForever means that a lock does not expire: it has no lease, or one that is
// gone. It was not made by a [Lock], and no [Lock] waits for it.
var ErrForever = errors.New("the lock does not expire")

// BusyError says that ctx ended before the lock was free, or that it never
// becomes free by itself.
type BusyError struct {
	// Holder is who held it; its zero value where Value is not a holder's.
	Holder Holder
	// Entry is the claim that was in the way.
	Entry Entry
	// Waited is how long.
	Waited time.Duration
	// Err is ctx's error, or [ErrForever].
	Err error
}

// Error implements error.
func (e *BusyError) Error() string {
	if errors.Is(e.Err, ErrForever) {
		return fmt.Sprintf("%s is held by %s, and does not expire", e.Entry.Key, e.name())
	}
	return fmt.Sprintf("%s was held by %s for the %s that it was waited for", e.Entry.Key, e.name(), e.Waited.Round(time.Second))
}

func (e *BusyError) name() string {
	if e.Holder.Who == "" {
		return connection.Quote(e.Entry.Value)
	}
	return e.Holder.String()
}

// Unwrap returns why it is not waited for any longer.
func (e *BusyError) Unwrap() error { return e.Err }

// The pause between two looks at a lock that somebody else holds.
const (
	minPoll = 50 * time.Millisecond
	maxPoll = time.Second
	// orphanTimeout is how long a key may outlive its lease: the servers delete it with
	// the lease, but in two requests it can be seen between.
	orphanTimeout = 5 * time.Second
)

// Acquire waits until the lock of that cluster is free and takes it. It does not
// wait for one that does not expire. waiting is called, when it is not nil, with
// each new holder that is waited for. Errors: [*BusyError], [*AlarmError],
// [membership.ErrNoClusterID], or what the endpoints answered.
func (l *Lock) Acquire(ctx context.Context, id membership.ClusterID, doing string, waiting func(Holder)) (Hold, error) {
	key, err := membership.MetadataKey(l.Prefix, id, "lock")
	if err != nil {
		return nil, err
	}
	begin := l.Clock.Now()
	var busy *BusyError
	var since time.Time // since when the lock is an orphan
	for pause := minPoll; ; pause = min(pause*3/2, maxPoll) {
		claim, err := l.try(ctx, key, doing)
		var held *HeldError
		switch {
		case err == nil:
			return claim, nil
		case ctx.Err() != nil && busy != nil:
		case !errors.As(err, &held):
			return nil, err
		default:
			now := &BusyError{Holder: HolderOf(held.Entry), Entry: held.Entry}
			if busy == nil || busy.Entry.Value != held.Entry.Value {
				log.Debug(ctx, log.Lock, "waiting for the lock", "holder", now.name(), "key", key)
				if waiting != nil {
					waiting(now.Holder)
				}
			}
			busy = now
		}
		if since = l.orphanSince(busy.Entry, since); busy.Entry.Forever || !since.IsZero() && l.Clock.Now().Sub(since) > orphanTimeout {
			busy.Entry.Forever = true
			busy.Waited, busy.Err = l.Clock.Now().Sub(begin), ErrForever
			return nil, busy
		}
		if l.Clock.Sleep(ctx, pause) != nil {
			busy.Waited, busy.Err = l.Clock.Now().Sub(begin), ctx.Err()
			return nil, busy
		}
		// A look costs the cluster less than a try.
		for {
			e, taken, err := l.Store.Get(ctx, key)
			if since = l.orphanSince(e, since); err != nil || !taken || e.Value != busy.Entry.Value || e.Forever || e.orphan || l.Clock.Sleep(ctx, pause) != nil {
				break
			}
			pause = min(pause*3/2, maxPoll)
		}
	}
}

// orphanSince is since when the claim in the way is an orphan, zero if it is none.
func (l *Lock) orphanSince(e Entry, since time.Time) time.Time {
	switch {
	case !e.orphan:
		return time.Time{}
	case since.IsZero():
		return l.Clock.Now()
	default:
		return since
	}
}

// try takes the lock if it is free.
func (l *Lock) try(ctx context.Context, key, doing string) (Hold, error) {
	self := l.Self
	self.Since, self.Doing = l.Clock.Now().UTC(), doing
	value, err := json.Marshal(self)
	if err != nil {
		return nil, err
	}
	c, err := Start(ctx, l.Store, l.Clock, Options{Key: key, Value: string(value), TTL: l.TTL, AtExit: l.AtExit})
	if err != nil {
		return nil, err
	}
	return c, nil
}

// HolderOf returns who holds a lock, the zero value if the claim was not made by
// a [Lock], or says what cannot be shown.
func HolderOf(e Entry) Holder {
	var h Holder
	if json.Unmarshal([]byte(e.Value), &h) != nil || connection.Plain(h.Who) != nil || connection.Plain(h.Doing) != nil {
		return Holder{}
	}
	return h
}
