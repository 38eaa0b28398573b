// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package reconfigure

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/claim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// LeaveRequest asks for a member to be taken out.
type LeaveRequest struct {
	// Owner is the key of the ownership record. KeepRecord is true while the
	// configuration of the member's process lives on: then the record stays
	// and says that the member was removed, and whether it has run: an identity
	// that has never joins again.
	Owner      string
	KeepRecord bool
	ID         membership.MemberID
	Cluster    membership.ClusterID
	Name       string
	PeerURLs   []string
	// Replacement is true when a successor is to come in its place.
	Replacement bool
	// Shared is true for a learner, which an etcd_member may have taken over:
	// then it is that member's, and is left alone.
	Shared bool
	// TurnTimeout is how long the turn of each other member is waited for, 0 if
	// it is not waited for: in a plan whose replacements take turns the others'
	// end in the same run.
	TurnTimeout time.Duration
	// Timeout limits everything else; 0 leaves it to ctx.
	Timeout time.Duration
	// Force forgets the member, instead of failing, when the cluster has no
	// quorum or does not answer.
	Force bool

	// still is asked about the snapshot right before each change, nil if there
	// is nothing to ask. Its error ends the removal.
	still func(context.Context, membership.Snapshot) error
}

// Left is the outcome of a removal.
type Left struct {
	// LastVoter is true when the member was the only voter: nothing was
	// changed, there is nobody left to hand over to.
	LastVoter bool
	// Forgotten is why the member was forgotten by force, nil otherwise.
	Forgotten error
	Warnings  []membership.Warning
	// Waited is set when another process was waited for.
	Waited *Waited
	// Snapshot is what the warnings were decided on, the member still in it.
	Snapshot membership.Snapshot
}

// Leave takes a member out: it moves leadership away from it, removes it
// through a survivor, and returns when the survivors agree on the list and on
// a leader. A member that is gone already is success.
func (e *Engine) Leave(ctx context.Context, r LeaveRequest) (Left, error) {
	defer e.reportChange()
	out, err := e.leaveInTurn(ctx, r)
	if err != nil && r.Force && Undecidable(err) {
		out, err = Left{Forgotten: err, Snapshot: out.Snapshot}, nil
	}
	if err == nil {
		e.Board.settle(r.Owner, r.Cluster, out.LastVoter || out.Forgotten != nil)
	}
	return out, err
}

// Undecidable reports whether an error means that the cluster cannot decide any
// more: it does not answer, has no quorum, or another one is there in its place.
// Never that it refused.
func Undecidable(err error) bool {
	var gone *cluster.Unreachable
	var other *OtherCluster
	var refusal *Refusal
	return errors.As(err, &gone) || errors.As(err, &other) || errors.As(err, &refusal) && refusal.Decision.Code == membership.QuorumLost
}

// leave is one run of [Engine.Leave].
type leave struct {
	*Engine
	req   LeaveRequest
	hold  *hold     // the lock while it is held
	since time.Time // since when every look ended in the same refusal
	snap  membership.Snapshot
	tried bool // the removal was sent, and the servers did not say no
	ran   bool // the member was seen in the list with what only its process publishes
	begun bool // what is on record of turns is up to date
	// acting is true after a look that led to a change, or to waiting for one
	// to settle.
	acting bool
	// changed is true after an attempt that made a change.
	changed bool
	// last is why the latest look led to nothing.
	last error
	out  Left
}

// run looks and acts until it is done. The lock is held from the first change
// to its settling: leadership that was moved away for one member's removal must
// not be moved back by another's before it happened. While it only waits,
// others may go first: one of them may be what it waits for.
func (l *leave) run(ctx context.Context) (Left, error) {
	var pause backoff
	for {
		done, err := l.turn(ctx, &pause)
		var lost *LockLost
		var busy *claim.BusyError
		var queued *Queued
		switch {
		case done:
			return l.out, nil
		case errors.As(err, &lost), (errors.As(err, &busy) || errors.As(err, &queued)) && !errors.Is(ctx.Err(), context.Canceled):
			return l.out, err
		case ctx.Err() != nil || lookAgain(err) && pause.sleep(ctx, l.Clock) != nil:
			return l.out, l.late(ctx, err)
		case !lookAgain(err):
			return l.out, err
		}
	}
}

