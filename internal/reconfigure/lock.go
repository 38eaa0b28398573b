// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package reconfigure

import (
	"context"
	"errors"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/claim"
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
	// Action is "add", "remove" or "update", Name the member's.
	Action string
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
	// goodbye is how long giving the lock up may take: it expires by itself.
	goodbye = 2 * time.Second
)

// errFresh asks for another look: what was decided was decided before the lock
// was taken.
var errFresh = again{errors.New("the lock has just been taken")}

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
	action, name string
	unlock       func()
	claim        claim.Hold
	// unguarded is true where no lock could be taken that spans processes.
	unguarded bool
	waited    *Waited
}

// lock takes the lock of this process. It fails only with ctx, and then
// with [*Queued].
func (e *Engine) lock(ctx context.Context, id membership.ClusterID, action, name string) (*hold, error) {
	return e.lockBy(ctx, ctx, id, action, name)
}

// lockBy is [Engine.lock] that waits until another context ends.
func (e *Engine) lockBy(wait, ctx context.Context, id membership.ClusterID, action, name string) (*hold, error) {
	unlock, err := e.Board.lock(wait, id, action+" member "+name)
	if err != nil {
		return nil, err
	}
	h := &hold{engine: e, action: action, name: name, unlock: unlock}
	h.ctx, h.cancel = context.WithCancel(ctx)
	return h, nil
}

// release gives everything up.
func (h *hold) release() {
	h.cancel()
	defer h.engine.reportChange()
	if h.claim != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(h.ctx), goodbye)
		defer cancel()
		// If it cannot be given up, it expires.
		_ = h.claim.Stop(ctx)
	}
	h.unlock()
}

// sure makes sure, right before a change, that no other process makes one: it
// checks that the lock is held, or takes it and asks for another look then
// ([errFresh]). Under an alarm no lock can be had: removals, defragmentation and
// moving leadership, which may be the way out, go on under the lock of this
// process alone, and the decision about removals warns of it. snap is what the
// change was decided on; where it does not show the alarm yet, another look is
// asked for.
func (h *hold) sure(snap membership.Snapshot) error { return h.sureBy(h.ctx, snap) }

// sureBy is [hold.sure] that waits for other processes until ctx ends.
func (h *hold) sureBy(ctx context.Context, snap membership.Snapshot) error {
	switch {
	case h.engine.Locker == nil || h.unguarded:
		return nil
	case h.claim != nil:
		return h.claim.Check(h.ctx)
	}
	begin := h.engine.Clock.Now()
	var holder claim.Holder
	c, err := h.engine.Locker.Acquire(ctx, snap.ClusterID, h.action+" member "+h.name, func(other claim.Holder) { holder = other })
	if errors.As(err, new(*claim.AlarmError)) {
		return h.underAlarm(snap, err)
	}
	if err != nil {
		return err
	}
	if d := h.engine.Clock.Now().Sub(begin); d >= longWait && holder.Who != "" {
		h.waited = &Waited{Holder: holder, For: d}
	}
	h.claim = c
	go func() {
		select {
		case <-c.Lost():
			h.cancel()
		case <-h.ctx.Done():
		}
	}()
	return errFresh
}

// underAlarm decides what to do without a lock that spans processes.
func (h *hold) underAlarm(snap membership.Snapshot, cause error) error {
	refusal := alarmed(Action(h.action), h.name, snap, cause)
	if lookAgain(refusal) {
		return refusal
	}
	if h.action == "remove" || h.action == actionDefragment || h.action == actionMove {
		h.unguarded = true
		return nil
	}
	return refusal
}

// alarmed is the refusal of a change for which something has to be written,
// naming who raised the alarm; or a call for another look, where the alarm has
// been raised since the last one.
func alarmed(action Action, name string, snap membership.Snapshot, cause error) error {
	f, raised := snap.Alarm()
	if !raised {
		return again{cause}
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
	snap, err := h.engine.Confirmed(ctx, 0, Action(h.action), h.name)
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
