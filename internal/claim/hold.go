// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package claim

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/clock"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/log"
)

// Options describes a claim.
type Options struct {
	// Key is the whole key. Value must not be empty, and should be unique to the
	// process: then two processes cannot both believe that they are the owner.
	Key, Value string
	// TTL is the time to live, at least a second; fractions of a second are
	// rounded up. Interval is the time between two beats; 0 means a third of
	// TTL.
	TTL, Interval time.Duration
	// TakeOver deletes the claim of the current owner of the key.
	TakeOver bool
	// AtExit registers a function that runs before the process ends, unless
	// forget is called first. If AtExit is nil, nothing is registered.
	AtExit func(func(context.Context)) (forget func())
}

// takeOverTries limits the attempts to delete a claim that changes its value
// with each beat while it is being taken over.
const takeOverTries = 5

// Claim is a claim that this process holds and renews in the background. Its
// methods are safe for concurrent use.
type Claim struct {
	store   Store
	clock   clock.Clock
	options Options

	// held ends when the claim is known to be lost, with a [*LostError] as its cause.
	held context.Context
	lose context.CancelCauseFunc
	// beating holds one value while a beat is under way. cancel ends the renewal, which
	// then closes ended.
	beating chan struct{}
	ended   chan struct{}
	cancel  context.CancelFunc
	// released is closed when the claim was released, with stopErr.
	released chan struct{}
	stopErr  error

	// latest is the latest renewal. stopping is true once Stop was called.
	latest   atomic.Pointer[renewal]
	stopping atomic.Bool

	mu     sync.Mutex
	forget func() // returned by AtExit
}

// renewal is a claim as it was written by a request that was sent at a time.
type renewal struct {
	entry Entry
	sent  time.Time
}

// Start takes the claim and renews it until [Claim.Stop]. The renewal continues after
// ctx ends. Errors: [*HeldError], [*AlarmError], or the errors of the endpoints.
func Start(ctx context.Context, store Store, clock clock.Clock, o Options) (*Claim, error) {
	if o.Value == "" {
		return nil, errors.New("a claim needs a value")
	}
	o.TTL = roundUp(o.TTL)
	o.Interval = cmp.Or(max(o.Interval, 0), o.TTL/3)
	taken, err := take(ctx, store, clock, o)
	if err != nil {
		return nil, err
	}
	log.Debug(ctx, log.Claim, "claim taken", "key", o.Key, "ttl", o.TTL, "takeover", o.TakeOver)
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	c := &Claim{
		store: store, clock: clock, options: o, cancel: cancel,
		beating: make(chan struct{}, 1), ended: make(chan struct{}), released: make(chan struct{}),
	}
	c.latest.Store(&taken)
	c.held, c.lose = context.WithCancelCause(context.WithoutCancel(ctx))
	go c.renew(life)
	if o.AtExit != nil {
		c.mu.Lock()
		c.forget = o.AtExit(func(ctx context.Context) { _ = c.Stop(ctx) })
		c.mu.Unlock()
	}
	return c, nil
}

// take creates the key, for which it deletes the claim of the owner if TakeOver is set.
func take(ctx context.Context, store Store, clock clock.Clock, o Options) (r renewal, err error) {
	for try := 0; ; try++ {
		r.sent = clock.Now()
		r.entry, err = store.Create(ctx, o.Key, o.Value, o.TTL)
		held, isHeld := errors.AsType[*HeldError](err)
		if !isHeld || !o.TakeOver || try == takeOverTries {
			return r, err
		}
		if err := store.Delete(ctx, held.Entry); err != nil && !errors.As(err, new(*LostError)) {
			return r, err
		}
	}
}

// roundUp returns whole seconds, at least one.
func roundUp(d time.Duration) time.Duration {
	return max((d + time.Second - 1).Truncate(time.Second), time.Second)
}