// late is the error of a removal whose time ran out.
// A look that was cut short says nothing: the one before it may.
func (l *leave) late(ctx context.Context, err error) error {
	var refusal *Refusal
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return ctx.Err()
	case errors.As(err, &refusal), errors.As(l.last, &refusal):
		refusal.Timeout = true
		return refusal
	case l.last != nil:
		return l.last
	case err != nil:
		return err
	default:
		return ctx.Err()
	}
}

// lookAgain reports whether the error asks for another look.
func lookAgain(err error) bool {
	var a again
	return errors.As(err, &a)
}

// later asks for another look because of the error, unless it has been the
// same for so long that it is to be believed. Once the removal was sent there
// is nothing to give up any more, only an outcome to learn.
func (l *leave) later(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		l.last = err
	}
	if hopeless(err) || !l.tried && l.Clock.Now().Sub(l.since) > doubt {
		return err
	}
	return again{err}
}

// turn is one hold of the lock.
func (l *leave) turn(ctx context.Context, pause *backoff) (bool, error) {
	if l.Board.busy(l.req.Cluster) && !l.tried {
		if err := l.undecidable(ctx); err != nil {
			return false, err
		}
	}
	h, err := l.lock(ctx, l.req.Cluster, "remove", cmp.Or(l.req.Name, l.req.ID.String()))
	if err != nil {
		return false, err
	}
	defer h.release()
	l.hold = h
	// Whoever had the lock meanwhile may have cleared it: the member was there.
	l.begun = false
	for {
		l.acting = false
		done, err := l.attempt(h.ctx)
		if h.waited != nil {
			l.out.Waited = h.waited
		}
		if h.lost() != nil && !done {
			return l.outcome(ctx)
		}
		if done || !l.acting || !lookAgain(err) {
			return done, err
		}
		if l.changed {
			*pause, l.changed = backoff{}, false // what comes of it may be there at once
		}
		if !errors.Is(err, errFresh) && pause.sleep(h.ctx, l.Clock) != nil && ctx.Err() != nil {
			return false, err
		}
	}
}

// undecidable looks, without the lock, whether there is a quorum to decide at
// all. Without one each look lasts as long as a request may: members that are
// to leave all at once, as at the end of everything, must not wait for each
// other to be told so.
func (l *leave) undecidable(ctx context.Context) error {
	snap, err := l.observe(ctx, l.req.Cluster)
	if err != nil {
		return l.later(ctx, err)
	}
	d := membership.DecideRemove(snap, membership.RemoveRequest{ID: l.req.ID, Name: l.req.Name, PeerURLs: l.req.PeerURLs, Replacement: l.req.Replacement})
	if d.Verdict != membership.Refuse || d.Code != membership.QuorumLost {
		return nil
	}
	return l.later(ctx, &Refusal{Action: ActionRemove, Name: l.req.Name, Decision: d, Snapshot: snap})
}

// outcome is what came of a removal whose lock was lost.
func (l *leave) outcome(ctx context.Context) (bool, error) {
	lost := l.hold.outcome(ctx, l.req.ID, nil)
	if lost.Checked && !lost.Listed && l.tried {
		l.forget(ctx)
		return true, nil
	}
	return false, lost
}

