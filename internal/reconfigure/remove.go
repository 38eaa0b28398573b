// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package reconfigure

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// RemoveRequest describes the member to remove.
type RemoveRequest struct {
	// Owner is the key of the ownership record. KeepRecord is true if the
	// member's configuration remains: then the record remains as well, and says
	// that the member was removed and whether it has run. An identity that has
	// run never joins again.
	Owner      string
	KeepRecord bool
	ID         membership.MemberID
	Cluster    membership.ClusterID
	Name       string
	PeerURLs   []string
	ClientURLs []string
	// Replacement is true if a successor follows.
	Replacement bool
	// Shared is true for a learner, which an etcd_member may have adopted: then
	// it belongs to that etcd_member, and is not removed.
	Shared bool
	// Timeout limits the removal; 0 means that only ctx limits it.
	Timeout time.Duration
	// Permanent is true if nothing follows. It ends the turn of the name. If the cluster
	// cannot decide and may be given up, the member is forgotten; see [Engine.GiveUp].
	Permanent bool

	// still checks the snapshot right before each change; it may be nil. Its
	// error ends the removal.
	still func(context.Context, membership.Snapshot) error
}

// Removed is the outcome of a removal.
type Removed struct {
	// LastVoter is true if the member was the only voter: nothing was changed,
	// because no voter would remain.
	LastVoter bool
	// Forgotten is why the member was forgotten, nil if it was not.
	Forgotten error
	// Outcome has a snapshot that still contains the member.
	Outcome
}

// Remove removes a member: it moves the leadership away from it, removes it
// through a remaining member, and returns when the remaining members agree on
// the list and on a leader. It succeeds if the member is already removed.
func (e *Engine) Remove(ctx context.Context, r RemoveRequest) (Removed, error) {
	defer e.Changed()
	m := membership.Member{ID: r.ID, Name: r.Name, ClientURLs: r.ClientURLs}
	e.Process.Know(r.Cluster, m)
	out, err := e.removeNow(ctx, r)
	if undecidable(err) {
		out, err = e.forgetIfLost(ctx, r, out, err)
	}
	if err == nil {
		e.Process.membersOf(r.Cluster).Delete(m.Label()) // its machine is destroyed next
		if out.LastVoter || out.Forgotten != nil {
			e.Process.dissolved.Set(r.Cluster, true)
		}
		e.Process.settled.Set(r.Owner, r.Cluster)
	}
	return out, err
}

// removeNow removes the member within its timeout.
func (e *Engine) removeNow(ctx context.Context, r RemoveRequest) (Removed, error) {
	if r.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, r.Timeout)
		defer cancel()
	}
	defer e.Process.leaving.Keep(r.ID, true)()
	l := &removal{
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
	if lost, ok := errors.AsType[*LockLost](err); ok && l.tried && lost.isGone() {
		l.forget(ctx)
		err = nil
	}
	l.out.Waited = l.waited
	return l.out, err
}

// removal is one run of [Engine.Remove]. It holds the lock from the first change
// until the remaining members agree: if leadership was moved away for one
// removal, another removal must not move it back before the first is done.
type removal struct {
	guarded
	req   RemoveRequest
	tried bool // the removal was sent, and the servers did not refuse it
	// accepted are the learners beside which the servers accept another one.
	accepted []membership.MemberID
	out      Removed
}

// later requests another observation because of the error. After the removal
// was sent, it never gives up, and keeps the lock: only the outcome remains to be learned.
func (l *removal) later(err error) error {
	if l.tried && !unrecoverable(err) {
		return kept(retrying(err))
	}
	return retryingBriefly(err)
}

// kept returns the outcome of a step during which others must not go first.
func kept(err error) error {
	o := classify(err)
	o.keep = true
	return o
}

// undecidable checks, without the lock, whether there is a quorum. Without one
// each observation takes as long as a request may. If many members are removed
// together, as in a destroy of everything, they must not wait for each other to
// learn that.
func (l *removal) undecidable(ctx context.Context) error {
	if err := l.refresh(ctx, l.req.Cluster); err != nil {
		return retryingBriefly(err)
	}
	if d := l.snap.Gate(l.req.ID); d.Code == membership.QuorumLost {
		return retryingBriefly(l.refusal(d))
	}
	return nil
}

