// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package reconfigure

import (
	"context"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// claimed reads a record, again if the answer was lost. Records are stored
// under the ID of their cluster, which the member list contains. If no endpoint
// gives a list, or there is no quorum, the error says so.
func (e *Engine) claimed(ctx context.Context, owner string) (r cluster.Record, ok bool, err error) {
	var snap membership.Snapshot
	err = e.repeat(ctx, ActionRemove, owner, func() error {
		_, id, err := e.Cluster.Members(ctx)
		if err == nil {
			r, ok, err = e.Cluster.Records(id).Get(ctx, owner)
		}
		if err == nil || classify(err).next == stop {
			return err
		}
		var gone error
		if snap, gone = e.look(ctx, 0); gone != nil {
			return stopping(gone)
		}
		return doubting(err)
	})
	if d := snap.Gate(0); err != nil && d.Code == membership.QuorumLost {
		err = &Refusal{Action: ActionRemove, Decision: d, Snapshot: snap}
	}
	return r, ok && err == nil, err
}

// OwnRequest describes a change of a member's owner.
type OwnRequest struct {
	// Was is the former owner, Owner the new one.
	Was, Owner string
	Cluster    membership.ClusterID
	ID         membership.MemberID
	Name       string
	PeerURLs   []string
}

// Own records that a member belongs to another owner than before: a member that
// was imported and got its configuration afterwards, or a member whose learner
// is not configured any more. The same transaction deletes the record of the
// former owner, so that there is always one owner.
func (e *Engine) Own(ctx context.Context, r OwnRequest) error {
	defer e.reportChange()
	return e.repeat(ctx, ActionRecord, r.Name, func() error {
		err := e.own(ctx, r)
		if err == nil || classify(err).next == stop {
			return err
		}
		return doubting(err)
	})
}

func (e *Engine) own(ctx context.Context, want OwnRequest) error {
	records := e.Cluster.Records(want.Cluster)
	r, _, err := records.Get(ctx, want.Owner)
	if err != nil {
		return err
	}
	var instead []cluster.Record
	if want.Was != want.Owner {
		former, ok, err := records.Get(ctx, want.Was)
		if err != nil {
			return err
		}
		if ok {
			instead = append(instead, former)
		}
	}
	r.Owner, r.Name, r.PeerURLs, r.MemberID = want.Owner, want.Name, want.PeerURLs, want.ID.String()
	r.State = cluster.Announced
	_, err = records.Put(ctx, r, instead...)
	return err
}
