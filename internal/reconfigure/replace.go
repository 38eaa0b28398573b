// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package reconfigure

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/log"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// errRecorded requests another observation: the decision was made before the record was
// written, which may take as long as a request.
var errRecorded = outcome{next: retryUnpaused, cause: note("the replacement is on record"), keep: true}

// recordReplacement records, before a member is removed to be replaced, that its
// replacement is in progress, and then returns [errRecorded]. Under an alarm this is
// impossible, and DecideRemove then allows only a failed member, or the member whose data
// is corrupt.
func (l *removal) recordReplacement(ctx context.Context) error {
	m, _ := l.snap.Member(l.req.ID)
	if l.hold.recorded || m.Learner {
		return nil
	}
	if err := l.ensure(ctx); err != nil || l.hold.unguarded {
		return err
	}
	l.endTurns(ctx, l.snap)
	if !l.req.Replacement {
		return nil
	}
	t := membership.Turn{Name: cmp.Or(m.Name, l.req.Name), Voters: len(l.snap.Voters()), Since: l.Clock.Now(), By: l.Self}
	if _, err := l.Cluster.Turns(l.snap.ClusterID).Put(ctx, t); err != nil {
		return sent(err, "")
	}
	l.hold.recorded = true
	return errRecorded
}

// endTurns deletes the records of turns that are over, so that they do not seem
// open again when the cluster shrinks. A failed deletion is repeated another time.
func (e *Engine) endTurns(ctx context.Context, snap membership.Snapshot) {
	all, _, _ := e.Cluster.Turns(snap.ClusterID).List(ctx)
	open := snap.OpenTurns(all)
	for _, t := range all {
		if !slices.ContainsFunc(open, func(o membership.Turn) bool { return o.Name == t.Name }) {
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

// AbandonReplacement deletes the record of a turn that will have no successor, because
// its configuration, the owner, is destroyed permanently. It tries for ten
// seconds. If it fails, the turn stays open, and no other living member is
// replaced until the record is deleted; the error is then a
// [*cluster.NotDeleted], or the error of a cluster that gave no member list.
func (e *Engine) AbandonReplacement(ctx context.Context, owner, name string) error {
	defer e.Changed()
	id, _ := e.Process.settled.Get(owner)
	if e.IsDissolved(id) {
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

// Only the servers know their --max-learners, and they answer only a request to add a
// learner. So before a voter is removed to be replaced while learners stay, a placeholder
// is added and removed again. It is a learner, which changes no quorum, and no process can
// have its URL: names in .invalid have no addresses (RFC 6761). Whoever finds it left by
// an interrupted run removes it.

const placeholderRemoved note = "the placeholder was removed"

// placeholder returns the placeholder in the list.
func placeholder(s membership.Snapshot) (membership.Member, bool) {
	for _, m := range s.Learners() {
		if m.IsPlaceholder() {
			return m, true
		}
	}
	return membership.Member{}, false
}

// place asks the servers whether they accept a successor beside the learners that stay, if
// that matters and was not asked. It returns nil if they do.
func (l *removal) place(r membership.RemoveRequest) error {
	d := membership.DecidePlace(l.snap, r, l.accepted)
	if d.Verdict == membership.Go {
		return nil
	}
	if d.Verdict != membership.Wait {
		return stopping(l.refusal(d))
	}
	scheme, _, _ := strings.Cut(l.req.PeerURLs[0], "://")
	return kept(l.change(func(ctx context.Context) error {
		_, err := l.Cluster.AddLearner(ctx, l.leader(), []string{scheme + "://" + membership.PlaceholderHost})
		switch {
		case errors.Is(err, cluster.ErrLearnerSlotTaken):
			d.Verdict = membership.Refuse
			return stopping(l.refusal(d))
		case err == nil:
			l.accepted = d.Facts.Others
		}
		return sent(err, "the servers accept another learner")
	}))
}

// removeLearner removes a learner that never started.
func (g *guarded) removeLearner(id membership.MemberID, done note) error {
	return kept(g.change(func(ctx context.Context) error { return sent(g.remove(ctx, id), done) }))
}

// remove removes a member through the leader. A member that is gone is removed.
func (g *guarded) remove(ctx context.Context, id membership.MemberID) error {
	err := g.Cluster.Remove(ctx, g.leader(), id)
	log.Debug(ctx, log.Membership, "member remove", "member", g.name, "id", id, "answer", err)
	if errors.Is(err, cluster.ErrNotFound) {
		return nil
	}
	return err
}
