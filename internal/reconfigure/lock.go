// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package reconfigure

import (
	"context"
	"errors"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/claim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
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
	Name string
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

// isGone reports whether the member is known to be removed.
func (l *LockLost) isGone() bool { return l.Checked && !l.Listed }

// Unwrap returns why the lock was lost.
func (l *LockLost) Unwrap() error { return l.Lost }

// Outcome is what a change that was made has to report.
type Outcome struct {
	Warnings []membership.Warning
	// Waited is set if the change waited for another process.
	Waited *Waited
	// Snapshot is the basis of the warnings.
	Snapshot membership.Snapshot
}

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
var errLockJustTaken = outcome{next: retryUnpaused, cause: note("the lock has just been taken"), keep: true}

// guarded is an operation that observes without the lock between processes and
// takes it for its changes. While it only waits it does not hold the lock, so
// that other operations may go first: it may be waiting for one of them.
type guarded struct {
	*Engine
	// action and name are the purpose of the lock.
	action Action
	name   string
	// member is the member that is changed, as far as it is known. Its peer URLs
	// identify it as long as its ID is not known.
	member membership.Member
	// hold is the lock while it is held, waited the latest long wait for it.
	hold   *hold
	waited *Waited
	// snap is the latest whole observation. A change is based on it.
	snap membership.Snapshot
}

// refresh makes the latest observation, see [Engine.observe].
func (g *guarded) refresh(ctx context.Context, want membership.ClusterID) error {
	snap, err := g.observe(ctx, want)
	if err == nil {
		g.snap = snap
	}
	return err
}

// records returns the ownership records of the cluster.
func (g *guarded) records() cluster.Store[cluster.Record] { return g.Cluster.Records(g.snap.ClusterID) }

// leader returns the member through which the membership is changed.
func (g *guarded) leader() membership.MemberID {
	leader, _, _ := g.snap.MajorityLeader()
	return leader
}

func (g *guarded) refusal(d membership.Decision) *Refusal {
	return &Refusal{Action: g.action, Name: g.name, Decision: d, Snapshot: g.snap}
}

// hold is one hold of a cluster's lock: from the start the lock of this
// process, and from the first change on also the lock between processes. So
// observing and waiting do not block other processes. Resources of one process
// wait for each other without a request to the cluster.
type hold struct {
	// ctx ends with the hold, and if the lock is lost.
	ctx    context.Context
	cancel context.CancelFunc
	unlock func()
	claim  claim.Hold
	// unguarded is true if the lock between processes could not be taken.
	unguarded bool
	// recorded is true if the replacement was put on record since it was taken.
	recorded bool
}

// underLock takes a step under the lock. It keeps the lock if the outcome says
// so, or if the step succeeded. The error is a [*LockLost] if the lock was lost.
func (g *guarded) underLock(ctx context.Context, id membership.ClusterID, step func(context.Context) error) error {
	if err := g.acquire(ctx, ctx, id); err != nil {
		return stopping(err)
	}
	return g.after(ctx, step(g.hold.ctx))
}

// acquire takes the lock of this process if it is not held. It fails only if wait
// ends, with [*Queued]; the hold ends with ctx.
func (g *guarded) acquire(wait, ctx context.Context, id membership.ClusterID) error {
	if g.hold != nil {
		return nil
	}
	unlock, err := g.Process.lock(wait, id, g.doing())
	if err != nil {
		log.Debug(ctx, log.Lock, "lock held by another operation of this process", "action", g.action, "member", g.name, "reason", err)
		return err
	}
	g.hold = &hold{unlock: unlock}
	g.hold.ctx, g.hold.cancel = context.WithCancel(ctx)
	return nil
}

// doing returns the purpose of the lock, as other processes read it.
func (g *guarded) doing() string { return string(g.action) + " member " + g.name }

// after keeps or releases the lock after a step.
func (g *guarded) after(ctx context.Context, err error) error {
	switch {
	case err == nil || g.hold == nil:
		return err
	case g.lost() != nil:
		err = stopping(g.lostLock(ctx))
	}
	if !classify(err).keep {
		g.release()
	}
	return err
}

// release releases both locks if they are held.
func (g *guarded) release() {
	h := g.hold
	if h == nil {
		return
	}
	g.hold = nil
	h.cancel()
	defer g.Changed()
	if h.claim != nil {
		log.Debug(h.ctx, log.Lock, "releasing the lock", "action", g.action, "member", g.name)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(h.ctx), releaseTimeout)
		defer cancel()
		// If the release fails, the lock expires.
		_ = h.claim.Stop(ctx)
	}
	h.unlock()
}

