// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package reconfigure

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/log"
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

// Removal is the outcome of a removal.
type Removal struct {
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
func (e *Engine) Leave(ctx context.Context, r LeaveRequest) (Removal, error) {
	defer e.reportChange()
	out, err := e.leaveInTurn(ctx, r)
	if err != nil && r.Force && Undecidable(err) {
		out, err = Removal{Forgotten: err, Snapshot: out.Snapshot}, nil
	}
	if err == nil {
		e.Process.settle(r.Owner, r.Cluster, out.LastVoter || out.Forgotten != nil)
	}
	return out, err
}

// Undecidable reports whether an error means that the cluster cannot decide any
// more: it does not answer, has no quorum, or another one is there in its place.
// Never that it refused.
func Undecidable(err error) bool {
	refusal, refused := errors.AsType[*Refusal](err)
	return errors.As(err, new(*connection.Unreachable)) || errors.As(err, new(*OtherCluster)) || refused && refusal.Decision.Code == membership.QuorumLost
}

// leaveInTurn waits for the member's turn, where it is to wait, and takes it
// out. It stays in the queue until it has left: between its turn and the lock
// whoever is behind it would overtake it.
func (e *Engine) leaveInTurn(ctx context.Context, r LeaveRequest) (Removal, error) {
	if r.TurnTimeout == 0 {
		return e.leaveNow(ctx, r)
	}
	defer e.Process.waiting.Keep(r.ID, r.Name)()
	for {
		if err := e.awaitTurn(ctx, r); err != nil {
			return Removal{}, err
		}
		out, err := e.leaveNow(ctx, r)
		if refusal, ok := errors.AsType[*Refusal](err); !ok || refusal.Decision.Code != membership.TurnOfAnother {
			return out, err
		}
	}
}

// leaveNow takes the member out within the time that it has for that.
func (e *Engine) leaveNow(ctx context.Context, r LeaveRequest) (Removal, error) {
	if r.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, r.Timeout)
		defer cancel()
	}
	defer e.Process.leaving.Keep(r.ID, true)()
	l := &leave{
		guarded: guarded{Engine: e, action: ActionRemove, name: cmp.Or(r.Name, r.ID.String()), member: membership.Member{ID: r.ID}},
		req:     r,
	}
	defer l.release()
	err := e.repeat(ctx, l.action, l.name, func() error {
		if e.Process.busy(r.Cluster) && l.hold == nil && !l.tried {
			if err := l.undecidable(ctx); err != nil {
				return err
			}
		}
		return l.underLock(ctx, r.Cluster, l.look)
	})
	if lost, ok := errors.AsType[*LockLost](err); ok && lost.Checked && !lost.Listed && l.tried {
		l.forget(ctx)
		err = nil
	}
	l.release()
	l.out.Waited = l.waited
	return l.out, err
}

// leave is one run of [Engine.Leave]. The lock is held from the first change to
// the moment in which the survivors agree: leadership that was moved away for one
// member's removal must not be moved back by another's before it happened.
type leave struct {
	guarded
	req   LeaveRequest
	snap  membership.Snapshot
	tried bool  // the removal was sent, and the servers did not say no
	ran   bool  // the member was seen in the list with what only its process publishes
	begun *hold // what is on record of turns is up to date since this lock was taken
	out   Removal
}

// later asks for another look because of the error. Once the removal was sent
// there is nothing to give up any more, only an outcome to learn.
func (l *leave) later(err error) error {
	if l.tried && !unrecoverable(err) {
		return retrying(err)
	}
	return doubting(err)
}

// kept is the outcome of a step during which others must not go first.
func kept(err error) error {
	o := classify(err)
	o.keep = true
	return o
}

// undecidable looks, without the lock, whether there is a quorum to decide at
// all. Without one each look lasts as long as a request may: members that are
// to leave all at once, as at the end of everything, must not wait for each
// other to be told so.
func (l *leave) undecidable(ctx context.Context) error {
	snap, err := l.observe(ctx, l.req.Cluster)
	if err != nil {
		return doubting(err)
	}
	d := snap.Gate(l.req.ID)
	if d.Code != membership.QuorumLost {
		return nil
	}
	return doubting(l.refusal(d, snap))
}

