// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package reconfigure

import (
	"cmp"
	"context"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// begin records, right before a member is removed to be replaced, that its
// replacement is in progress. Under an alarm this is impossible, and DecideRemove
// then allows only a failed member, or the member whose data is corrupt.
func (l *leave) begin(ctx context.Context) error {
	m, _ := l.snap.Member(l.req.ID)
	if l.begun == l.hold || m.Learner {
		return nil
	}
	if err := l.hold.ensure(l.snap); err != nil || l.hold.unguarded {
		return err
	}
	l.endTurns(ctx, l.snap)
	if l.req.Replacement {
		t := membership.Turn{Name: cmp.Or(m.Name, l.req.Name), Voters: len(l.snap.Voters()), Since: l.Clock.Now(), By: l.Self}
		if _, err := l.Cluster.Turns(l.snap.ClusterID).Put(ctx, t); err != nil {
			return sent(err, "")
		}
	}
	l.begun = l.hold
	return nil
}

// endTurns deletes the records of turns that are over, so that they do not seem
// open again when the cluster shrinks. A failed deletion is repeated another time.
func (e *Engine) endTurns(ctx context.Context, snap membership.Snapshot) {
	all, _, err := e.Cluster.Turns(snap.ClusterID).List(ctx)
	if err != nil || len(all) == 0 {
		return
	}
	open := map[string]bool{}
	for _, t := range snap.OpenTurns(all) {
		open[t.Name] = true
	}
	for _, t := range all {
		if !open[t.Name] {
			_ = e.Cluster.Turns(snap.ClusterID).Delete(ctx, t.Name)
		}
	}
}

// OpenTurns returns the replacements on record that are not over; see
// [membership.Snapshot.OpenTurns].
func (e *Engine) OpenTurns(ctx context.Context, snap membership.Snapshot) ([]membership.Turn, error) {
	turns, err := cluster.All(ctx, e.Cluster.Turns(snap.ClusterID))
	return snap.OpenTurns(turns), err
}

// GiveUpTurn deletes the record of a turn that will have no successor, because
// its configuration, the owner, is destroyed permanently. It tries for ten
// seconds. If it fails, the turn stays open, and no other living member is
// replaced until the record is deleted; the error is then a
// [*cluster.NotDeleted], or the error of a cluster that gave no member list.
func (e *Engine) GiveUpTurn(ctx context.Context, owner, name string) error {
	defer e.reportChange()
	id, _, over := e.Process.isSettled(owner)
	if over {
		return nil // no member is left to wait for it
	}
	ctx, cancel := context.WithTimeout(ctx, 2*healthInterval)
	defer cancel()
	return e.repeat(ctx, ActionRecord, name, func() (err error) {
		if id == 0 { // not known: that of the cluster that answers
			if _, id, err = e.Cluster.Members(ctx); err != nil {
				return err
			}
		}
		return e.Cluster.Turns(id).Delete(ctx, name)
	})
}