// change makes a change of the membership. The check of the lock is the last call
// before it, and the change ends before the lock that was checked can expire:
// etcd's membership calls do not check the lock themselves. The error is that of
// [guarded.ensure], and then send was not called, or that of send.
func (g *guarded) change(send func(context.Context) error) error {
	if err := g.ensure(g.hold.ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(g.hold.ctx, ChangeLimit)
	defer cancel()
	return send(ctx)
}

// ensure makes sure, before a change, that no other process makes a change.
// It checks that the lock is held, or takes it and requests another observation
// ([errLockJustTaken]). Under an alarm no lock can be taken. An action that can
// clear the alarm (a removal, a defragmentation) continues under the lock of this process
// alone, and the decision about removals warns about it. If the latest observation does
// not show the alarm yet, ensure requests another one. ctx limits the wait for other
// processes.
func (g *guarded) ensure(ctx context.Context) error {
	h := g.hold
	switch {
	case h.unguarded:
		return nil
	case h.claim != nil:
		return h.claim.Check(h.ctx)
	}
	begin := g.Clock.Now()
	var holder claim.Holder
	c, err := g.Locker.Acquire(ctx, g.snap.ClusterID, g.doing(), func(other claim.Holder) {
		log.Debug(ctx, log.Lock, "waiting for the lock", "action", g.action, "member", g.name, "holder", other)
		holder = other
	})
	if errors.As(err, new(*claim.AlarmError)) {
		return g.underAlarm(err)
	}
	if err != nil {
		log.Debug(ctx, log.Lock, "cannot take the lock", "action", g.action, "member", g.name, "reason", err)
		return err
	}
	log.Debug(ctx, log.Lock, "took the lock", "action", g.action, "member", g.name)
	if d := g.Clock.Now().Sub(begin); d >= longWait && holder.Who != "" {
		g.waited = &Waited{Holder: holder, For: d}
	}
	h.claim = c
	go func() {
		select {
		case <-c.Lost():
			log.Debug(h.ctx, log.Lock, "lost the lock", "action", g.action, "member", g.name, "reason", c.Err())
			h.cancel()
		case <-h.ctx.Done():
		}
	}()
	return errLockJustTaken
}

// underAlarm decides how to proceed if the lock between processes cannot be taken.
func (g *guarded) underAlarm(cause error) error {
	if g.snap.Writable(0).Verdict == membership.Go || g.action != ActionRemove && g.action != actionDefragment {
		return g.alarmed(cause)
	}
	log.Debug(g.hold.ctx, log.Lock, "continuing without the lock because of an alarm", "action", g.action, "member", g.name)
	g.hold.unguarded = true
	return nil
}

// alarmed returns the refusal of a change that requires a write, with the alarm
// that is raised. If the alarm was raised after the observation, it requests
// another observation.
func (g *guarded) alarmed(cause error) error {
	d := g.snap.Writable(0)
	if d.Verdict == membership.Go {
		return retrying(cause)
	}
	return g.refusal(d)
}

// lost returns why the lock was lost, nil if it is not lost.
func (g *guarded) lost() error {
	if g.hold == nil || g.hold.claim == nil {
		return nil
	}
	return g.hold.claim.Err()
}

// lostLock returns the error of an operation that lost the lock; ctx is the
// operation's own. It searches the confirmed list for the member.
func (g *guarded) lostLock(ctx context.Context) *LockLost {
	l := &LockLost{Name: g.name, Lost: g.lost()}
	snap, err := g.Confirmed(ctx, 0, g.action, g.name)
	if err != nil {
		return l
	}
	l.Checked = true
	for _, m := range snap.Members {
		if m.ID == g.member.ID || g.member.ID == 0 && membership.SameURLs(m.PeerURLs, g.member.PeerURLs) {
			l.Listed, l.Member = true, m
		}
	}
	return l
}
