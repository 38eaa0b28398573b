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

// Holder identifies the holder of a [Lock]. It is the claim's value, in JSON.
type Holder struct {
	// Who is user@host, PID the process ID there, Run the ID of the provider
	// process: it distinguishes processes with the same PID in two containers.
	Who string `json:"who"`
	PID int    `json:"pid"`
	Run string `json:"run"`
	// Since is when the lock was taken, by the holder's clock.
	Since time.Time `json:"since"`
	// Doing is the purpose of the lock, such as "add member infra4".
	Doing string `json:"doing"`
}

// String returns a description of the holder that fits into a sentence.
func (h Holder) String() string {
	return fmt.Sprintf("%s (process %d, since %s, to %s)", h.Who, h.PID, h.Since.UTC().Format(time.RFC3339), h.Doing)
}

// Lock serialises the membership changes of several processes. It is a claim in the
// cluster itself that names its holder. It does not fence: etcd's membership calls
// do not check the claim. So the holder checks it right before every change, and
// must observe the result of a change that was in progress when it was lost.
type Lock struct {
	Store Store
	// Self identifies this process; Since and Doing are filled in.
	Self  Holder
	Clock clock.Clock
	// AtExit is passed to the claim; see [Options].
	AtExit func(func(context.Context)) (forget func())
}

// LockTTL is the time to live of a membership lock, and so how long the lock of a
// killed process remains: long enough for an election and a slow disk between two
// beats, of which it covers three, short enough to wait for.
const LockTTL = 20 * time.Second

// Hold is a [Lock] that this process holds.
type Hold interface {
	// Check verifies that the lock is held now; see [Claim.Check].
	Check(ctx context.Context) error
	// Lost returns a channel that is closed when the lock is lost; Err says why.
	Lost() <-chan struct{}
	Err() error
	// Stop releases the lock.
	Stop(ctx context.Context) error
}

// ErrForever means that a lock does not expire: it has no lease, or its lease does
// not exist any more. A [Lock] did not create it, and a [Lock] does not wait for it.
var ErrForever = errors.New("the lock does not expire")

// BusyError means that ctx ended before the lock was free, or that the lock
// does not expire.
type BusyError struct {
	// Holder is the holder; its zero value if Value is not that of a [Lock].
	Holder Holder
	// Entry is the existing claim.
	Entry Entry
	// Waited is the duration of the wait.
	Waited time.Duration
	// Err is ctx's error, or [ErrForever].
	Err error
}

// Error implements error.
func (e *BusyError) Error() string {
	if errors.Is(e.Err, ErrForever) {
		return fmt.Sprintf("%s is held by %s, and does not expire", e.Entry.Key, nameOf(e.Holder, e.Entry))
	}
	return fmt.Sprintf("%s was held by %s for the %s that it was waited for", e.Entry.Key, nameOf(e.Holder, e.Entry), e.Waited.Round(time.Second))
}

// nameOf describes the holder of a claim as far as it is known.
func nameOf(h Holder, e Entry) string {
	if h.Who == "" {
		return connection.Quote(e.Value)
	}
	return h.String()
}

// Unwrap returns why the wait ended.
func (e *BusyError) Unwrap() error { return e.Err }

// minPoll and maxPoll limit the pause between two reads of another holder's lock.
const (
	minPoll = 50 * time.Millisecond
	maxPoll = time.Second
	// orphanTimeout is how long a key may outlive its lease. The servers delete both
	// together, but a reader that sends two requests can see the state in between.
	orphanTimeout = 5 * time.Second
)

// Acquire waits until the lock of the cluster is free and takes it. It does not
// wait for a lock that does not expire. It calls waiting for each new holder that
// it waits for. Errors: [*BusyError], [*AlarmError],
// [membership.ErrNoClusterID], or the errors of the endpoints.
func (l *Lock) Acquire(ctx context.Context, id membership.ClusterID, doing string, waiting func(Holder)) (Hold, error) {
	key, err := membership.MetadataKey(id, "lock")
	if err != nil {
		return nil, err
	}
	w := &wait{Lock: l, key: key, begin: l.Clock.Now(), pause: minPoll}
	for {
		self := l.Self
		self.Since, self.Doing = l.Clock.Now().UTC(), doing
		value, err := json.Marshal(self)
		if err != nil {
			return nil, err
		}
		claim, err := Start(ctx, l.Store, l.Clock, Options{Key: key, Value: string(value), TTL: LockTTL, AtExit: l.AtExit})
		held, taken := errors.AsType[*HeldError](err)
		switch before := w.busy; {
		case err == nil:
			return claim, nil
		case taken:
			w.busy = &BusyError{Holder: holderOf(held.Entry), Entry: held.Entry}
			if before == nil || before.Entry.Value != held.Entry.Value {
				log.Debug(ctx, log.Lock, "waiting for the lock", "holder", nameOf(w.busy.Holder, w.busy.Entry), "key", key)
				waiting(w.busy.Holder)
			}
		case ctx.Err() == nil || before == nil:
			return nil, err
		}
		if err := w.untilChange(ctx); err != nil {
			return nil, err
		}
	}
}

// wait is the wait for a lock that another process holds.
type wait struct {
	*Lock
	key   string
	busy  *BusyError
	begin time.Time
	pause time.Duration
	// orphaned is since when the lock is an orphan, zero if it is not.
	orphaned time.Time
}

// untilChange waits until the lock may be free. A read costs the cluster less than an
// attempt to take it.
func (w *wait) untilChange(ctx context.Context) error {
	for e := w.busy.Entry; ; {
		switch {
		case !e.orphan:
			w.orphaned = time.Time{}
		case w.orphaned.IsZero():
			w.orphaned = w.Clock.Now()
		}
		if e.Forever || e.orphan && w.Clock.Now().Sub(w.orphaned) > orphanTimeout {
			w.busy.Entry.Forever = true
			return w.ended(ErrForever)
		}
		if w.Clock.Sleep(ctx, w.pause) != nil {
			return w.ended(ctx.Err())
		}
		w.pause = min(w.pause*3/2, maxPoll)
		now, _ := w.Store.Get(ctx, w.key)
		if now == nil || now.Value != w.busy.Entry.Value {
			return nil // an attempt to take it says why
		}
		e = *now
	}
}

// ended returns the error of a wait that ends without the lock.
func (w *wait) ended(why error) error {
	w.busy.Waited, w.busy.Err = w.Clock.Now().Sub(w.begin), why
	return w.busy
}

// holderOf returns the holder of a lock. It returns the zero value if a [Lock] did
// not create the claim, or if the value contains text that cannot be displayed.
func holderOf(e Entry) Holder {
	var h Holder
	if json.Unmarshal([]byte(e.Value), &h) != nil || connection.Plain(h.Who) != nil || connection.Plain(h.Doing) != nil {
		return Holder{}
	}
	return h
}
