// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package reconfigure

import (
	"context"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// claimed reads a record, again if the answer was lost. Where nobody gives a
// member list either, the error says so.
func (e *Engine) claimed(ctx context.Context, owner string) (r cluster.Record, ok bool, err error) {
	since := e.Clock.Now()
	var pause backoff
	for {
		if r, ok, err = e.Port.Records().Get(ctx, owner); err == nil || !retry(err) {
			return r, ok, err
		}
		if _, gone := e.observe(ctx, 0); gone != nil {
			return r, false, gone
		}
		if e.Clock.Now().Sub(since) > doubt || pause.sleep(ctx, e.Clock) != nil {
			return r, false, err
		}
	}
}

// Own puts on record that a member belongs to another owner than before: one
// that was imported and got its configuration afterwards, or one whose learner
// is no longer spoken of. started is whether it has run. The record of the
// former owner goes.
func (e *Engine) Own(ctx context.Context, was, owner, name string, peerURLs []string, id membership.MemberID, started bool) error {
	since := e.Clock.Now()
	var pause backoff
	for {
		err := e.own(ctx, was, owner, cluster.Record{
			Owner: owner, Name: name, PeerURLs: peerURLs, MemberID: id.String(), State: cluster.Announced, Started: started,
		})
		if err == nil || !retry(err) || e.Clock.Now().Sub(since) > doubt || pause.sleep(ctx, e.Clock) != nil {
			return err
		}
	}
}

func (e *Engine) own(ctx context.Context, was, owner string, want cluster.Record) error {
	r, _, err := e.Port.Records().Get(ctx, owner)
	if err != nil {
		return err
	}
	r.Owner, r.Name, r.PeerURLs, r.MemberID, r.State, r.Started = want.Owner, want.Name, want.PeerURLs, want.MemberID, want.State, want.Started
	if _, err := e.Port.Records().Put(ctx, r); err != nil {
		return err
	}
	return e.Port.Records().Delete(ctx, was)
}
