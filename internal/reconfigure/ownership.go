// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package reconfigure

import (
	"cmp"
	"context"
	"errors"
	"reflect"
	"slices"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/log"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// write updates the record if it is not up to date.
func (j *join) write(ctx context.Context, state cluster.RecordState, id membership.MemberID) error {
	next := j.record
	next.Owner, next.Name, next.PeerURLs, next.State, next.MemberID = j.req.Owner, j.req.Name, j.req.PeerURLs, state, ""
	if !j.elsewhere || id != j.record.ID() || j.snap.Alive(id) {
		next.Machine = cmp.Or(j.req.Machine, next.Machine)
	}
	if id != 0 {
		next.MemberID = id.String()
	}
	started := id == j.member.ID && j.member.Started()
	next.Started = id != 0 && (started || id == j.record.ID() && j.record.Started)
	if state == cluster.Intended || len(j.abandoned) > 0 {
		next.Awaited = j.req.Goal != Added
	}
	if reflect.DeepEqual(next, j.record) {
		return nil
	}
	return j.put(ctx, next)
}

func (j *join) put(ctx context.Context, r cluster.Record) error {
	written, err := j.records().Put(ctx, r, slices.Concat(j.abandoned, j.succeeded)...)
	log.Debug(ctx, log.Membership, "wrote the ownership record", "member", j.name, "id", r.ID(), "answer", err)
	if errors.Is(err, cluster.ErrAmbiguous) {
		// Read it back: it may have been written.
		if now, _, getErr := j.records().Get(ctx, r.Owner); getErr == nil {
			j.record = now
		}
		return retrying(err)
	}
	if errors.Is(err, cluster.ErrAlarm) {
		_ = j.refresh(ctx, j.snap.ClusterID) // the alarm may be newer than the last observation
		return j.alarmed(err)
	}
	if err != nil {
		return err
	}
	j.claims, j.written = claims{record: written, owned: j.owned}, j.Clock.Now()
	return nil
}

// claims are the records that matter to a join.
type claims struct {
	// record is that of its owner, the zero value if there is none.
	record cluster.Record
	// abandoned are the records that another Terraform run left for the same member, with
	// the same name and peer URLs, but another configuration. Not every CLI writes the
	// state when it is killed, and a remote state is written only from time to time: the
	// next run makes another configuration, without the member added for the first.
	abandoned []cluster.Record
	// succeeded are the records of removed members whose name and addresses the member
	// gets: their processes cannot come back there. Their configuration was removed from
	// the state without a destroy, so that no other operation deletes them.
	succeeded []cluster.Record
	// owned are the members that other owners have on record.
	owned []membership.MemberID
}

// claimsOf returns the claims of a join. No abandoned record is one that a state may
// contain, or of a member that another owner has on record.
func claimsOf(r JoinRequest, record cluster.Record, all []cluster.Record) claims {
	c := claims{record: record}
	var kept []membership.MemberID
	for _, x := range all {
		same := x.Name == r.Name && membership.SameURLs(x.PeerURLs, r.PeerURLs)
		if x.State == cluster.Added && x.Owner != r.Owner {
			c.owned = append(c.owned, x.ID())
		}
		switch {
		case same && x.State != cluster.Removed && x.Awaited:
			c.abandoned = append(c.abandoned, x)
			continue
		case same && x.State == cluster.Removed && x.Owner != r.Owner:
			c.succeeded = append(c.succeeded, x)
		}
		kept = append(kept, x.ID())
	}
	c.abandoned = slices.DeleteFunc(c.abandoned, func(x cluster.Record) bool { return x.ID() != 0 && slices.Contains(kept, x.ID()) })
	return c
}

// identify decides which member of the snapshot the claims are about.
func (c claims) identify(r JoinRequest, snap membership.Snapshot) membership.Identity {
	q := membership.IdentifyRequest{
		ID: r.ID, Name: r.Name, PeerURLs: r.PeerURLs, Initial: r.Initial, InitialMembers: r.InitialMembers,
		Ownership: c.record.Ownership(), Owned: c.owned, OtherMachine: c.elsewhere(r.Machine),
	}
	for _, x := range c.abandoned {
		q.Abandoned = append(q.Abandoned, x.Ownership())
	}
	return membership.Identify(snap, q)
}

// elsewhere reports whether the member has run on another machine than this one. One that
// never ran there may run on this one already.
func (c claims) elsewhere(machine string) bool {
	was := cmp.Or(c.record.Machine, machine)
	return c.record.Started && machine != "" && machine != was
}

// read reads the record of the owner. For a member that is to be added it also reads those
// of other owners: the first record of the join replaces those that are abandoned or
// succeeded. The error is a [*cluster.Malformed] if an unreadable record may be about the
// member.
func (j *join) read(ctx context.Context) (claims, error) {
	record, recorded, err := j.records().Get(ctx, j.req.Owner)
	if err != nil || recorded || j.req.ID != 0 {
		return claims{record: record}, err
	}
	all, unread, err := j.records().List(ctx)
	c := claimsOf(j.req, record, all)
	if j.req.Initial { // it is never added
		return claims{owned: c.owned}, err
	}
	for _, bad := range unread {
		if bad.SpeaksOf(j.req.Name, j.req.PeerURLs) || slices.ContainsFunc(c.abandoned, func(r cluster.Record) bool { return bad.MayClaim(r.ID()) }) {
			return c, bad
		}
	}
	return c, err
}

// Unfinished returns the learners that a creation has added, that have never started, and
// that are therefore in no state: a creation that waits for the start of its member stores
// nothing before.
func (e *Engine) Unfinished(ctx context.Context, snap membership.Snapshot) []membership.Member {
	left := slices.DeleteFunc(snap.Learners(), membership.Member.Started)
	if len(left) == 0 {
		return nil
	}
	all, _, _ := e.Cluster.Records(snap.ClusterID).List(ctx) // what cannot be read is not known to be unfinished
	return slices.DeleteFunc(left, func(m membership.Member) bool {
		return !slices.ContainsFunc(all, func(r cluster.Record) bool { return r.Awaited && r.State == cluster.Added && r.ID() == m.ID })
	})
}

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
		return retryingBriefly(err)
	})
	if d := snap.Gate(0); err != nil && d.Code == membership.QuorumLost {
		err = &Refusal{Action: ActionRemove, Decision: d, Snapshot: snap}
	}
	return r, ok && err == nil, err
}

// RecordOwner records that a member belongs to another owner than before: a member that
// was imported and got its configuration afterwards, or a member whose learner
// is not configured any more. The same transaction deletes the record of the
// former owner, so that there is always one owner.
func (e *Engine) RecordOwner(ctx context.Context, was string, r UpdateRequest) error {
	defer e.Changed()
	return e.repeat(ctx, ActionRecord, r.Name, func() error {
		err := e.recordOwner(ctx, was, r)
		if err == nil || classify(err).next == stop {
			return err
		}
		return retryingBriefly(err)
	})
}

func (e *Engine) recordOwner(ctx context.Context, was string, want UpdateRequest) error {
	records := e.Cluster.Records(want.Cluster)
	r, _, err := records.Get(ctx, want.Owner)
	if err != nil {
		return err
	}
	var instead []cluster.Record
	if was != want.Owner {
		former, ok, err := records.Get(ctx, was)
		if err != nil {
			return err
		}
		if ok {
			instead = append(instead, former)
		}
	}
	r.Owner, r.Name, r.PeerURLs, r.MemberID = want.Owner, want.Name, want.PeerURLs, want.ID.String()
	r.State = cluster.Added
	_, err = records.Put(ctx, r, instead...)
	return err
}
