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

// CleanUpRequest describes the member of a configuration that is destroyed.
type CleanUpRequest struct {
	// Owner is the configuration's ID, the key of the ownership record; Name
	// and PeerURLs are from the configuration. PeerURLs are empty if the
	// addresses are not known before the machine exists.
	Owner    string
	Name     string
	PeerURLs []string
	// Replacement is true if another configuration follows.
	Replacement bool
}

const (
	// replaceTimeout is how long the backstop in a replacement waits for the
	// old voter to end: its machine is already destroyed.
	replaceTimeout = 2 * time.Minute
	// cleanUpTimeout limits the backstop of a configuration that is destroyed
	// permanently: the cluster may be destroyed with its machines.
	cleanUpTimeout = 30 * time.Second
)

// CleanUp is the backstop: it removes only what the ownership record says was
// added for the owner, and deletes the record. [membership.DecideCleanUp] says
// what it may remove: never a voter that is alive. In a replacement it waits
// for such a voter to end, at most for [replaceTimeout], and then fails and
// keeps the record. If the cluster does not answer, it returns that error
// unchanged for the caller to judge: after a complete destroy there is no
// cluster left.
//
// A record with only an intent may belong to a request to add a member that is
// still in flight, from an interrupted Terraform run that never received the
// answer. Before CleanUp deletes such a record, it takes the lock and reads
// everything again: taking the lock is a write, and the list then contains
// everything that was in the log before that write.
func (e *Engine) CleanUp(ctx context.Context, r CleanUpRequest) (Removed, error) {
	if id, settled := e.Process.settled.Get(r.Owner); settled {
		// This process observed the removal. A record that cannot be deleted has no
		// effect, but it would remain permanently. So if the operator interrupts
		// the deletion, the error makes the next Terraform run continue it.
		if !e.IsDissolved(id) && !e.discard(ctx, id, r.Owner) && errors.Is(ctx.Err(), context.Canceled) {
			return Removed{}, ctx.Err()
		}
		return Removed{}, nil
	}
	limit := cleanUpTimeout
	if r.Replacement {
		limit = replaceTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	w := &cleanUp{guarded: guarded{Engine: e, action: ActionRemove, name: r.Name}, req: r}
	defer w.release()
	err := e.repeat(ctx, w.action, w.name, func() error {
		err := w.look(ctx)
		if err != nil && ctx.Err() == nil && !errors.As(err, new(outcome)) {
			if cluster.MayServe(err) {
				return w.after(ctx, retryingBriefly(err)) // a server may answer while it ends
			}
			err = stopping(err) // the cluster may be gone with its machines
		}
		return w.after(ctx, err)
	})
	return w.out, err
}

// cleanUp is one run of [Engine.CleanUp].
type cleanUp struct {
	guarded
	req CleanUpRequest
	// unmanaged is how long a voter that will no longer be managed is alive.
	unmanaged streak
	out       Removed
	// What is left of the member: the record, the cluster, and the decision
	// about it.
	record   cluster.Record
	decision membership.Decision
}

// errChanged requests another decision: the basis of the removal has changed.
const errChanged note = "the member is not what it was"

// look observes the cluster and carries out one decision, until nothing of the
// owner is left, or nothing may be done about it.
func (w *cleanUp) look(ctx context.Context) error {
	record, recorded, err := w.claimed(ctx, w.req.Owner)
	if err != nil || !recorded {
		return err
	}
	if err := w.refresh(ctx, 0); err != nil {
		return err
	}
	w.record = record
	w.decision = w.judge(ctx, w.snap)
	d := w.decision
	if d.Verdict == membership.Done {
		// A voter that is alive may be about to end: its machine was just
		// destroyed.
		unmanaged := len(d.Warnings) > 0 && d.Warnings[0].Code == membership.Unmanaged
		if unmanaged && w.unmanaged.lasts(w.Clock.Now()) <= healthInterval {
			return retrying(w.refusal(d))
		}
		w.out = Removed{Outcome: Outcome{Warnings: d.Warnings, Snapshot: w.snap}}
		return w.drop(ctx)
	}
	if w.hold != nil { // taken for a decision that is outdated
		return retrying(errChanged)
	}
	switch {
	case d.Verdict == membership.Go:
		m, _ := w.snap.Member(d.Facts.Subject)
		left, err := w.Remove(ctx, RemoveRequest{
			Owner: w.req.Owner, ID: m.ID, Cluster: w.snap.ClusterID, Name: w.name, PeerURLs: w.record.PeerURLs,
			Replacement: w.req.Replacement && !m.Learner, still: w.still,
		})
		if errors.Is(err, errChanged) {
			return retrying(err)
		}
		w.out = left
		return err
	case d.Code == membership.VoterLives:
		w.unmanaged = streak{}
		return retrying(w.refusal(d))
	}
	return retryingBriefly(w.refusal(d))
}

// still checks under the lock, right before the removal, whether the decision
// would be the same.
func (w *cleanUp) still(ctx context.Context, snap membership.Snapshot) error {
	now := w.judge(ctx, snap)
	if now.Verdict != membership.Go || now.Facts.Subject != w.decision.Facts.Subject {
		return stopping(errChanged)
	}
	return nil
}

// discardTimeout limits the deletion of a record without effect: a member that
// does not answer may cost a request timeout.
const discardTimeout = 20 * time.Second

// discard deletes a record, with retries until the timeout, and reports whether
// it was deleted.
func (e *Engine) discard(ctx context.Context, id membership.ClusterID, owner string) bool {
	ctx, cancel := context.WithTimeout(ctx, discardTimeout)
	defer cancel()
	return e.repeat(ctx, ActionRecord, owner, func() error { return e.Cluster.Records(id).Delete(ctx, owner) }) == nil
}

// judge decides on a snapshot. For a voter that does not answer here, it asks
// the leader for its connections.
func (w *cleanUp) judge(ctx context.Context, snap membership.Snapshot) membership.Decision {
	r := w.record
	q := membership.CleanUpRequest{
		Name: w.name, PeerURLs: w.req.PeerURLs, Replacement: w.req.Replacement, RecordName: r.Name, Ownership: r.Ownership(),
	}
	leader, _, led := snap.MajorityLeader()
	m, listed := snap.MemberOnRecord(q.Ownership)
	silent := listed && !m.Learner && !snap.Alive(m.ID)
	if silent && led && m.ID != leader {
		q.Seen, _ = w.Cluster.Peers(ctx, leader, []membership.MemberID{m.ID})
	}
	return membership.DecideCleanUp(snap, q)
}

// drop deletes the record of an owner without a member in the list, or without
// a member to be removed. If it is an intent, the member may still be added. Under an alarm
// no record can be deleted, and one without effect is left behind.
func (w *cleanUp) drop(ctx context.Context) error {
	intended := w.record.State == cluster.Intended
	if intended {
		w.member = membership.Member{ID: w.record.ID(), PeerURLs: w.record.PeerURLs}
		if err := w.acquire(ctx, ctx, w.snap.ClusterID); err != nil {
			return stopping(err)
		}
		ctx = w.hold.ctx
		if err := w.ensure(ctx); err != nil {
			return err
		}
	}
	err := w.records().Delete(ctx, w.req.Owner)
	if !errors.Is(err, cluster.ErrAlarm) {
		return err
	}
	if !intended && len(w.decision.Warnings) == 0 {
		return nil
	}
	return w.alarmed(err)
}
