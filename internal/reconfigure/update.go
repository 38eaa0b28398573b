// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package reconfigure

import (
	"context"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/log"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// UpdateRequest describes a change of a member's peer URLs.
type UpdateRequest struct {
	Owner    string
	ID       membership.MemberID
	Cluster  membership.ClusterID
	Name     string
	PeerURLs []string
}

// Updated is the outcome of an update.
type Updated struct {
	Member   membership.Member
	Warnings []membership.Warning
	// Waited is set if the update waited for another process.
	Waited   *Waited
	Snapshot membership.Snapshot
}

// UpdatePeerURLs changes the peer URLs of a member, one member at a time, and
// returns when the list shows them. It does not restart the member's process
// with the new URLs: until that is proven, the change is pending, and its record in the
// cluster keeps the URLs of other members from changing ([membership.URLChange]). It may
// be called again after any error.
func (e *Engine) UpdatePeerURLs(ctx context.Context, r UpdateRequest) (Updated, error) {
	u := &update{guarded: guarded{Engine: e, action: ActionUpdate, name: r.Name, member: membership.Member{ID: r.ID}}, req: r}
	defer u.release()
	err := e.repeat(ctx, u.action, u.name, func() error { return u.underLock(ctx, r.Cluster, u.look) })
	u.release()
	u.out.Waited = u.waited
	return u.out, err
}

// update is one run of [Engine.UpdatePeerURLs].
type update struct {
	guarded
	req UpdateRequest
	out Updated
	// recorded is the record that this run has written last.
	recorded membership.URLChange
}

// look observes the cluster and makes at most one change.
func (u *update) look(ctx context.Context) error {
	snap, err := u.observe(ctx, u.req.Cluster)
	if err != nil {
		return err
	}
	u.out.Snapshot = snap
	d := membership.DecideUpdate(snap, membership.UpdateRequest{ID: u.req.ID, Name: u.name, PeerURLs: u.req.PeerURLs})
	if d.Verdict == membership.Done {
		u.out.Member, _ = snap.Member(u.req.ID)
		if err := u.confirm(ctx, snap); err != nil {
			return err
		}
		return u.readdress(ctx, u.req)
	}
	if d.Verdict != membership.Go {
		return &Refusal{Action: u.action, Name: u.name, Decision: d, Snapshot: snap}
	}
	u.out.Warnings = d.Warnings
	if d.MoveLeaderTo != 0 {
		return u.moveLeader(ctx, u.hold, snap, d.MoveLeaderTo)
	}
	if err := u.record(ctx, snap); err != nil {
		return kept(err)
	}
	via, _, _ := snap.MajorityLeader()
	held, err := u.hold.change(snap, func(ctx context.Context) error {
		return u.Cluster.UpdatePeerURLs(ctx, via, u.req.ID, u.req.PeerURLs)
	})
	if held != nil {
		return held
	}
	log.Debug(ctx, log.Membership, "member update", "member", u.name, "id", u.req.ID, "answer", err)
	return sent(err, "the new peer URLs were sent")
}

// readdress updates the ownership record with the new URLs.
func (e *Engine) readdress(ctx context.Context, r UpdateRequest) error {
	record, ok, err := e.Cluster.Records(r.Cluster).Get(ctx, r.Owner)
	if err != nil || !ok || record.ID() != r.ID || record.State != cluster.Announced {
		return err
	}
	record.PeerURLs = r.PeerURLs
	_, err = e.Cluster.Records(r.Cluster).Put(ctx, record)
	return err
}
