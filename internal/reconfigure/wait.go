// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package reconfigure

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/log"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// reach brings the member to the goal. First the member must be in the list, and its ID on
// record. After that the lock is kept if the join still has a change to make.
func (j *join) reach(ctx context.Context) error {
	err := j.repeat(ctx, j.action, j.name, func() error { return j.underLock(ctx, j.snap.ClusterID, j.look) })
	if err != nil {
		return j.ended(ctx, err)
	}
	waiting := j.hold.ctx
	if !j.member.Learner || j.req.Goal == Added {
		j.release()
		waiting = ctx
	}
	j.reached, j.moved = Added, j.Clock.Now()
	err = j.repeat(waiting, j.action, j.name, func() error {
		stage := j.reached
		err := j.advance(waiting)
		if err == nil || waiting.Err() != nil || classify(err).next == stop {
			return err
		}
		if quiet := j.quiet(); quiet != nil {
			return quiet
		}
		if j.stalled(waiting) {
			stalled := j.incomplete(waiting, errors.New("no progress"))
			stalled.Stalled = true
			return stopping(stalled)
		}
		if err := j.nudge(waiting); err != nil {
			return err
		}
		if j.reached != stage {
			return outcome{next: retryNow, cause: err} // the next stage may be reached already
		}
		return retrying(err)
	})
	switch {
	case err == nil:
		return nil
	case j.lost() != nil:
		return j.lostLock(ctx)
	}
	return j.ended(ctx, err)
}

// StallTimeout is how long a learner that runs may make no progress.
const StallTimeout = 5 * time.Minute

// stalled reports whether a learner that runs has made no progress for too long.
// The time does not count while the leader sends it a snapshot, because its log
// moves only after the whole snapshot. The leader is asked after half of the
// time, so that the time starts when the transfer ends, and not long before.
func (j *join) stalled(ctx context.Context) bool {
	still := j.Clock.Now().Sub(j.moved)
	if j.reached != Started || still <= StallTimeout/2 {
		return false
	}
	if leader, _, ok := j.snap.MajorityLeader(); ok {
		if m, err := j.Cluster.Metrics(ctx, leader); err == nil && m.Sending[j.member.ID] {
			j.moved = j.Clock.Now()
			return false
		}
	}
	return still > StallTimeout
}

// advance makes at most one step towards the goal. It returns nil when the goal
// is reached.
func (j *join) advance(ctx context.Context) error {
	if j.req.Goal == Added {
		return nil
	}
	if j.reached == Added {
		if err := j.start(ctx); err != nil {
			return err
		}
	}
	if err := j.write(ctx, cluster.Added, j.member.ID); err != nil {
		return err // the record must say that the member has run before others rely on it
	}
	accepted := j.req.ID != 0 && (!j.member.Learner || j.req.standby) // whatever its name is now
	if refused, ok := membership.CheckName(j.member, j.name); !ok && !accepted {
		return &Unidentified{Name: j.name, PeerURLs: j.req.PeerURLs, Identity: refused, Snapshot: j.snap}
	}
	if j.req.Goal == Started {
		return nil
	}
	if err := j.refresh(ctx, j.snap.ClusterID); err != nil {
		return err
	}
	if err := j.find(j.snap.Members); err != nil {
		return err
	}
	if !j.member.Learner {
		return j.voting()
	}
	return j.promote()
}

// start returns nil once the process of the member has published its name.
func (j *join) start(ctx context.Context) error {
	members, id, err := j.Cluster.Members(ctx)
	if err != nil {
		return err
	}
	if id != j.snap.ClusterID {
		return &OtherCluster{Want: j.snap.ClusterID, Got: id}
	}
	if err := j.find(members); err != nil {
		return err
	}
	if !j.member.Started() {
		return retrying(note("the member has not started"))
	}
	j.reached, j.moved = Started, j.Clock.Now()
	return nil
}

