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

// Stage is how far a join is to be taken, or how far it got.
type Stage uint8

const (
	// Announced: the member is in the list.
	Announced Stage = iota
	// Started: its process runs and has published its name.
	Started
	// CaughtUp: it has the leader's log, within the allowed lag, and answers.
	CaughtUp
	// Voting: it has a vote and answers.
	Voting
)

// JoinRequest asks for a member.
type JoinRequest struct {
	// Owner is the key of the ownership record: the config ID, or one made of
	// the name where there is none.
	Owner     string
	Name      string
	PeerURLs  []string
	Bootstrap membership.Bootstrap
	// Configured is true when the member's process was made from a
	// configuration of ours, and knows no identity but the one in it.
	Configured bool
	// AwaitCluster is true for a member whose cluster is being formed in the
	// same run: it waits for the cluster to answer instead of failing.
	AwaitCluster bool
	// Founders is how many members form that cluster together, 0 if it is not
	// being formed or nobody knows.
	Founders int
	// Cluster is the cluster that is expected, 0 if none is known.
	Cluster membership.ClusterID
	// ID is the member where it is known (an update), 0 on creation.
	ID   membership.MemberID
	Goal Stage
	// MaxLag is in raft entries; 0 is membership.DefaultMaxLag.
	MaxLag uint64
	// StallTimeout is how long a learner may show no progress.
	StallTimeout time.Duration

	// standby is true for a learner that takes a failed voter's place: the name
	// that its process has published since is no reason to leave the cluster
	// without it.
	standby bool
}

// Joined is the outcome of a join.
type Joined struct {
	Member   membership.Member
	Answer   membership.Answer
	Cluster  membership.ClusterID
	Members  []membership.Member
	Warnings []membership.Warning
	// Waited is set when another process was waited for.
	Waited   *Waited
	Snapshot membership.Snapshot
}

// Join makes it so that the member is in the cluster and has reached the goal:
// it announces what is absent, carries on with what it finds to be its own, and
// refuses what is not. It may be called again after any error.
func (e *Engine) Join(ctx context.Context, r JoinRequest) (out Joined, err error) {
	defer e.reportChange()
	done := e.Board.join(r.Name)
	defer func() { done(err) }()
	snap, err := e.waitForCluster(ctx, r)
	if err != nil {
		return Joined{}, err
	}
	j := &join{Engine: e, req: r, cluster: snap.ClusterID}
	defer func() {
		if j.hold != nil {
			j.hold.release()
		}
	}()
	if err := j.announce(ctx); err != nil {
		return Joined{}, err
	}
	waiting := ctx
	if j.hold != nil {
		waiting = j.hold.ctx
	}
	if err := j.wait(waiting); err != nil {
		return Joined{}, j.orLost(ctx, err)
	}
	e.Board.unsettle(r.Owner)
	if r.Goal == Voting {
		e.endTurns(ctx, j.snap)
	}
	return j.result(ctx)
}

// orLost is err, or what came of the join if the lock was lost.
func (j *join) orLost(ctx context.Context, err error) error {
	if err == nil || j.hold == nil || j.hold.lost() == nil {
		return err
	}
	return j.hold.outcome(ctx, j.member.ID, j.req.PeerURLs)
}

// waitForCluster looks until the cluster answers. A founder, and whoever joins
// a cluster that is being formed, may have to wait for machines to boot;
// everyone else only through a moment's doubt.
func (e *Engine) waitForCluster(ctx context.Context, r JoinRequest) (membership.Snapshot, error) {
	begin := e.Clock.Now()
	patient := r.Bootstrap == membership.Founder || r.AwaitCluster
	var pause backoff
	for {
		snap, err := e.observe(ctx, r.Cluster)
		var gone *cluster.Unreachable
		switch {
		case err == nil:
			return snap, nil
		case hopeless(err):
			return snap, err
		case !errors.As(err, &gone):
			if ctx.Err() != nil { // the look was cut short: it says nothing of the cluster
				err = &Incomplete{Request: r, Snapshot: snap, Cause: err, Interrupted: errors.Is(ctx.Err(), context.Canceled)}
			}
			return snap, err
		case !patient && e.Clock.Now().Sub(begin) > doubt:
			return snap, &NoCluster{Name: r.Name, Cause: err}
		}
		if pause.sleep(ctx, e.Clock) != nil {
			if errors.Is(ctx.Err(), context.Canceled) {
				return snap, ctx.Err()
			}
			return snap, &NoCluster{Name: r.Name, Forming: patient, Cause: err}
		}
	}
}

