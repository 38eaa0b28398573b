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

// Locker serialises the changes of several processes; *claim.Lock is a Locker.
type Locker interface {
	// Acquire waits until the lock of the cluster is free and takes it. It
	// calls waiting for each holder that it waits for. Errors:
	// [*claim.BusyError], [*claim.AlarmError], [membership.ErrNoClusterID], or
	// the errors of the endpoints.
	Acquire(ctx context.Context, id membership.ClusterID, doing string, waiting func(claim.Holder)) (claim.Hold, error)
}

// LockLost means that the lock was lost during an operation. The operation
// stopped before its next step, and observed the result once more.
type LockLost struct {
	// Name is the name of the member.
	Action Action
	Name   string
	// Lost is why the lock was lost.
	Lost error
	// Checked is true if the list could be read afterwards; then Listed says
	// whether it contains the member, and Member is its entry.
	Checked bool
	Listed  bool
	Member  membership.Member
}

// Error implements error.
func (l *LockLost) Error() string { return "the lock on changes was lost: " + l.Lost.Error() }

// Unwrap returns why the lock was lost.
func (l *LockLost) Unwrap() error { return l.Lost }

// Waited is a wait for another process that was long enough to be reported.
type Waited struct {
	Holder claim.Holder
	For    time.Duration
}

const (
	// longWait is the shortest wait for another process that is reported.
	longWait = 10 * time.Second
	// releaseTimeout limits the release of the lock, which expires by itself.
	releaseTimeout = 2 * time.Second
	// ChangeLimit limits a change of the membership, whatever the request timeout.
	// It is less than the third of its time to live that a lock has left after
	// its check, see [claim.Claim.Check].
	ChangeLimit = claim.LockTTL / 4
)

// errLockJustTaken requests another observation: the decision was made before
// the lock was taken.
var errLockJustTaken = outcome{next: atOnce, cause: note("the lock has just been taken"), keep: true}

// hold is one hold of a cluster's lock: from the start the lock of this
// process, and from the first change on also the lock between processes. So
// observing and waiting do not block other processes. Resources of one process
// wait for each other without a request to the cluster.
type hold struct {
	// ctx ends with the hold, and if the lock is lost.
	ctx    context.Context
	cancel context.CancelFunc
	engine *Engine
	// action and name are the purpose of the lock.
	action Action
	name   string
	unlock func()
	claim  claim.Hold
	// unguarded is true if the lock between processes could not be taken.
	unguarded bool
	waited    *Waited
}

// lock takes the lock of this process. It fails only if ctx ends, with
// [*Queued].
func (e *Engine) lock(ctx context.Context, id membership.ClusterID, action Action, name string) (*hold, error) {
	return e.lockBy(ctx, ctx, id, action, name)
}

// lockBy is [Engine.lock], but the context wait limits the wait.
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

// doing returns the purpose of a lock, as other processes read it.
func doing(action Action, name string) string { return string(action) + " member " + name }

// release releases both locks.
func (h *hold) release() {
	h.cancel()
	defer h.engine.reportChange()
	if h.claim != nil {
		log.Debug(h.ctx, log.Lock, "releasing the lock", "action", h.action, "member", h.name)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(h.ctx), releaseTimeout)
		defer cancel()
		// If the release fails, the lock expires.
		_ = h.claim.Stop(ctx)
	}
	h.unlock()
}

// change makes a change of the membership. The check of the lock is the last call
// before it, and the change ends before the lock that was checked can expire:
// etcd's membership calls do not check the lock themselves. snap is the basis of
// the change. The error is that of [hold.ensure], and then send was not called, or that
// of send.
func (h *hold) change(snap membership.Snapshot, send func(context.Context) error) error {
	if err := h.ensure(snap); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(h.ctx, ChangeLimit)
	defer cancel()
	return send(ctx)
}

// ensure makes sure, before a change, that no other process makes a change.
// It checks that the lock is held, or takes it and requests another observation
// ([errLockJustTaken]). Under an alarm no lock can be taken. An action that can
// clear the alarm ([Action.liftsAlarm]) continues under the lock of this process
// alone, and the decision about removals warns about it. snap is the basis of the
// change; if it does not show the alarm yet, ensure requests another observation.
func (h *hold) ensure(snap membership.Snapshot) error { return h.ensureBy(h.ctx, snap) }

// ensureBy is [hold.ensure], but ctx limits the wait for other processes.
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

// underAlarm decides how to proceed if the lock between processes cannot be taken.
func (h *hold) underAlarm(snap membership.Snapshot, cause error) error {
	if snap.Writable(0).Verdict == membership.Go || !h.action.liftsAlarm() {
		return alarmed(h.action, h.name, snap, cause)
	}
	log.Debug(h.ctx, log.Lock, "continuing without the lock because of an alarm", "action", h.action, "member", h.name)
	h.unguarded = true
	return nil
}

// alarmed returns the refusal of a change that requires a write, with the alarm
// that is raised. If the alarm was raised after the observation, it requests
// another observation.
func alarmed(action Action, name string, snap membership.Snapshot, cause error) error {
	d := snap.Writable(0)
	if d.Verdict == membership.Go {
		return retrying(cause)
	}
	return &Refusal{Action: action, Name: name, Snapshot: snap, Decision: d}
}

// lost returns why the lock was lost, nil if it is not lost.
func (h *hold) lost() error {
	if h.claim == nil {
		return nil
	}
	return h.claim.Err()
}

// lostLock returns the error of an operation that lost the lock; ctx is the
// operation's own. It searches the confirmed list for the member with that ID,
// or with those peer URLs if the ID is not known.
func (h *hold) lostLock(ctx context.Context, id membership.MemberID, peerURLs []string) *LockLost {
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

// guarded is an operation that observes without the lock between processes and
// takes it for its changes. While it only waits it does not hold the lock, so
// that other operations may go first: it may be waiting for one of them.
type guarded struct {
	*Engine
	action Action
	name   string
	// member is the member that is changed, as far as it is known; peerURLs
	// identify it as long as its ID is not known.
	member   membership.Member
	peerURLs []string
	// hold is the lock while it is held, waited the latest long wait for it.
	hold   *hold
	waited *Waited
}

// underLock takes a step under the lock. It keeps the lock if the outcome says
// so, or if the step succeeded. The error is a [*LockLost] if the lock was lost.
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

// after keeps or releases the lock after a step.
func (g *guarded) after(ctx context.Context, err error) error {
	switch {
	case err == nil || g.hold == nil:
		return err
	case g.hold.lost() != nil:
		err = stopping(g.hold.lostLock(ctx, g.member.ID, g.peerURLs))
	}
	if !classify(err).keep {
		g.release()
	}
	return err
}

// release releases the lock if it is held.
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