// find updates the member from the list. If a member that we added is missing,
// it was removed by another actor.
func (j *join) find(members []membership.Member) error {
	i := slices.IndexFunc(members, func(m membership.Member) bool { return m.ID == j.member.ID })
	if i < 0 {
		return j.refusal(membership.Decision{Code: membership.NotMember, Facts: membership.Facts{Subject: j.member.ID}})
	}
	j.member, j.snap.Members = members[i], members
	return nil
}

// voting returns nil when the voter itself answers as a voter, and the others
// follow a leader. No other change is made before that (etcd-io/etcd#15528,
// etcd-io/etcd#14040).
func (j *join) voting() error {
	a := j.snap.Answer(j.member.ID)
	if _, _, led := j.snap.MajorityLeader(); led && j.snap.Alive(j.member.ID) && !a.Learner {
		j.reached = Voting
		return nil
	}
	j.decided(membership.Decision{Verdict: membership.Wait, Code: membership.NotAlive,
		Facts: membership.Facts{Subject: j.member.ID, Detail: a.Detail}})
	return retrying(note("the new voter does not answer as one yet"))
}

// promote decides whether to promote the learner, and promotes it. It also
// waits after a refusal: with the lock held and the learner added, nothing is
// gained by giving up before the time is over.
func (j *join) promote() error {
	answer := j.snap.Answer(j.member.ID)
	d := j.judge()
	j.before = answer
	if answer.State == membership.Answered && answer.Applied > j.progress {
		j.progress, j.moved = answer.Applied, j.Clock.Now()
	}
	if d.Code == membership.Unconfirmed {
		j.written = time.Time{} // write an entry for it to apply, before the next observation
	}
	if d.Verdict != membership.Go {
		return retrying(note(d.Code))
	}
	j.reached = CaughtUp
	if j.req.Goal == CaughtUp {
		j.warnings = append(j.warnings, d.Warnings...)
		return nil
	}
	return j.change(func(ctx context.Context) error {
		err := j.Cluster.Promote(ctx, j.leader(), j.member.ID)
		log.Debug(ctx, log.Membership, "member promote", "member", j.name, "id", j.member.ID, "answer", err)
		switch {
		case err == nil:
			j.warnings = append(j.warnings, d.Warnings...)
		case errors.Is(err, cluster.ErrPermission):
			return err
		default:
			// After any other error the list tells: a second promotion sometimes
			// answers "not in sync" after the first one succeeded.
			j.before = membership.Answer{}
		}
		return retrying(note("the promotion was sent"))
	})
}

// judge decides on the latest observation whether the member may be promoted.
func (j *join) judge() membership.Decision {
	d := membership.DecidePromote(j.snap, j.member.ID, j.before)
	j.decided(d)
	return d
}

// nudge makes a small write from time to time: a learner that received a
// snapshot on an idle cluster may have to see an entry before it can publish
// its name.
func (j *join) nudge(ctx context.Context) error {
	if j.record.Owner == "" || j.Clock.Now().Sub(j.written) < nudge {
		return nil
	}
	j.written = j.Clock.Now()
	if err := j.put(ctx, j.record); err != nil && classify(err).next == stop {
		return err
	}
	return nil
}

// result returns what the caller keeps in the state.
func (j *join) result(ctx context.Context) (Joined, error) {
	// The member was added after the snapshot, and its start was reported by
	// one member only; the initial cluster is made of this list.
	if j.reached == Added || j.reached == Started || !j.snap.Linearizable {
		snap, err := j.Confirmed(ctx, j.snap.ClusterID, ActionAdd, j.req.Name)
		if err != nil {
			return Joined{}, err
		}
		j.snap = snap
		if err := j.find(snap.Members); err != nil {
			return Joined{}, err
		}
	}
	j.release()
	out := Joined{Member: j.member, Answer: j.snap.Answer(j.member.ID), Outcome: Outcome{j.warnings, j.waited, j.snap}}
	if out.Answer.State != membership.Answered && j.member.Started() {
		out.Answer = j.Cluster.Member(ctx, j.member, j.snap.ClusterID)
	}
	return out, nil
}
