// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package reconfigure

import (
	"context"
	"errors"
	"slices"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/log"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// write brings the record up to date, if it is not.
func (j *join) write(ctx context.Context, state cluster.RecordState, id membership.MemberID) error {
	next := j.record
	next.Owner, next.Name, next.PeerURLs, next.State, next.MemberID = j.req.Owner, j.req.Name, j.req.PeerURLs, state, ""
	if id != 0 {
		next.MemberID = id.String()
	}
	same := id != 0 && id == j.record.ID()
	next.Started = id != 0 && id == j.member.ID && j.member.Started() || same && j.record.Started
	if state == cluster.Intended || len(j.abandoned) > 0 {
		next.Awaited = j.req.Goal != Announced
	}
	if j.recorded && next.Name == j.record.Name && slices.Equal(next.PeerURLs, j.record.PeerURLs) && next.State == j.record.State &&
		next.MemberID == j.record.MemberID && next.Started == j.record.Started && next.Awaited == j.record.Awaited {
		return nil
	}
	return j.put(ctx, next)
}

func (j *join) put(ctx context.Context, r cluster.Record) error {
	written, err := j.Cluster.Records(j.cluster).Put(ctx, r, slices.Concat(j.abandoned, j.succeeded)...)
	log.Debug(ctx, log.Membership, "wrote the ownership record", "member", j.name, "id", r.ID(), "answer", err)
	if errors.Is(err, cluster.ErrAmbiguous) {
		// Read back: it may have been written.
		if now, ok, getErr := j.Cluster.Records(j.cluster).Get(ctx, r.Owner); getErr == nil {
			j.record, j.recorded = now, ok
		}
		return retrying(err)
	}
	if errors.Is(err, cluster.ErrAlarm) {
		if snap, err := j.observe(ctx, j.cluster); err == nil {
			j.snap = snap // the alarm may be newer than the last look
		}
		return alarmed(j.action, j.name, j.snap, err)
	}
	if err != nil {
		return err
	}
	j.record, j.recorded, j.abandoned, j.succeeded, j.written = written, true, nil, nil, j.Clock.Now()
	return nil
}

// findOthers finds what other owners have on record, and for a member that is added
// the records that the first one of ours takes the place of: those that a run left for
// the same member, and those of members that were removed and had its name and its
// peer URLs. The error is a [*cluster.Malformed] if one that cannot be read may be
// about it.
func (j *join) findOthers(ctx context.Context) error {
	all, unread, err := j.Cluster.Records(j.cluster).List(ctx)
	for _, r := range all {
		if r.State == cluster.Announced {
			j.owned = append(j.owned, r.ID())
		}
	}
	if j.req.Bootstrap == membership.Founder {
		return err
	}
	left := abandonedFor(j.req, all)
	for _, bad := range unread {
		if bad.SpeaksOf(j.req.Name, j.req.PeerURLs) || slices.ContainsFunc(left, func(r cluster.Record) bool { return bad.MayClaim(r.ID()) }) {
			return bad
		}
	}
	j.abandoned, j.succeeded = left, succeededBy(j.req, all)
	return err
}

// succeededBy returns the records of removed members whose addresses a new member
// gets: no process of theirs can come back there. Their configuration has left the
// state without a word, so that nothing else would end them.
func succeededBy(r JoinRequest, all []cluster.Record) []cluster.Record {
	return slices.DeleteFunc(slices.Clone(all), func(x cluster.Record) bool {
		return x.State != cluster.Removed || x.Owner == r.Owner || x.Name != r.Name || !membership.SameURLs(x.PeerURLs, r.PeerURLs)
	})
}

// abandonedFor returns the records that a run left for the same member, name
// and peer URLs, whose configuration is not the one that is asked for. Not
// every CLI has written the state when it is killed, and a remote state is
// written now and then: the next run makes another configuration, which does
// not know what was announced for the first. A record that a state may speak of
// is never among them, nor one of a member that somebody else has on record.
func abandonedFor(r JoinRequest, all []cluster.Record) []cluster.Record {
	left := func(x cluster.Record) bool {
		return x.Awaited && x.State != cluster.Removed && x.Name == r.Name && membership.SameURLs(x.PeerURLs, r.PeerURLs)
	}
	var out []cluster.Record
	for _, x := range all {
		kept := slices.ContainsFunc(all, func(y cluster.Record) bool { return y.ID() == x.ID() && !left(y) })
		if left(x) && (x.ID() == 0 || !kept) {
			out = append(out, x)
		}
	}
	return out
}

func ownerships(records []cluster.Record) []membership.Ownership {
	var out []membership.Ownership
	for _, r := range records {
		out = append(out, membership.Ownership{Recorded: true, ID: r.ID(), PeerURLs: r.PeerURLs})
	}
	return out
}
