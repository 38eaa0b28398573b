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

// Stage is the goal of a join, or how far it got.
type Stage uint8

const (
	// Added: the member is in the list.
	Added Stage = iota
	// Started: its process runs and has published its name.
	Started
	// CaughtUp: it has the leader's log, within the allowed lag, and answers.
	CaughtUp
	// Voting: it has a vote and answers.
	Voting
)

// JoinRequest describes the member to add.
type JoinRequest struct {
	// Owner is the key of the ownership record: the ID of the node, or
	// a key made of the name if there is none.
	Owner    string
	Name     string
	PeerURLs []string
	// Initial is true for an initial member, see [membership.IdentifyRequest].
	Initial bool
	// AwaitCluster is true if the cluster is being formed in the same Terraform
	// run: the join waits for the cluster to answer instead of failing.
	AwaitCluster bool
	// InitialMembers is the number of initial members that form the cluster, 0 if it
	// is not being formed or the number is not known.
	InitialMembers int
	// Cluster is the expected cluster, 0 if none is known.
	Cluster membership.ClusterID
	// ID is the member's ID if it is known (an update), 0 on creation.
	ID   membership.MemberID
	Goal Stage
	// Machine is the ID of the member's machine, "" if it is not known.
	Machine string
	// Replaces are the owners of earlier members of this name that may be left.
	Replaces []string
	// Restart is how long a member of our own may not answer before it is removed and
	// added again, once; 0 means for ever. Unless Rejoins is true, that is done only for
	// a member that has another machine now.
	Restart time.Duration
	// Occupants returns the names of the members that this Terraform run creates on the
	// machine, if there are others than this one. It is nil if that is not known.
	Occupants func() []string
	// Rejoins is true if the script on the machine joins as a new member.
	Rejoins bool

	// standby is true for a learner that takes a failed voter's place: a wrong
	// name that its process has published since does not prevent its promotion.
	standby bool
}

// join is one attempt of [Engine.Join].
func (e *Engine) join(ctx context.Context, r JoinRequest) (out Joined, err error) {
	defer e.Changed()
	snap, err := e.waitForCluster(ctx, r)
	if err != nil {
		return Joined{}, err
	}
	j := &join{
		guarded: guarded{Engine: e, action: ActionAdd, name: r.Name, member: membership.Member{PeerURLs: r.PeerURLs}, snap: snap},
		req:     r,
	}
	defer j.release()
	if err := j.reach(ctx); err != nil {
		return Joined{Member: j.member, Outcome: Outcome{Snapshot: j.snap}}, err
	}
	e.Process.settled.Delete(r.Owner)
	if r.Goal == Voting {
		e.endTurns(ctx, j.snap)
	}
	return j.result(ctx)
}

// waitForCluster observes until the cluster answers, and has its quorum: without one it
// serves no record, and each request takes its whole time. If the cluster is being
// formed, the machines may have to boot first.
func (e *Engine) waitForCluster(ctx context.Context, r JoinRequest) (snap membership.Snapshot, err error) {
	forming := r.Initial || r.AwaitCluster
	err = e.repeat(ctx, ActionAdd, r.Name, func() (err error) {
		snap, err = e.look(ctx, r.Cluster)
		refusal := &Refusal{Action: ActionAdd, Name: r.Name, Decision: snap.Gate(0), Snapshot: snap}
		switch lost := err == nil && refusal.Decision.Code == membership.QuorumLost; {
		case lost && forming:
			return retrying(refusal)
		case lost:
			return refusal
		case isUnreachable(err) && !forming:
			return retryingBriefly(err)
		}
		return err
	})
	switch {
	case err == nil, unrecoverable(err):
		return snap, err
	case isUnreachable(err):
		return snap, &NoCluster{Forming: forming, Cause: err}
	case ctx.Err() == context.DeadlineExceeded: // the observation was cut short: it says nothing about the cluster
		late := &Incomplete{Request: r, Snapshot: snap, Cause: err}
		if refusal, ok := errors.AsType[*Refusal](err); ok {
			late.Decision, late.Snapshot = refusal.Decision, refusal.Snapshot
		}
		return snap, late
	}
	return snap, err
}

// join is one run of [Engine.join].
type join struct {
	guarded
	req JoinRequest

	claims
	reached  Stage
	last     Refusal // the latest decision, with the snapshot it was made on
	warnings []membership.Warning
	full     []membership.MemberID // the learners with which the servers accept no more
	refused  bool                  // the servers refused the latest request to add the member
	written  time.Time             // when the record was written, see [nudge]
	before   membership.Answer     // the learner's answer at the previous observation
	progress uint64                // the highest index that it applied
	moved    time.Time             // when progress last changed, or the learner started
	heard    time.Time             // when the member last answered, or the wait began
	// elsewhere is true if the member has run on another machine: see [claims.elsewhere].
	elsewhere bool
}

// ended returns the error of a join: if its time ran out, how far it got, and under an
// alarm, which member it has added before.
func (j *join) ended(ctx context.Context, err error) error {
	if r, ok := errors.AsType[*Refusal](err); ok && r.Decision.Code == membership.AlarmRaised {
		r.Decision.Facts.Subject = j.member.ID
	}
	if _, lost := errors.AsType[*LockLost](err); lost || ctx.Err() == nil {
		return err
	}
	return j.incomplete(ctx, err)
}