// join is one run of [Engine.Join].
type join struct {
	*Engine
	req     JoinRequest
	cluster membership.ClusterID
	// hold is the lock while it is held.
	hold   *hold
	waited *Waited

	record   cluster.Record
	recorded bool
	// abandoned are the records, while there is none of ours, that another run
	// left for the same member; the first record of ours takes their place.
	abandoned []cluster.Record
	reached   Stage
	member    membership.Member
	last      membership.Decision
	snap      membership.Snapshot
	warnings  []membership.Warning
	full      []membership.MemberID // the learners with which the servers take no more
	refused   bool                  // the servers' word on the latest announcement was no
	nudged    time.Time
	before    membership.Answer
	progress  uint64
	moved     time.Time
}

// announce ends with the member in the list, its ID recorded. It returns with
// the lock held while the join still has a change to make. While it waits, for
// the learner slot or for health, others may go first: one of them may be what
// it waits for.
func (j *join) announce(ctx context.Context) (err error) {
	since := j.Clock.Now()
	var pause backoff
	for {
		if j.hold, err = j.lock(ctx, j.cluster, "add", j.req.Name); err != nil {
			return j.incomplete(ctx, err)
		}
		for err = errFresh; errors.Is(err, errFresh); {
			err = j.look(j.hold.ctx, &since)
		}
		if err == nil && j.member.Learner && j.req.Goal != Announced {
			j.reached = Announced
			return nil
		}
		err = j.orLost(ctx, err)
		j.letGo()
		var lost *LockLost
		switch {
		case err == nil:
			j.reached = Announced
			return nil
		case errors.As(err, &lost), ctx.Err() == nil && !retry(err):
			return err
		case pause.sleep(ctx, j.Clock) != nil:
			return j.incomplete(ctx, err)
		}
	}
}

// letGo gives the lock up.
func (j *join) letGo() {
	if j.hold.waited != nil {
		j.waited = j.hold.waited
	}
	j.hold.release()
	j.hold = nil
}

// look reads the record and the cluster, in this order, and acts on both.
func (j *join) look(ctx context.Context, since *time.Time) (err error) {
	var unread error
	// Without quorum every endpoint would be waited for, one after the other.
	short, cancel := context.WithTimeout(ctx, doubt)
	j.record, j.recorded, unread = j.Port.Records(j.cluster).Get(short, j.req.Owner)
	j.abandoned = nil
	if unread == nil && !j.recorded && j.req.ID == 0 && j.req.Bootstrap != membership.Founder {
		j.abandoned, unread = j.whatIsAbandoned(short)
	}
	cancel()
	if unread != nil && !retry(unread) {
		return unread
	}
	if j.snap, err = j.observe(ctx, j.cluster); err != nil {
		return err
	}
	if unread != nil {
		return j.withoutRecord(unread, since)
	}
	return j.tryAnnounce(ctx, since)
}

// withoutRecord says why the record could not be read: without quorum nobody
// can, however long one waits. A cluster that is being formed may be about to
// get its quorum.
func (j *join) withoutRecord(unread error, since *time.Time) error {
	d := membership.DecideAdd(j.snap, membership.AddRequest{Name: j.req.Name, PeerURLs: j.req.PeerURLs, MaxLearners: 1})
	if d.Verdict != membership.Go {
		j.last = d
	}
	if d.Code != membership.QuorumLost {
		*since = j.Clock.Now()
		return unread
	}
	refusal := &Refusal{Action: ActionAdd, Name: j.req.Name, Decision: d, Snapshot: j.snap}
	if j.req.Bootstrap == membership.Founder || j.req.AwaitCluster || j.Clock.Now().Sub(*since) <= doubt {
		return again{refusal}
	}
	return refusal
}

