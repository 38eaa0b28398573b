// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package reconfigure

import (
	"context"
	"slices"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/log"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// Step reports progress.
type Step struct {
	Member membership.MemberID
	// Done is false if the member is about to be defragmented, and Remaining members
	// follow. LeftOut is true for a learner, which is not defragmented.
	Done, LeftOut bool
	Remaining     int
	// Bytes and Total are sizes in bytes: the database size before (Total) and after
	// (Bytes).
	Bytes, Total int64
	Took         time.Duration
	Snapshot     membership.Snapshot
}

// Unfinished means that an operation on a member failed. The members after it
// were not changed.
type Unfinished struct {
	Action Action
	Member membership.MemberID
	// Done are the members that were defragmented, Remaining those that were
	// not touched.
	Done, Remaining []membership.MemberID
	Snapshot        membership.Snapshot
	Err             error
}

// Error implements error.
func (u *Unfinished) Error() string {
	return "cannot " + string(u.Action) + " member " + u.Member.String() + ": " + u.Err.Error()
}

// Unwrap returns the member's error.
func (u *Unfinished) Unwrap() error { return u.Err }

// DefragmentRequest describes the members to defragment.
type DefragmentRequest struct {
	// Members are the members; nil means all voters.
	Members []membership.MemberID
	// Interrupt accepts that a cluster of one or two voters stops in the meantime.
	Interrupt bool
	// Limit limits the time for one member, and the wait before each member for
	// the locks and for the health of all others.
	Limit time.Duration
}

// Defragment defragments members one at a time, the leader last, and only while
// all others are healthy. It stops at the first failure. Errors: [*Refusal],
// [*Unfinished], [*LockLost], errors of the lock, or errors of the endpoints.
func (e *Engine) Defragment(ctx context.Context, r DefragmentRequest, report func(Step)) error {
	snap, err := e.look(ctx, 0)
	if err != nil {
		return err
	}
	d := &defragmentation{
		guarded: guarded{Engine: e, action: actionDefragment, name: "by member", snap: snap},
		req:     r, left: r.Members, report: report,
	}
	wait, cancel := context.WithTimeout(ctx, r.Limit)
	err = d.acquire(wait, ctx, snap.ClusterID)
	cancel()
	if err != nil {
		return err
	}
	defer d.release()
	if r.Members == nil {
		d.left = membership.IDs(snap.Voters())
		for _, m := range snap.Learners() {
			report(Step{Member: m.ID, LeftOut: true, Snapshot: snap})
		}
	}
	for err == nil && len(d.left) > 0 {
		err = d.next()
	}
	if lost := d.lost(); lost != nil {
		return &LockLost{Lost: lost}
	}
	return err
}

// defragmentation is one run of [Engine.Defragment].
type defragmentation struct {
	guarded
	req        DefragmentRequest
	left, done []membership.MemberID
	report     func(Step)
}

// next defragments one member. Before that it waits for the lock of other
// processes and the health of the other members, at most the time for one
// member.
func (d *defragmentation) next() error {
	wait, cancel := context.WithTimeout(d.hold.ctx, d.req.Limit)
	defer cancel()
	return d.repeat(wait, actionDefragment, "", func() error {
		if err := d.refresh(wait, d.snap.ClusterID); err != nil {
			return err
		}
		decision := membership.DecideDefragment(d.snap, d.left, d.req.Interrupt)
		if err := permitted(actionDefragment, "", d.snap, decision); err != nil {
			return err
		}
		if err := d.ensure(wait); err != nil {
			return err
		}
		return d.defragment(decision.Facts.Subject)
	})
}

func (d *defragmentation) defragment(subject membership.MemberID) error {
	rest := slices.DeleteFunc(slices.Clone(d.left), func(id membership.MemberID) bool { return id == subject })
	begin := d.Clock.Now()
	d.report(Step{Member: subject, Remaining: len(rest), Snapshot: d.snap})
	err := d.Cluster.Defragment(d.hold.ctx, subject, d.req.Limit)
	log.Debug(d.hold.ctx, log.Membership, "defragment", "id", subject, "answer", err)
	if err != nil {
		return stopping(&Unfinished{Action: actionDefragment, Member: subject, Done: d.done, Remaining: rest, Snapshot: d.snap, Err: err})
	}
	m, _ := d.snap.Member(subject)
	after := d.Cluster.Member(d.hold.ctx, m, d.snap.ClusterID)
	d.report(Step{
		Member: subject, Done: true, Remaining: len(rest), Snapshot: d.snap, Took: d.Clock.Now().Sub(begin),
		Bytes: after.DBSize, Total: d.snap.Answer(subject).DBSize,
	})
	d.left, d.done = rest, append(d.done, subject)
	return nil
}

// moveLeader asks the leader to move the leadership.
func (g *guarded) moveLeader(to membership.MemberID) error {
	return g.change(func(ctx context.Context) error {
		err := g.Cluster.MoveLeader(ctx, g.leader(), to)
		log.Debug(ctx, log.Membership, "move leader", "from", g.leader(), "to", to, "answer", err)
		return sent(err, "leadership was moved")
	})
}