// look reads the record and the cluster, in this order, and acts on both.
func (j *join) look(ctx context.Context) error {
	var unread error
	// Without quorum this would wait for every endpoint, one after the other.
	short, cancel := context.WithTimeout(ctx, healthInterval)
	j.claims, unread = j.read(short)
	cancel()
	if unread != nil && classify(unread).next == stop {
		return unread
	}
	if err := j.refresh(ctx, j.snap.ClusterID); err != nil {
		return err
	}
	if unread != nil {
		return j.withoutRecord(unread)
	}
	return j.act(ctx)
}

// withoutRecord returns why the record could not be read: without quorum reads
// fail, however long the wait. A cluster that is being formed may be about to
// get its quorum.
func (j *join) withoutRecord(unread error) error {
	d := j.snap.Gate(0)
	if d.Verdict != membership.Go {
		j.decided(d)
	}
	refusal := j.refusal(d)
	switch {
	case d.Code != membership.QuorumLost:
		return unread
	case j.req.Initial || j.req.AwaitCluster:
		return retrying(refusal)
	}
	return refusal
}

// decided keeps a decision as the reason of a join whose time runs out.
func (j *join) decided(d membership.Decision) { j.last = *j.refusal(d) }

// act makes at most one change, based on the latest record and snapshot.
func (j *join) act(ctx context.Context) error {
	if j.req.Occupants != nil {
		if names := j.req.Occupants(); len(names) > 0 {
			return j.unidentified(membership.Identity{
				Step: membership.StepRefuse, Code: membership.SharedMachine,
				Facts: membership.Facts{Names: names, Detail: j.req.Machine},
			})
		}
	}
	found := j.identify(j.req, j.snap)
	j.elsewhere = j.elsewhere || j.claims.elsewhere(j.req.Machine)
	switch found.Step {
	case membership.StepAdd:
		return j.add(ctx)
	case membership.StepRemove:
		return j.takeBack(found.ID)
	case membership.StepTakeOver:
		// A Terraform run that holds the lock still works on it, and is not
		// disturbed.
		if err := j.ensure(ctx); err != nil {
			return err
		}
	case membership.StepRefuse:
		return j.unidentified(found)
	}
	log.Debug(ctx, log.Membership, "member found in the list", "member", j.name, "id", found.ID)
	j.member, _ = j.snap.Member(found.ID)
	j.judge() // the reason if the time ends before another observation
	return j.write(ctx, cluster.Added, found.ID)
}

// unidentified returns the error for a member that the join must not touch.
func (j *join) unidentified(found membership.Identity) error {
	d := membership.Decision{Code: found.Code, Facts: found.Facts}
	err := &Unidentified{Name: j.name, PeerURLs: j.req.PeerURLs, Identity: found, Snapshot: j.snap}
	switch found.Code {
	case membership.MixedClusters:
		return j.refusal(d)
	case membership.NotMember:
		return &Refusal{Action: ActionPromote, Name: j.name, Decision: d, Snapshot: j.snap}
	case membership.FormedAlone:
		err.InitialMembers = j.req.InitialMembers
		if 1+len(j.snap.Others) < j.req.InitialMembers {
			return retryingBriefly(err) // the others may be about to start: name their clusters as well
		}
	}
	return err
}

// takeBack removes an unstarted member with other peer URLs than requested.
func (j *join) takeBack(id membership.MemberID) error {
	d := j.snap.Gate(0)
	if j.decided(d); d.Verdict != membership.Go {
		return j.refusal(d)
	}
	log.Debug(j.hold.ctx, log.Membership, "removing an unstarted member with other peer URLs", "member", j.name, "id", id)
	return j.removeLearner(id, "the addition with other peer URLs was taken back")
}

// add decides whether to add the member, and adds it.
func (j *join) add(ctx context.Context) error {
	if m, left := placeholder(j.snap); left && j.snap.Gate(0).Verdict == membership.Go {
		return j.removeLearner(m.ID, placeholderRemoved)
	}
	learners := membership.IDs(j.snap.Learners())
	d := membership.DecideAdd(j.snap, membership.AddRequest{
		Name: j.name, PeerURLs: j.req.PeerURLs, AskServer: !slices.Equal(learners, j.full), // once for each set of learners
	})
	if j.decided(d); d.Verdict != membership.Go {
		return j.refusal(d)
	}
	for _, u := range j.req.PeerURLs {
		at, _ := j.Process.freed.Get(u)
		if gone := j.Clock.Now().Sub(at); gone < sameURL {
			if err := j.Clock.Sleep(ctx, sameURL-gone); err != nil {
				return err
			}
		}
	}
	if err := j.ensure(ctx); err != nil {
		return err
	}
	if err := j.write(ctx, cluster.Intended, 0); err != nil {
		return err
	}
	var id membership.MemberID
	if err := j.change(func(limited context.Context) (err error) {
		id, err = j.Cluster.AddLearner(limited, j.leader(), j.req.PeerURLs)
		log.Debug(ctx, log.Membership, "member add", "member", j.name, "id", id, "answer", err)
		j.refused = err != nil && !errors.Is(err, cluster.ErrAmbiguous) && ctx.Err() == nil
		switch {
		case err == nil, errors.Is(err, cluster.ErrPermission), errors.Is(err, cluster.ErrBadURL):
			return err
		case errors.Is(err, cluster.ErrLearnerSlotTaken):
			j.full = learners
		}
		return retrying(err) // the list and the record of the intent decide what to do next
	}); err != nil {
		return err
	}
	j.warnings = append(j.warnings, d.Warnings...)
	j.member = membership.Member{ID: id, PeerURLs: j.req.PeerURLs, Learner: true}
	return j.write(ctx, cluster.Added, id)
}