func (l *leave) refusal(d membership.Decision, snap membership.Snapshot) *Refusal {
	return &Refusal{Action: l.action, Name: l.req.Name, Decision: d, Snapshot: snap}
}

// removal is the question whether the member may be taken out now.
func (r LeaveRequest) removal(turns []membership.Turn) membership.RemoveRequest {
	return membership.RemoveRequest{ID: r.ID, Name: r.Name, PeerURLs: r.PeerURLs, Replacement: r.Replacement, Turns: turns}
}

// look takes one look and makes at most one change.
func (l *leave) look(ctx context.Context) error {
	snap, err := l.observe(ctx, l.req.Cluster)
	if err != nil && l.tried {
		return kept(l.later(err))
	}
	if err != nil {
		return l.later(err)
	}
	l.snap = snap
	if m, ok := snap.Member(l.req.ID); ok && len(m.ClientURLs) > 0 {
		l.ran = true
	}
	if l.req.Shared {
		if taken, err := l.takenOver(ctx); taken || err != nil {
			return err
		}
	}
	var turns []membership.Turn
	var unread error
	if l.req.Replacement {
		turns, unread = l.Cluster.Turns(snap.ClusterID).List(ctx)
	}
	r := l.req.removal(turns)
	r.Leaving, r.Next = l.Process.leaving.Keys(), l.Process.waiting.Keys()
	d := membership.DecideRemove(snap, r)
	refusal := l.refusal(d, snap)
	switch {
	case d.Verdict == membership.Done:
		return l.survivorsAgree(ctx)
	case d.Verdict == membership.Go && unread != nil:
		return l.later(unread)
	case d.Verdict == membership.Go:
		return l.act(ctx, d)
	case d.Verdict == membership.Wait:
		return refusal
	case d.Code == membership.TurnOfAnother && l.req.TurnTimeout > 0:
		return stopping(refusal) // to be waited for
	}
	if snap.Linearizable {
		l.tried = false // it is in the list: what was sent has not happened
	}
	if d.Code == membership.LastVoter && !l.req.Replacement {
		l.out.LastVoter = true
		return nil
	}
	return l.later(refusal)
}

// act moves leadership away or removes the member.
func (l *leave) act(ctx context.Context, d membership.Decision) error {
	if l.req.still != nil {
		if err := l.req.still(ctx, l.snap); err != nil {
			return err
		}
	}
	l.out.Warnings, l.out.Snapshot = d.Warnings, l.snap
	if err := l.hold.ensure(l.snap); err != nil {
		return kept(err)
	}
	if d.MoveLeaderTo != 0 {
		return l.moveLeader(ctx, l.snap, d.MoveLeaderTo)
	}
	if err := l.begin(ctx); err != nil {
		return sent(err, "")
	}
	leader, _, _ := l.snap.MajorityLeader()
	err := l.Cluster.Remove(ctx, leader, l.req.ID)
	log.Debug(ctx, log.Membership, "member remove", "member", l.name, "id", l.req.ID, "answer", err)
	if errors.Is(err, cluster.ErrNotFound) {
		err = nil
	}
	l.tried = l.tried || err == nil || errors.Is(err, cluster.ErrAmbiguous)
	return sent(err, "the removal was sent")
}

// survivorsAgree is called with the member absent from a list that a quorum
// stands behind. The removal is complete when the survivors agree on a leader
// too: a change right behind another one may be dropped without a word, and
// hangs, on 3.4 and 3.5 (etcd-io/etcd#15528, etcd-io/etcd#14040).
func (l *leave) survivorsAgree(ctx context.Context) error {
	if _, _, ok := l.snap.MajorityLeader(); !ok && l.tried {
		return kept(retrying(note("the survivors have no leader yet")))
	}
	if l.tried {
		l.Process.left(l.req.PeerURLs, l.Clock.Now())
	}
	l.forget(ctx)
	return nil
}
