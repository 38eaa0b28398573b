// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package reconfigure

import (
	"context"
	"errors"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/claim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/log"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// Locker keeps the changes of other processes apart; *claim.Lock is one.
type Locker interface {
	// Acquire waits until the lock of the cluster is free and takes it. waiting is
	// called with each holder that is waited for. Errors: [*claim.BusyError],
	// [*claim.AlarmError], [membership.ErrNoClusterID], or what the endpoints
	// answered.
	Acquire(ctx context.Context, id membership.ClusterID, doing string, waiting func(claim.Holder)) (claim.Hold, error)
}

// LockLost means that the lock was lost while it was held: the operation
// stopped before its next step, and looked once more at what had come of it.
type LockLost struct {
	// Name is the member's.
	Action Action
	Name   string
	// Lost is what happened to the lock.
	Lost error
	// Checked is true when the list could be read afterwards; then Listed says
	// whether the member is in it, and Member is what the list says of it.
	Checked bool
	Listed  bool
	Member  membership.Member
}

// Error implements error.
func (l *LockLost) Error() string { return "the lock on changes was lost: " + l.Lost.Error() }

// Unwrap returns what happened to the lock.
func (l *LockLost) Unwrap() error { return l.Lost }

// Waited is a wait for another process that was long enough to be told.
type Waited struct {
	Holder claim.Holder
	For    time.Duration
}

const (
	// longWait is how long a wait for another process is not worth a word.
	longWait = 10 * time.Second
	// releaseTimeout is how long giving the lock up may take: it expires by itself.
	releaseTimeout = 2 * time.Second
)

// errLockJustTaken asks for another look: what was decided was decided before
// the lock was taken.
var errLockJustTaken = outcome{next: soon, cause: note("the lock has just been taken"), keep: true}

// hold is one hold of a cluster's lock: the lock of this process from the
// start, and the one that spans processes from the first change on, so that
// looking and waiting keep nobody else away. Resources of one process wait for
// each other without a word to the cluster.
type hold struct {
	// ctx ends with the hold, and when the lock is lost.
	ctx    context.Context
	cancel context.CancelFunc
	engine *Engine
	// action and name say what it is held for.
	action Action
	name   string
	unlock func()
	claim  claim.Hold
	// unguarded is true where no lock could be taken that spans processes.
	unguarded bool
	waited    *Waited
}

// lock takes the lock of this process. It fails only with ctx, and then
// with [*Queued].
func (e *Engine) lock(ctx context.Context, id membership.ClusterID, action Action, name string) (*hold, error) {
	return e.lockBy(ctx, ctx, id, action, name)
}

// lockBy is [Engine.lock] that waits until another context ends.
func (e *Engine) lockBy(wait, ctx context.Context, id membership.ClusterID, action Action, name string) (*hold, error) {
	unlock, err := e.Process.lock(wait, id, doing(action, name))
	if err != nil {
		log.Debug(ctx, log.Lock, "lock held by another operation of this process", "action", action, "member", name, "reason", err)
		return nil, err
	}
	h := &hold{engine: e, action: action, name: name, unlock: unlock}
	h.ctx, h.cancel = context.WithCancel(ctx)
	return h, nil
}

// doing says what a lock is held for, as others read it.
func doing(action Action, name string) string { return string(action) + " member " + name }

// release gives everything up.
func (h *hold) release() {
	h.cancel()
	defer h.engine.reportChange()
	if h.claim != nil {
		log.Debug(h.ctx, log.Lock, "releasing the lock", "action", h.action, "member", h.name)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(h.ctx), releaseTimeout)
		defer cancel()
		// If it cannot be given up, it expires.
		_ = h.claim.Stop(ctx)
	}
	h.unlock()
}

// ensure makes sure, right before a change, that no other process makes one: it
// checks that the lock is held, or takes it and asks for another look then
// ([errLockJustTaken]). Under an alarm no lock can be had: what may be the way
// out ([Action.liftsAlarm]) goes on under the lock of this process alone, and the
// decision about removals warns of it. snap is what the change was decided on;
// where it does not show the alarm yet, another look is asked for.
func (h *hold) ensure(snap membership.Snapshot) error { return h.ensureBy(h.ctx, snap) }