// again asks for another look, and says why.
type again struct{ cause error }

func (a again) Error() string { return a.cause.Error() }
func (a again) Unwrap() error { return a.cause }

// retry reports whether another look may help: the decision was to wait, the
// outcome of a change is not known, or nobody answered this time.
func retry(err error) bool {
	var a again
	var gone *cluster.Unreachable
	return errors.As(err, &a) || errors.Is(err, cluster.ErrAmbiguous) || errors.As(err, &gone) && !hopeless(err)
}

// Identify finds out which member of the snapshot a join would carry on with, as
// far as the ownership record of its owner tells; see [membership.Identify].
func (e *Engine) Identify(ctx context.Context, r JoinRequest, snap membership.Snapshot) (membership.Identity, error) {
	record, recorded, err := e.Port.Records(snap.ClusterID).Get(ctx, r.Owner)
	if err != nil {
		return membership.Identity{}, err
	}
	return identify(r, snap, record, recorded, nil), nil
}

func identify(r JoinRequest, snap membership.Snapshot, record cluster.Record, recorded bool, abandoned []cluster.Record) membership.Identity {
	return membership.Identify(snap, membership.IdentifyRequest{
		Name: r.Name, PeerURLs: r.PeerURLs, Bootstrap: r.Bootstrap, Founders: r.Founders,
		Claim: membership.Claim{
			Recorded: recorded, ID: record.ID(), PeerURLs: record.PeerURLs,
			Left: record.State == cluster.Removed, Retired: r.Configured && record.Started,
		},
		Abandoned: claims(abandoned),
	})
}

// tryAnnounce takes one decision on the snapshot at hand.
func (j *join) tryAnnounce(ctx context.Context, since *time.Time) error {
	found := identify(j.req, j.snap, j.record, j.recorded, j.abandoned)
	if found.Code == membership.FoundedAlone {
		err := &Unidentified{Name: j.req.Name, PeerURLs: j.req.PeerURLs, Founders: j.req.Founders, Identity: found, Snapshot: j.snap}
		if 1+len(j.snap.Others) < j.req.Founders && j.Clock.Now().Sub(*since) <= doubt {
			return again{err} // to name the clusters of the others as well, which may be about to start
		}
		return err
	}
	if len(j.snap.Others) > 0 {
		// To look for a member in any one of several clusters would mislead.
		return &Refusal{Action: ActionAdd, Name: j.req.Name, Snapshot: j.snap,
			Decision: membership.Decision{Code: membership.MixedClusters, Facts: membership.Facts{Subject: j.req.ID}}}
	}
	if j.req.ID != 0 {
		m, ok := j.snap.Member(j.req.ID)
		if !ok {
			return &Refusal{Action: ActionPromote, Name: j.req.Name, Snapshot: j.snap,
				Decision: membership.Decision{Code: membership.NotMember, Facts: membership.Facts{Subject: j.req.ID}}}
		}
		if !membership.SameURLs(m.PeerURLs, j.req.PeerURLs) {
			return &Unidentified{Name: j.req.Name, PeerURLs: j.req.PeerURLs, Snapshot: j.snap, Identity: membership.Identity{
				Code: membership.MovedMember, Facts: membership.Facts{Subject: m.ID, Others: []membership.MemberID{m.ID}},
			}}
		}
		j.member = m
		return j.write(ctx, cluster.Announced, m.ID)
	}
	switch found.Step {
	case membership.StepAdopt:
		j.member, _ = j.snap.Member(found.ID)
		return j.write(ctx, cluster.Announced, found.ID)
	case membership.StepTakeOver:
		// Who holds the lock works on it still, and is not cut short.
		if err := j.hold.sure(j.snap); err != nil {
			return err
		}
		j.member, _ = j.snap.Member(found.ID)
		return j.write(ctx, cluster.Announced, found.ID)
	case membership.StepWithdraw:
		if err := j.weigh(membership.Settled(j.snap), since); err != nil {
			return err
		}
		if err := j.hold.sure(j.snap); err != nil {
			return err
		}
		via, _, _ := j.snap.MajorityLeader()
		if err := j.Port.Remove(ctx, via, found.ID); err != nil && !errors.Is(err, cluster.ErrNotFound) {
			return again{err}
		}
		return again{errors.New("the wrong announcement was taken back")}
	case membership.StepAnnounce:
		return j.add(ctx, since)
	default:
		return &Unidentified{Name: j.req.Name, PeerURLs: j.req.PeerURLs, Identity: found, Snapshot: j.snap}
	}
}