// attempt takes one look and makes at most one change.
func (l *leave) attempt(ctx context.Context) (bool, error) {
	snap, err := l.observe(ctx, l.req.Cluster)
	if err != nil {
		l.acting = l.tried
		return false, l.later(ctx, err)
	}
	l.snap = snap
	if m, ok := snap.Member(l.req.ID); ok && len(m.ClientURLs) > 0 {
		l.ran = true
	}
	if l.req.Shared {
		taken, err := l.takenOver(ctx)
		if err != nil {
			return false, l.later(ctx, err)
		}
		if taken {
			return true, nil
		}
	}
	r := membership.RemoveRequest{
		ID: l.req.ID, Name: l.req.Name, PeerURLs: l.req.PeerURLs,
		Replacement: l.req.Replacement, Leaving: l.Board.leavingNow(), Next: l.Board.queued(),
	}
	var unread error
	if r.Replacement {
		r.Turns, unread = l.Port.Turns(l.snap.ClusterID).List(ctx)
	}
	d := membership.DecideRemove(snap, r)
	refusal := &Refusal{Action: ActionRemove, Name: l.req.Name, Decision: d, Snapshot: snap}
	switch {
	case unread != nil && d.Verdict == membership.Go:
		return false, l.later(ctx, unread)
	case d.Code == membership.TurnOfAnother && l.req.TurnTimeout > 0:
		return false, refusal // to be waited for
	}
	switch d.Verdict {
	case membership.Done:
		return l.settled(ctx)
	case membership.Wait:
		l.since = l.Clock.Now()
		return false, l.later(ctx, refusal)
	case membership.Refuse:
		if snap.Linearizable {
			l.tried = false // it is in the list: what was sent has not happened
		}
		if d.Code == membership.LastVoter && !l.req.Replacement {
			l.out.LastVoter = true
			return true, nil
		}
		if permanent(d.Code) {
			return false, refusal
		}
		return false, l.later(ctx, refusal)
	}
	if l.req.still != nil {
		if err := l.req.still(ctx, snap); err != nil {
			return false, err
		}
	}
	l.since, l.acting = l.Clock.Now(), true
	l.out.Warnings, l.out.Snapshot = d.Warnings, snap
	return l.change(ctx, d)
}

// change moves leadership away or removes the member. Every error but a denied
// permission leads to another look: the change may have happened.
func (l *leave) change(ctx context.Context, d membership.Decision) (bool, error) {
	if err := l.hold.sure(l.snap); err != nil {
		if lookAgain(err) || errors.As(err, new(*claim.BusyError)) || errors.Is(err, claim.ErrLost) {
			return false, err
		}
		return false, l.later(ctx, err)
	}
	leader, _, _ := l.snap.MajorityLeader()
	if d.MoveLeaderTo != 0 {
		if err := l.Port.MoveLeader(ctx, leader, d.MoveLeaderTo); err != nil {
			return false, denied(err)
		}
		l.changed = true
		return false, again{errors.New("leadership has been moved")}
	}
	if err := l.begin(ctx); err != nil {
		if errors.As(err, new(*Refusal)) {
			return false, err
		}
		return false, denied(err)
	}
	if err := l.Port.Remove(ctx, leader, l.req.ID); err != nil && !errors.Is(err, cluster.ErrNotFound) {
		l.tried = l.tried || errors.Is(err, cluster.ErrAmbiguous)
		return false, denied(err)
	}
	l.tried, l.changed = true, true
	return false, again{errors.New("waiting for the survivors to agree")}
}

func denied(err error) error {
	if errors.Is(err, cluster.ErrPermission) {
		return err
	}
	return again{err}
}

// settled is called with the member absent from a list that a quorum stands
// behind. The removal is complete when the survivors agree on a leader too: a
// change right behind another one may be dropped without a word, and hangs, on
// 3.4 and 3.5 (etcd-io/etcd#15528, etcd-io/etcd#14040).
func (l *leave) settled(ctx context.Context) (bool, error) {
	if _, _, ok := l.snap.MajorityLeader(); !ok && l.tried {
		l.acting = true
		return false, again{errors.New("the survivors have no leader yet")}
	}
	if l.tried {
		l.Board.left(l.req.PeerURLs, l.Clock.Now())
	}
	l.forget(ctx)
	return true, nil
}