// look observes the cluster and makes at most one change.
func (l *removal) look(ctx context.Context) error {
	if err := l.refresh(ctx, l.req.Cluster); err != nil {
		return l.later(err)
	}
	snap := l.snap
	if m, left := placeholder(snap); left && snap.Gate(0).Verdict == membership.Go {
		return l.removeLearner(m.ID, placeholderRemoved)
	}
	if l.req.Shared {
		if taken, err := l.takenOver(ctx); taken || err != nil {
			return err
		}
	}
	var turns []membership.Turn
	var unread error
	if l.req.Replacement {
		turns, unread = cluster.All(ctx, l.Cluster.Turns(snap.ClusterID))
	}
	r := membership.RemoveRequest{
		ID: l.req.ID, Name: l.req.Name, PeerURLs: l.req.PeerURLs, Replacement: l.req.Replacement,
		Turns: turns, Leaving: slices.Sorted(maps.Keys(l.Process.leaving.All())),
	}
	d := membership.DecideRemove(snap, r)
	refusal := l.refusal(d)
	switch {
	case d.Verdict == membership.Done:
		return l.survivorsAgree(ctx)
	case d.Verdict == membership.Go && unread != nil:
		return l.later(unread)
	case d.Verdict == membership.Go:
		if err := l.place(r); err != nil {
			return err
		}
		return l.act(ctx, d)
	case d.Verdict == membership.Wait:
		return refusal
	}
	if snap.Linearizable {
		l.tried = false // it is in the list: the removal that was sent did not happen
	}
	if d.Code == membership.LastVoter && !l.req.Replacement {
		l.out.LastVoter = true
		return nil
	}
	return l.later(refusal)
}

// act moves leadership away or removes the member.
func (l *removal) act(ctx context.Context, d membership.Decision) error {
	if l.req.still != nil {
		if err := l.req.still(ctx, l.snap); err != nil {
			return err
		}
	}
	l.out.Warnings, l.out.Snapshot = d.Warnings, l.snap
	if d.MoveLeaderTo != 0 {
		return kept(l.moveLeader(d.MoveLeaderTo))
	}
	if err := l.recordReplacement(ctx); err != nil {
		return kept(err)
	}
	return kept(l.change(func(ctx context.Context) error {
		err := l.remove(ctx, l.req.ID)
		l.tried = l.tried || err == nil || errors.Is(err, cluster.ErrAmbiguous)
		return sent(err, "the removal was sent")
	}))
}

// survivorsAgree completes the removal of a member that is absent from a
// confirmed list. The removal is complete when the remaining members also agree
// on a leader: on 3.4 and 3.5 a change right after another one may be dropped
// silently, and hangs (etcd-io/etcd#15528, etcd-io/etcd#14040).
func (l *removal) survivorsAgree(ctx context.Context) error {
	if _, _, ok := l.snap.MajorityLeader(); !ok && l.tried {
		return kept(retrying(note("the survivors have no leader yet")))
	}
	if l.tried {
		for _, u := range l.req.PeerURLs {
			l.Process.freed.Set(u, l.Clock.Now())
		}
		l.endURLChanges(ctx, l.snap) // the member's own is over
	}
	l.forget(ctx)
	return nil
}

// takenOver reports whether another record claims the member.
func (l *removal) takenOver(ctx context.Context) (bool, error) {
	owners, err := cluster.Owners(ctx, l.records(), l.req.ID)
	taken := slices.ContainsFunc(owners, func(owner string) bool { return owner != l.req.Owner })
	if err == nil && taken {
		err = l.letGo(ctx)
	}
	if err != nil {
		return false, l.later(err)
	}
	return taken, nil
}

// forget updates the ownership record after the removal. A failed write is not
// an error: the member is removed, and a record of a member that is not in the
// list has no effect.
func (l *removal) forget(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 2*healthInterval)
	defer cancel()
	_ = l.repeat(ctx, ActionRecord, l.name, func() error {
		if l.req.Permanent && !l.req.KeepRecord && l.req.Name != "" {
			// No successor follows, neither of the member nor of what it was to replace.
			if err := l.Cluster.Turns(l.snap.ClusterID).Delete(ctx, l.req.Name); err != nil {
				return err
			}
		}
		return l.letGo(ctx)
	})
}

// letGo ends the owner's claim to the member. If the owner's node remains, the record
// remains as well: the member was removed, and may be added again.
func (l *removal) letGo(ctx context.Context) error {
	records := l.records()
	if !l.req.KeepRecord {
		return records.Delete(ctx, l.req.Owner)
	}
	r, ok, err := records.Get(ctx, l.req.Owner)
	switch {
	case err != nil, ok && r.ID() != l.req.ID:
		return err
	case !ok: // an initial or imported member, never recorded
		r = cluster.Record{Owner: l.req.Owner, Name: l.req.Name, PeerURLs: l.req.PeerURLs, MemberID: l.req.ID.String()}
	}
	r.State = cluster.Removed
	_, err = records.Put(ctx, r)
	return err
}
