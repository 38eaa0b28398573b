// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package reconfigure

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// Joined is the outcome of a join.
type Joined struct {
	Member membership.Member
	Answer membership.Answer
	Outcome
}

// Join makes sure that the member is in the cluster and has reached the goal:
// it adds an absent member, continues with a member that it identifies as its
// own, and refuses any other. It may be called again after any error.
//
// What earlier nodes of the member left is removed first, by the rules of
// [Engine.CleanUp]. A member of its own that does not answer for [JoinRequest.Restart]
// is removed and added again, once: a process without its data never starts as a member
// that has run, and a learner that was wiped before it published its name may crash
// until it is a new one.
func (e *Engine) Join(ctx context.Context, r JoinRequest) (Joined, error) {
	for _, owner := range r.Replaces {
		_, err := e.CleanUp(ctx, CleanUpRequest{Owner: owner, Name: r.Name, Replacement: true})
		if err != nil && !isUnreachable(err) { // then the join says what is wrong
			return Joined{}, err
		}
	}
	out, err := e.join(ctx, r)
	if !errors.Is(err, errNoStart) {
		return out, err
	}
	m := out.Member
	_, left := e.Remove(ctx, RemoveRequest{
		Owner: r.Owner, KeepRecord: true, ID: m.ID, Cluster: out.Snapshot.ClusterID, Name: r.Name, PeerURLs: m.PeerURLs, Replacement: !m.Learner,
		still: func(ctx context.Context, snap membership.Snapshot) error { return e.isGone(ctx, snap, m.ID) },
	})
	if left != nil && !errors.Is(left, errChanged) {
		return Joined{}, left
	}
	r.Restart = 0
	return e.join(ctx, r)
}

// Identify returns the member of the snapshot with which a join would continue,
// as far as the ownership record of its owner tells; see [membership.Identify].
func (e *Engine) Identify(ctx context.Context, r JoinRequest, snap membership.Snapshot) (membership.Identity, error) {
	record, _, err := e.Cluster.Records(snap.ClusterID).Get(ctx, r.Owner)
	if err != nil {
		return membership.Identity{}, err
	}
	all, _, err := e.Cluster.Records(snap.ClusterID).List(ctx)
	if err != nil {
		return membership.Identity{}, err
	}
	found := claimsOf(r, record, all).identify(r, snap)
	if slices.ContainsFunc(all, func(x cluster.Record) bool {
		return slices.Contains(r.Replaces, x.Owner) && x.ID() == found.Facts.Subject && x.ID() != 0
	}) {
		return membership.Identity{Step: membership.StepAdd}, nil // it is removed first
	}
	return found, nil
}

// errNoStart ends a join whose member does not answer.
var errNoStart = errors.New("the member does not answer")

// isGone returns an error unless the member may be added anew: a learner that never
// started, or a member that does not answer and to which the leader has no connection. Two
// late initial members wait for each other: each one needs the lists of all other voters.
func (e *Engine) isGone(ctx context.Context, snap membership.Snapshot, id membership.MemberID) error {
	m, _ := snap.Member(id)
	leader, _, led := snap.MajorityLeader()
	switch {
	case m.Learner && !m.Started():
		return nil
	case snap.Alive(id) || !led || leader == id:
		return stopping(errChanged)
	}
	seen, err := e.Cluster.Peers(ctx, leader, []membership.MemberID{id})
	// A leader has no line for a member that it never had a connection to.
	if active, known := seen[id]; err != nil || active || m.Started() && !known {
		return stopping(errChanged)
	}
	return nil
}

// quiet returns the reason to add the member anew, or nil.
func (j *join) quiet() error {
	now := j.Clock.Now()
	if j.reached > Added && j.snap.Alive(j.member.ID) || j.heard.IsZero() {
		j.heard = now
	}
	late := j.req.Restart > 0 && now.Sub(j.heard) > j.req.Restart
	if late && (j.req.Rejoins || j.elsewhere) {
		return stopping(errNoStart)
	}
	return nil
}

