// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package reconfigure

import (
	"context"
	"errors"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// UpdateRequest asks for other peer URLs of a member.
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
	// Waited is set when another process was waited for.
	Waited   *Waited
	Snapshot membership.Snapshot
}

// UpdatePeerURLs gives a member other peer URLs, one member at a time, and
// returns when the list shows them. The member's process is restarted with
// them by whoever runs it. It may be called again after any error.
func (e *Engine) UpdatePeerURLs(ctx context.Context, r UpdateRequest) (Updated, error) {
	h, err := e.lock(ctx, r.Cluster, "update", r.Name)
	if err != nil {
		return Updated{}, err
	}
	defer h.release()
	var out Updated
	since := e.Clock.Now()
	var pause backoff
	for {
		err := e.tryUpdate(h, r, &out)
		var refusal *Refusal
		switch {
		case err == nil:
			out.Waited = h.waited
			return out, nil
		case h.lost() != nil:
			return out, h.outcome(ctx, r.ID, nil)
		case errors.As(err, &refusal) && refusal.Decision.Verdict == membership.Refuse:
			if refusal.Decision.Code.Permanent() || e.Clock.Now().Sub(since) > doubt {
				return out, err
			}
		case !retry(err):
			return out, err
		default:
			since = e.Clock.Now()
		}
		if pause.sleep(ctx, e.Clock) != nil {
			if refusal != nil {
				refusal.Timeout = true
			}
			return out, err
		}
	}
}

// tryUpdate takes one look and makes at most one change.
func (e *Engine) tryUpdate(h *hold, r UpdateRequest, out *Updated) error {
	ctx := h.ctx
	snap, err := e.observe(ctx, r.Cluster)
	if err != nil {
		return err
	}
	out.Snapshot = snap
	d := membership.DecideUpdate(snap, membership.UpdateRequest{ID: r.ID, Name: r.Name, PeerURLs: r.PeerURLs})
	switch d.Verdict {
	case membership.Done:
		out.Member, _ = snap.Member(r.ID)
		return e.readdress(ctx, r)
	case membership.Go:
		if err := h.sure(snap); err != nil {
			return err
		}
		out.Warnings = d.Warnings
		via, _, _ := snap.MajorityLeader()
		if d.MoveLeaderTo != 0 {
			if err := e.Port.MoveLeader(ctx, via, d.MoveLeaderTo); err != nil {
				return denied(err)
			}
			return again{errors.New("leadership has been moved")}
		}
		if err := e.Port.UpdatePeerURLs(ctx, via, r.ID, r.PeerURLs); err != nil {
			return denied(err)
		}
		return again{errors.New("waiting for the list to show the new peer URLs")}
	default:
		refusal := &Refusal{Action: ActionUpdate, Name: r.Name, Decision: d, Snapshot: snap}
		if d.Verdict == membership.Wait {
			return again{refusal}
		}
		return refusal
	}
}

// readdress brings the ownership record in line with the new URLs.
func (e *Engine) readdress(ctx context.Context, r UpdateRequest) error {
	record, ok, err := e.Port.Records(r.Cluster).Get(ctx, r.Owner)
	if err != nil || !ok || record.ID() != r.ID || record.State != cluster.Announced {
		return err
	}
	record.PeerURLs = r.PeerURLs
	_, err = e.Port.Records(r.Cluster).Put(ctx, record)
	return err
}
