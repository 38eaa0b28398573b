// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package reconfigure

import (
	"context"
	"slices"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/log"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// UpdateRequest describes a member that gets another owner or other peer URLs: the owner
// and the peer URLs that it has then.
type UpdateRequest struct {
	Owner    string
	ID       membership.MemberID
	Cluster  membership.ClusterID
	Name     string
	PeerURLs []string
}

// UpdatePeerURLs changes the peer URLs of a member, one member at a time, and
// returns when the list shows them. It does not restart the member's process
// with the new URLs: until that is proven, the change is pending, and its record in the
// cluster keeps the URLs of other members from changing ([membership.URLChange]). It may
// be called again after any error.
func (e *Engine) UpdatePeerURLs(ctx context.Context, r UpdateRequest) (Outcome, error) {
	u := &update{guarded: guarded{Engine: e, action: ActionUpdate, name: r.Name, member: membership.Member{ID: r.ID}}, req: r}
	defer u.release()
	err := e.repeat(ctx, u.action, u.name, func() error { return u.underLock(ctx, r.Cluster, u.look) })
	return Outcome{u.warnings, u.waited, u.snap}, err
}

// update is one run of [Engine.UpdatePeerURLs].
type update struct {
	guarded
	req      UpdateRequest
	warnings []membership.Warning
	// recorded is the record that this run has written last.
	recorded membership.URLChange
}

// look observes the cluster and makes at most one change.
func (u *update) look(ctx context.Context) error {
	if err := u.refresh(ctx, u.req.Cluster); err != nil {
		return err
	}
	d := membership.DecideUpdate(u.snap, membership.Member{ID: u.req.ID, Name: u.name, PeerURLs: u.req.PeerURLs})
	if d.Verdict == membership.Done {
		return u.confirm(ctx)
	}
	if d.Verdict != membership.Go {
		return u.refusal(d)
	}
	u.warnings = d.Warnings
	if d.MoveLeaderTo != 0 {
		return u.moveLeader(d.MoveLeaderTo)
	}
	if err := u.record(ctx); err != nil {
		return kept(err)
	}
	return u.change(func(ctx context.Context) error {
		err := u.Cluster.UpdatePeerURLs(ctx, u.leader(), u.req.ID, u.req.PeerURLs)
		log.Debug(ctx, log.Membership, "member update", "member", u.name, "id", u.req.ID, "answer", err)
		return sent(err, "the new peer URLs were sent")
	})
}

// WithEvidence returns the snapshot with what decisions need beside the answers: which silent
// members the leader hears, and the changes of peer URLs on record that are not proven. They
// are read from a confirmed list only: without a quorum nothing is changed, and they cannot
// be read.
func (e *Engine) WithEvidence(ctx context.Context, snap membership.Snapshot) (membership.Snapshot, error) {
	if !snap.Linearizable {
		return snap, nil
	}
	snap.Heard = cluster.SeenByLeader(ctx, e.Cluster, snap, snap.Down())
	all, err := cluster.All(ctx, e.Cluster.URLChanges(snap.ClusterID))
	if err != nil || len(all) == 0 {
		return snap, err
	}
	snap.Pending = map[membership.MemberID]membership.Pending{}
	for _, c := range all {
		if slices.Contains(e.InUse, c.Statement()) {
			continue
		}
		if state := c.Judge(snap, e.evidenceOf(ctx, snap, c.ID)); state != membership.URLsSettled {
			snap.Pending[c.ID] = membership.Pending{URLChange: c, State: state}
		}
	}
	return snap, nil
}

// evidenceOf asks a member for its start time, and the other voters for their connections
// to it.
func (e *Engine) evidenceOf(ctx context.Context, snap membership.Snapshot, id membership.MemberID) (out membership.URLEvidence) {
	if _, listed := snap.Member(id); !listed {
		return out
	}
	out.Start = e.startOf(ctx, id)
	for _, m := range snap.Voters() {
		if m.ID == id {
			continue
		}
		seen, err := e.Cluster.Peers(ctx, m.ID, nil)
		switch {
		case err == nil && seen[id]:
			out.Connected = append(out.Connected, m.ID)
		case err != nil || len(seen) == 0:
			out.NotSeen = append(out.NotSeen, m.ID)
		}
	}
	return out
}

// startOf returns the start time of a member's process, "" if it is not known.
func (e *Engine) startOf(ctx context.Context, id membership.MemberID) string {
	m, _ := e.Cluster.Metrics(ctx, id) // an error means that it is not known
	return m.Start
}

// endURLChanges deletes the records of changes that are over. It must be called under the
// lock: a change that another run is about to make looks as if it had not been made. A
// failed deletion is repeated another time.
func (e *Engine) endURLChanges(ctx context.Context, snap membership.Snapshot) {
	all, _, _ := e.Cluster.URLChanges(snap.ClusterID).List(ctx)
	for _, c := range all {
		if _, pending := snap.Pending[c.ID]; !pending {
			_ = e.Cluster.URLChanges(snap.ClusterID).Delete(ctx, c.ID.String())
		}
	}
}

// record records the change, under the lock, before it is made. A change back keeps the
// record while the process is the one from before: that shows that it is undone.
func (u *update) record(ctx context.Context) error {
	if err := u.ensure(ctx); err != nil {
		return err
	}
	u.endURLChanges(ctx, u.snap)
	if v := u.snap.Voters(); len(v) == 1 && v[0].ID == u.req.ID {
		return nil // no other voter has to find it
	}
	start := u.startOf(ctx, u.req.ID)
	m, _ := u.snap.Member(u.req.ID)
	next := membership.URLChange{ID: u.req.ID, PeerURLs: u.req.PeerURLs, Before: m.PeerURLs, Start: start}
	if was, pending := u.snap.Pending[u.req.ID]; pending {
		next = was.Next(u.req.PeerURLs, start)
	}
	return u.put(ctx, next)
}

// confirm makes sure, in the run that made the change, that the record has the start time
// of the process that ran when the list got the new URLs: one that was restarted between
// the record and the change has not used them. It deletes the record of a change back. Then the
// ownership record gets the new URLs.
func (u *update) confirm(ctx context.Context) error {
	if u.recorded.ID != 0 {
		u.endURLChanges(ctx, u.snap)
		if now := u.startOf(ctx, u.req.ID); now != "" && now != u.recorded.Start {
			if err := u.put(ctx, u.recorded.Next(u.req.PeerURLs, now)); err != nil {
				return err
			}
		}
	}
	record, _, err := u.records().Get(ctx, u.req.Owner)
	if err != nil || record.ID() != u.req.ID || record.State != cluster.Added {
		return err
	}
	record.PeerURLs = u.req.PeerURLs
	_, err = u.records().Put(ctx, record)
	return err
}

func (u *update) put(ctx context.Context, c membership.URLChange) error {
	c.Since, c.By = u.Clock.Now(), u.Self
	if _, err := u.Cluster.URLChanges(u.snap.ClusterID).Put(ctx, c); err != nil {
		return sent(err, "")
	}
	u.recorded = c
	return nil
}
