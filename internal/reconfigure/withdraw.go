// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package reconfigure

import (
	"context"
	"errors"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// Withdraw is the backstop: it takes out what the ownership record says was
// announced for the owner, and nothing else, and deletes the record. It returns
// the error of a cluster that does not answer as it is, for the caller to
// weigh: after a whole destroy there is no cluster left to ask.
//
// A record that speaks of an intent alone may belong to an announcement that is
// still on its way: made by a run that was broken off, whose answer nobody saw.
// Before such a record is deleted the lock is taken and everything is read
// again: taking it is a write, and what stood in the log before that write is
// in the list afterwards.
func (e *Engine) Withdraw(ctx context.Context, owner string) (Left, error) {
	if id, settled, over := e.Board.isSettled(owner); settled {
		// This process has seen the member leave. A record that cannot be
		// deleted claims nothing; but it would lie about for ever. So where it
		// is an operator who puts an end to it, the next run goes on.
		if !over && !e.discard(ctx, id, owner) && errors.Is(ctx.Err(), context.Canceled) {
			return Left{}, ctx.Err()
		}
		return Left{}, nil
	}
	t, err := e.traceOf(ctx, owner)
	if err == nil && t.recorded && t.id == 0 {
		t, err = e.drop(ctx, owner, t)
	}
	if err != nil || t.id == 0 {
		return Left{}, err
	}
	return e.Leave(ctx, LeaveRequest{Owner: owner, ID: t.id, Cluster: t.snap.ClusterID, PeerURLs: t.record.PeerURLs})
}

// farewell is how long the deletion of a record is tried that claims nothing
// any more: a member that does not answer may cost a request timeout.
const farewell = 20 * time.Second

// discard deletes a record, as long as that can be tried, and reports whether
// it is gone.
func (e *Engine) discard(ctx context.Context, id membership.ClusterID, owner string) bool {
	ctx, cancel := context.WithTimeout(ctx, farewell)
	defer cancel()
	var pause backoff
	for {
		switch err := e.Port.Records(id).Delete(ctx, owner); {
		case err == nil:
			return true
		case !retry(err), pause.sleep(ctx, e.Clock) != nil: // refused, as under an alarm
			return false
		}
	}
}

// trace is what is left of an announcement: the record, and the member with the
// ID, 0 if it is not in the list.
type trace struct {
	record   cluster.Record
	recorded bool
	id       membership.MemberID
	snap     membership.Snapshot
}

// traceOf reads the owner's record, and where there is one, the cluster.
func (e *Engine) traceOf(ctx context.Context, owner string) (t trace, err error) {
	if t.record, t.recorded, err = e.claimed(ctx, owner); err != nil || !t.recorded {
		return t, err
	}
	if t.snap, err = e.observe(ctx, 0); err != nil {
		return t, err
	}
	r := t.record
	found := membership.Identify(t.snap, membership.IdentifyRequest{
		Name: r.Name, PeerURLs: r.PeerURLs,
		Claim: membership.Claim{Recorded: true, ID: r.ID(), PeerURLs: r.PeerURLs, Left: r.State == cluster.Removed},
	})
	if found.Step == membership.StepAdopt || found.Step == membership.StepWithdraw {
		t.id = found.ID
	}
	return t, nil
}

// drop deletes the record of an owner that has no member in the list, once a
// quorum has confirmed that list. Where that is not so any more, it deletes
// nothing and returns what it found.
func (e *Engine) drop(ctx context.Context, owner string, t trace) (trace, error) {
	if t.record.State != cluster.Intended && t.confirmed().Verdict == membership.Done {
		return t, e.Port.Records(t.snap.ClusterID).Delete(ctx, owner)
	}
	h, err := e.lock(ctx, t.snap.ClusterID, "remove", t.record.Name)
	if err != nil {
		return t, err
	}
	defer h.release()
	since := e.Clock.Now()
	var pause backoff
	for fresh := true; ; fresh = false {
		if !fresh {
			t, err = e.traceOf(h.ctx, owner)
		}
		switch d := t.confirmed(); {
		case h.lost() != nil:
			return t, h.outcome(ctx, t.id, t.record.PeerURLs)
		case err != nil || !t.recorded || t.id != 0:
			return t, err
		case d.Verdict != membership.Done:
			refusal := &Refusal{Action: "remove", Name: t.record.Name, Decision: d, Snapshot: t.snap}
			if e.Clock.Now().Sub(since) > doubt || pause.sleep(h.ctx, e.Clock) != nil {
				refusal.Timeout = d.Verdict == membership.Wait
				return t, refusal
			}
			continue
		case t.record.State == cluster.Intended:
			err = h.sure(t.snap)
		}
		switch {
		case err == nil:
			return t, e.Port.Records(t.snap.ClusterID).Delete(h.ctx, owner)
		case h.lost() != nil:
			return t, h.outcome(ctx, t.id, t.record.PeerURLs)
		case !errors.Is(err, errFresh):
			return t, err
		}
	}
}

// confirmed is [membership.Done] where a quorum stands behind the list, and the
// member of the record is not in it; else it says what is missing.
func (t trace) confirmed() membership.Decision {
	return membership.DecideRemove(t.snap, membership.RemoveRequest{ID: t.record.ID()})
}