// ensureBy is [hold.ensure] that waits for other processes until ctx ends.
func (h *hold) ensureBy(ctx context.Context, snap membership.Snapshot) error {
	switch {
	case h.engine.Locker == nil || h.unguarded:
		return nil
	case h.claim != nil:
		return h.claim.Check(h.ctx)
	}
	begin := h.engine.Clock.Now()
	var holder claim.Holder
	c, err := h.engine.Locker.Acquire(ctx, snap.ClusterID, doing(h.action, h.name), func(other claim.Holder) {
		log.Debug(ctx, log.Lock, "waiting for the lock", "action", h.action, "member", h.name, "holder", other)
		holder = other
	})
	if errors.As(err, new(*claim.AlarmError)) {
		return h.underAlarm(snap, err)
	}
	if err != nil {
		log.Debug(ctx, log.Lock, "cannot take the lock", "action", h.action, "member", h.name, "reason", err)
		return err
	}
	log.Debug(ctx, log.Lock, "took the lock", "action", h.action, "member", h.name)
	if d := h.engine.Clock.Now().Sub(begin); d >= longWait && holder.Who != "" {
		h.waited = &Waited{Holder: holder, For: d}
	}
	h.claim = c
	go func() {
		select {
		case <-c.Lost():
			log.Debug(h.ctx, log.Lock, "lost the lock", "action", h.action, "member", h.name, "reason", c.Err())
			h.cancel()
		case <-h.ctx.Done():
		}
	}()
	return errLockJustTaken
}

// underAlarm decides what to do without a lock that spans processes.
func (h *hold) underAlarm(snap membership.Snapshot, cause error) error {
	if _, raised := snap.Alarm(); !raised || !h.action.liftsAlarm() {
		return alarmed(h.action, h.name, snap, cause)
	}
	log.Debug(h.ctx, log.Lock, "continuing without the lock because of an alarm", "action", h.action, "member", h.name)
	h.unguarded = true
	return nil
}

// alarmed is the refusal of a change for which something has to be written,
// naming who raised the alarm; or a call for another look, where the alarm has
// been raised since the last one.
func alarmed(action Action, name string, snap membership.Snapshot, cause error) error {
	f, raised := snap.Alarm()
	if !raised {
		return retrying(cause)
	}
	return &Refusal{Action: action, Name: name, Snapshot: snap, Decision: membership.Decision{Code: membership.AlarmRaised, Facts: f}}
}

// lost is why the lock was lost, nil while it is not.
func (h *hold) lost() error {
	if h.claim == nil {
		return nil
	}
	return h.claim.Err()
}

// outcome is the error of an operation whose lock was lost; ctx is the
// operation's own. It looks at the confirmed list for the member with that ID, or
// with those peer URLs where the ID is not known.
func (h *hold) outcome(ctx context.Context, id membership.MemberID, peerURLs []string) *LockLost {
	l := &LockLost{Action: h.action, Name: h.name, Lost: h.lost()}
	snap, err := h.engine.Confirmed(ctx, 0, h.action, h.name)
	if err != nil {
		return l
	}
	l.Checked = true
	for _, m := range snap.Members {
		if m.ID == id || id == 0 && membership.SameURLs(m.PeerURLs, peerURLs) {
			l.Listed, l.Member = true, m
		}
	}
	return l
}

// guarded is an operation that looks without the lock between processes and takes
// it for its changes. While it only waits it holds no lock, so that others may go
// first: one of them may be what it waits for.
type guarded struct {
	*Engine
	action Action
	name   string
	// member is the one that it is about, as far as it is known; peerURLs are those
	// by which it is found while its ID is not.
	member   membership.Member
	peerURLs []string
	// hold is the lock while it is held, waited the last long wait for it.
	hold   *hold
	waited *Waited
}

// underLock takes a step under the lock, which is kept if the outcome says so, or
// if the step was the last one. The error is a [*LockLost] if it was lost.
func (g *guarded) underLock(ctx context.Context, id membership.ClusterID, step func(context.Context) error) error {
	if err := g.acquire(ctx, id); err != nil {
		return err
	}
	return g.after(ctx, step(g.hold.ctx))
}

// acquire takes the lock of this process if it is not held.
func (g *guarded) acquire(ctx context.Context, id membership.ClusterID) (err error) {
	if g.hold == nil {
		if g.hold, err = g.lock(ctx, id, g.action, g.name); err != nil {
			return stopping(err)
		}
	}
	return nil
}

// after does with the lock what follows a step.
func (g *guarded) after(ctx context.Context, err error) error {
	switch {
	case err == nil || g.hold == nil:
		return err
	case g.hold.lost() != nil:
		err = stopping(g.hold.outcome(ctx, g.member.ID, g.peerURLs))
	}
	if !classify(err).keep {
		g.release()
	}
	return err
}

// release gives the lock up, if it is held.
func (g *guarded) release() {
	if g.hold == nil {
		return
	}
	if g.hold.waited != nil {
		g.waited = g.hold.waited
	}
	g.hold.release()
	g.hold = nil
}