// Incomplete means that a join did not reach its goal in time. If the member
// was added, it stays added and recorded: the next attempt continues.
type Incomplete struct {
	Request JoinRequest
	// Reached is the last stage reached; Member is set from Added on.
	Reached Stage
	Member  membership.Member
	// Decision is the last one, and Snapshot what it was made on.
	Decision membership.Decision
	Snapshot membership.Snapshot
	// Stalled is true if the learner made no progress for [StallTimeout].
	Stalled bool
	// Interrupted is true if the operator ended the wait.
	Interrupted bool
	// Unsure is true if the request to add the member was sent, or about to be
	// sent, and its answer was never received.
	Unsure bool
	Cause  error
}

// Error implements error.
func (i *Incomplete) Error() string { return "the join did not complete: " + i.Cause.Error() }

// Unwrap returns why the wait ended.
func (i *Incomplete) Unwrap() error { return i.Cause }

// incomplete returns the error of a join that ended early.
func (j *join) incomplete(ctx context.Context, cause error) *Incomplete {
	i := &Incomplete{
		Request: j.req, Reached: j.reached, Member: j.member, Decision: j.last.Decision, Snapshot: j.last.Snapshot,
		Cause:       cause,
		Interrupted: errors.Is(ctx.Err(), context.Canceled),
		Unsure:      j.member.ID == 0 && j.record.State == cluster.Intended && !j.refused,
	}
	if i.Reached == Added && j.member.Started() {
		i.Reached = Started
	}
	return i
}

// InitialCluster returns the initial cluster with which the joined member starts.
func (j Joined) InitialCluster(name string) string {
	list := slices.Clone(j.Snapshot.Members)
	for i := range list {
		if list[i].ID == j.Member.ID {
			list[i].Name = name // it may not have published its name yet
		}
	}
	return membership.FormatInitialCluster(list)
}

// successionTimeout is how long a standby waits for the removal of the lost
// voter to begin: in the same Terraform run it begins immediately.
const successionTimeout = 15 * time.Second

// HeldUp means that a standby was not promoted, because all lost voters are healthy
// again, or because they must be removed first and no operation removes them.
type HeldUp struct {
	Lost     []membership.MemberID
	Back     bool
	Snapshot membership.Snapshot
}

// Error implements error.
func (h *HeldUp) Error() string {
	if h.Back {
		return "the lost voters are back"
	}
	return "lost voters must leave the list first"
}

// Failover promotes a standby learner in place of lost voters. If one of them must
// be removed first, it waits for that without the lock, which the removal needs.
// The error is [*HeldUp] if no operation removes it, or if all are healthy again.
func (e *Engine) Failover(ctx context.Context, r JoinRequest, lost []membership.MemberID) (Joined, error) {
	var held streak
	err := e.repeat(ctx, ActionPromote, r.Name, func() error {
		snap, err := e.observe(ctx, r.Cluster)
		switch {
		case err != nil && unrecoverable(err):
			return err
		case err != nil:
			return retrying(err)
		}
		f := membership.JudgeFailover(snap, snap.Heard)
		if len(lost) > 0 && !slices.ContainsFunc(lost, func(id membership.MemberID) bool { return !snap.Alive(id) }) {
			return &HeldUp{Lost: lost, Back: true, Snapshot: snap}
		}
		if m, _ := snap.Member(r.ID); !m.Learner || !f.First && !f.Unsettled {
			return nil
		}
		switch {
		case slices.ContainsFunc(f.Lost, e.Process.leaving.Has):
			held = streak{}
		case held.lasts(e.Clock.Now()) > successionTimeout:
			return &HeldUp{Lost: f.Lost, Snapshot: snap}
		}
		return retrying(note("a lost voter must leave first"))
	})
	if err != nil {
		return Joined{}, err
	}
	r.Goal, r.standby = Voting, true
	return e.Join(ctx, r)
}

// WatchLoss judges a member that may have failed until it is healthy again, or
// until judge returns that no time is left. It also waits for an election that
// keeps the other members from reporting failures, as long as an election may take.
func (e *Engine) WatchLoss(ctx context.Context, name string, judge func() (loss membership.Loss, left time.Duration)) (loss membership.Loss) {
	_ = e.repeat(ctx, ActionRead, name, func() error {
		var left time.Duration
		loss, left = judge()
		switch {
		case loss == membership.Unsettled:
			return retryingBriefly(note("an election is under way"))
		case loss == membership.Vanished && left > 0:
			return retrying(note("the member does not answer"))
		}
		return nil
	})
	return loss
}