// Lost returns a channel that is closed when the claim is known to be lost, or
// was not renewed within its time to live; [Claim.Err] says which.
func (c *Claim) Lost() <-chan struct{} { return c.held.Done() }

// Err returns nil as long as the claim is not known to be lost, and a
// [*LostError] afterwards.
func (c *Claim) Err() error { return context.Cause(c.held) }

// Check verifies that the claim is held now. Call it right before a step that
// requires the claim. A process that was frozen can continue in the middle of
// an operation, after its claim expired and before the renewal runs. So Check
// renews the claim first if the last renewal is long ago. A claim that is being
// stopped counts as lost: its process is about to end. Errors: [*LostError];
// any other error means that the state of the claim is unknown.
func (c *Claim) Check(ctx context.Context) error {
	switch {
	case c.Err() != nil:
		return c.Err()
	case c.stopping.Load():
		return &LostError{Key: c.options.Key}
	case c.age() < c.options.TTL*2/3:
		return nil
	}
	return c.beat(ctx)
}

// Stop releases the claim: it deletes the key if the process still owns it. A second
// call returns the result of the first. Errors: [*LostError] if the process did not own
// the claim any more; any other error means that the key may remain until it expires.
func (c *Claim) Stop(ctx context.Context) error {
	if c.stopping.Swap(true) {
		<-c.released
		return c.stopErr
	}
	defer close(c.released)
	c.mu.Lock()
	forget := c.forget
	c.mu.Unlock()
	if forget != nil {
		defer forget()
	}
	c.cancel()
	<-c.ended
	lost := c.Err()
	if why, ok := errors.AsType[*LostError](lost); !ok || why.Err != nil {
		c.stopErr = c.store.Delete(ctx, c.latest.Load().entry)
	}
	if lost != nil {
		c.stopErr = lost
	}
	log.Debug(ctx, log.Claim, "claim released", "key", c.options.Key, "error", c.stopErr)
	return c.stopErr
}

// renew beats until life ends or the claim is lost.
func (c *Claim) renew(life context.Context) {
	defer close(c.ended)
	// A failed beat is repeated before the next regular one.
	retry := min(c.options.Interval, c.options.TTL/10)
	pause := c.options.Interval
	for c.clock.Sleep(life, pause) == nil {
		pause = c.options.Interval
		if err := c.beat(life); err != nil {
			pause = retry
		}
		if c.Err() != nil {
			return
		}
	}
}

// beat renews the claim now.
func (c *Claim) beat(ctx context.Context) error {
	select {
	case c.beating <- struct{}{}:
		defer func() { <-c.beating }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := c.Err(); err != nil {
		return err
	}
	sent := c.clock.Now()
	// After its time to live the claim counts as lost, whatever the server
	// answers. A beat that is already late is sent nevertheless: if no other
	// process held the claim in between, it was never lost.
	bounded, cancel := context.WithTimeout(ctx, max(c.options.TTL-c.age(), c.options.TTL/3))
	defer cancel()
	e, err := c.store.Beat(bounded, c.latest.Load().entry, c.options.TTL)
	if err == nil {
		c.latest.Store(&renewal{e, sent})
		return nil
	}
	late := c.age()
	if !errors.As(err, new(*LostError)) {
		if late < c.options.TTL || ctx.Err() != nil {
			log.Debug(ctx, log.Claim, "beat failed", "key", c.options.Key, "late", late, "error", err)
			return err
		}
		err = &LostError{Key: c.options.Key, Late: late, Err: err}
	}
	log.Debug(ctx, log.Claim, "claim lost", "key", c.options.Key, "error", err)
	c.lose(err)
	return err
}

// age returns the time since the last successful beat was sent: the longer of the two
// measurements, because the monotonic clock stops while the machine sleeps, and the wall
// clock can be set.
func (c *Claim) age() time.Duration {
	from, to := c.latest.Load().sent, c.clock.Now()
	return max(to.Sub(from), to.Round(0).Sub(from.Round(0)))
}
