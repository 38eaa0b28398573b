// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package reconfigure

import (
	"context"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
)

// This file updates the records after a removal.

// takenOver reports whether another record claims the member.
func (l *leave) takenOver(ctx context.Context) (bool, error) {
	owners, err := cluster.Owners(ctx, l.Cluster.Records(l.snap.ClusterID), l.req.ID)
	if err != nil {
		return false, l.later(err)
	}
	for _, owner := range owners {
		if owner != l.req.Owner {
			if err := l.letGo(ctx); err != nil {
				return false, l.later(err)
			}
			return true, nil
		}
	}
	return false, nil
}

// forget updates the ownership record after the removal. A failed write is not
// an error: the member is removed, and a record of a member that is not in the
// list has no effect.
func (l *leave) forget(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 2*healthInterval)
	defer cancel()
	_ = l.repeat(ctx, ActionRecord, l.name, func() error { return l.tryForget(ctx) })
}

func (l *leave) tryForget(ctx context.Context) error {
	if !l.req.Replacement && l.req.Name != "" {
		// No successor follows.
		if err := l.Cluster.Turns(l.snap.ClusterID).Delete(ctx, l.req.Name); err != nil {
			return err
		}
	}
	return l.letGo(ctx)
}

// letGo ends the owner's claim to the member. If the owner's node remains, the record
// remains as well: the member was removed, and may be added again.
func (l *leave) letGo(ctx context.Context) error {
	records := l.Cluster.Records(l.snap.ClusterID)
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