// weigh returns nil for a decision to go on. A refusal must hold for a while before
// it is believed: members that restart come back.
func (j *join) weigh(d membership.Decision, since *time.Time) error {
	j.last = d
	refusal := &Refusal{Action: ActionAdd, Name: j.req.Name, Decision: d, Snapshot: j.snap}
	switch {
	case d.Verdict == membership.Refuse && (permanent(d.Code) || j.Clock.Now().Sub(*since) > doubt):
		return refusal
	case d.Verdict == membership.Refuse:
		return again{refusal}
	}
	*since = j.Clock.Now()
	if d.Verdict == membership.Go {
		return nil
	}
	return again{refusal}
}

// add decides about the announcement and makes it.
func (j *join) add(ctx context.Context, since *time.Time) error {
	r := membership.AddRequest{Name: j.req.Name, PeerURLs: j.req.PeerURLs, MaxLearners: 1}
	learners := j.snap.Learners()
	if ids := idsOf(learners); !slices.Equal(ids, j.full) {
		// How many learners the servers take (--max-learners) only they know:
		// ask them once for each set of learners that is in the way.
		r.MaxLearners = len(learners) + 1
	}
	d := membership.DecideAdd(j.snap, r)
	if err := j.weigh(d, since); err != nil {
		return err
	}
	if gone, ok := j.Board.sinceLeft(j.req.PeerURLs, j.Clock.Now()); ok && gone < sameURL {
		if err := j.Clock.Sleep(ctx, sameURL-gone); err != nil {
			return err
		}
	}
	if err := j.hold.sure(j.snap); err != nil {
		return err
	}
	if err := j.write(ctx, cluster.Intended, 0); err != nil {
		return err
	}
	via, _, _ := j.snap.MajorityLeader()
	id, err := j.Port.AddLearner(ctx, via, j.req.PeerURLs)
	j.refused = err != nil && !errors.Is(err, cluster.ErrAmbiguous) && ctx.Err() == nil
	if err != nil {
		if errors.Is(err, cluster.ErrPermission) || errors.Is(err, cluster.ErrBadURL) {
			return err
		}
		if errors.Is(err, cluster.ErrLearnerSlotTaken) {
			j.full = idsOf(learners)
		}
		// Whatever else it says: the list, and the record of the intent, decide
		// what to do next.
		return again{err}
	}
	j.warnings = append(j.warnings, d.Warnings...)
	j.member = membership.Member{ID: id, PeerURLs: j.req.PeerURLs, Learner: true}
	return j.write(ctx, cluster.Announced, id)
}

func idsOf(members []membership.Member) []membership.MemberID {
	var out []membership.MemberID
	for _, m := range members {
		out = append(out, m.ID)
	}
	return out
}

// permanent reports whether a refusal is about what was asked for rather than
// about how the cluster is at the moment.
func permanent(c membership.Code) bool {
	return slices.Contains([]membership.Code{
		membership.NameTaken, membership.URLTaken, membership.LoopbackURL, membership.MixedClusters, membership.AlarmRaised,
		membership.NotOurs, membership.VersionTooOld, membership.LastVoter,
	}, c)
}
