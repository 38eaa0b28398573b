// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package reconfigure carries out the decisions of package membership: it takes
// the lock, observes, decides, makes one change, and observes again until the
// change has settled. It contains no safety rule of its own.
package reconfigure

import (
	"context"
	"fmt"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/clock"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/syncmap"
)

// Engine makes changes to one cluster.
type Engine struct {
	Cluster cluster.Cluster
	Process *ProcessState
	Clock   clock.Clock
	// Locker is the lock between processes.
	Locker Locker
	// Lost is what the operator states for this Terraform run. See
	// [membership.DecideGiveUp].
	Lost Statement
	// InUse are the changes of peer URLs that the operator states to be in use. See
	// [membership.URLChange.Statement].
	InUse []string
	// Self is user@host. It names this Terraform run in records that others read.
	Self string
	// Changed is called after each change or attempted change, and after each
	// wait for one.
	Changed func()
}

// nudge is the pause between two writes of the record during a wait. A learner
// that lost the publication of its name behind a snapshot waits for an entry.
const nudge = 2 * time.Second

// sameURL is how long a removed peer URL must not be added again: a member's ID
// is computed from its URLs and the time in seconds (etcd-io/etcd#10765), and a
// removed ID never returns.
const sameURL = 1100 * time.Millisecond

// Refusal is a decision not to make a change.
type Refusal struct {
	// Name is the name of the member.
	Action   Action
	Name     string
	Decision membership.Decision
	Snapshot membership.Snapshot
	// Timeout is true if the decision was to wait and the time ran out.
	Timeout bool
}

// Error implements error. It is for logs; package text words the diagnostics.
func (r *Refusal) Error() string {
	return fmt.Sprintf("cannot %s member %s: %s", r.Action, r.Name, r.Decision.Code)
}

// Unidentified means that the member in the list is not ours to change.
type Unidentified struct {
	Name     string
	PeerURLs []string
	// InitialMembers is the number of initial members that were to form the cluster,
	// if that is the reason.
	InitialMembers int
	Identity       membership.Identity
	Snapshot       membership.Snapshot
}

// Error implements error.
func (u *Unidentified) Error() string {
	return fmt.Sprintf("cannot use member %s: %s", u.Name, u.Identity.Code)
}

// OtherCluster means that the endpoints answer for another cluster than the
// expected one.
type OtherCluster struct {
	Want, Got membership.ClusterID
	Endpoints []string
}

// NewOtherCluster returns the error for a snapshot of another cluster than the
// expected one.
func NewOtherCluster(want membership.ClusterID, snap membership.Snapshot) *OtherCluster {
	o := &OtherCluster{Want: want, Got: snap.ClusterID}
	for _, m := range snap.Members {
		if e := snap.Answer(m.ID).Endpoint; e != "" {
			o.Endpoints = append(o.Endpoints, e)
		}
	}
	return o
}

// Error implements error.
func (o *OtherCluster) Error() string {
	return fmt.Sprintf("the endpoints answer for cluster %s, not %s", o.Got, o.Want)
}

// NoCluster means that a member is to join, but there is no cluster.
type NoCluster struct {
	// Forming is true if the member waited for the cluster to form.
	Forming bool
	Cause   error
}

// Error implements error.
func (n *NoCluster) Error() string { return "no cluster to join: " + n.Cause.Error() }

// Unwrap returns the errors of the endpoints.
func (n *NoCluster) Unwrap() error { return n.Cause }

// observe observes the cluster for a decision, see [Engine.WithEvidence].
func (e *Engine) observe(ctx context.Context, want membership.ClusterID) (membership.Snapshot, error) {
	snap, err := e.look(ctx, want)
	if err != nil {
		return snap, err
	}
	return e.WithEvidence(ctx, snap)
}

// look observes the cluster and verifies that it is the expected one.
func (e *Engine) look(ctx context.Context, want membership.ClusterID) (membership.Snapshot, error) {
	snap, err := e.Cluster.Observe(ctx, want)
	if err != nil {
		return snap, err
	}
	if want != 0 && snap.ClusterID != want {
		return snap, NewOtherCluster(want, snap)
	}
	return snap, nil
}

// Confirmed observes the cluster until a majority of the voters confirms the member
// list, or until the reason against it has held long enough to be believed. Every
// use of the list that writes, removes, or drops something from a state relies on
// this. The error is a [*Refusal] of the action, or the error of the observation.
func (e *Engine) Confirmed(ctx context.Context, want membership.ClusterID, action Action, name string) (snap membership.Snapshot, err error) {
	err = e.repeat(ctx, action, name, func() (err error) {
		if snap, err = e.look(ctx, want); err != nil {
			return retryingBriefly(err)
		}
		return permitted(action, name, snap, snap.Gate(0))
	})
	return snap, err
}

// permitted returns nil if a decision is to go on, or that nothing is left to do. Any other
// one is a refusal that must hold long enough to be believed.
func permitted(action Action, name string, snap membership.Snapshot, d membership.Decision) error {
	if d.Verdict == membership.Go || d.Verdict == membership.Done {
		return nil
	}
	return retryingBriefly(&Refusal{Action: action, Name: name, Decision: d, Snapshot: snap})
}

// Action is what the engine does to a member. Package text has a summary of its
// failure for each.
type Action string

// String implements fmt.Stringer.
func (a Action) String() string { return string(a) }

// The actions. A decision can refuse the first five (see [Refusal]).
const (
	ActionAdd     Action = "add"
	ActionPromote Action = "promote"
	ActionRemove  Action = "remove"
	ActionReplace Action = "replace"
	ActionUpdate  Action = "update"

	ActionRead   Action = "read"
	ActionRecord Action = "record" // write its ownership record
	ActionImport Action = "import"
	ActionReach  Action = "reach" // find its cluster
	ActionForget Action = "forget"

	// Actions that do not add or remove a member.
	actionDefragment Action = "defragment"
	ActionSave       Action = "save"
)

// ProcessState is the state that the operations of one process share: the lock of
// each cluster, the members that are being removed, and what happened to the members
// of configurations that are about to be destroyed.
// Everything that one configured provider serves shares it. Its zero value is empty.
type ProcessState struct {
	// locks are the locks of the clusters, doing their latest purposes.
	locks syncmap.Map[membership.ClusterID, chan struct{}]
	doing syncmap.Map[membership.ClusterID, string]
	// leaving are the members that are being removed.
	leaving syncmap.Map[membership.MemberID, bool]
	// settled is the cluster from which an owner's member was removed, so that the
	// backstop need not ask a cluster that may not exist any more. dissolved is which of
	// these clusters are given up: the last voter was forgotten, or there is no quorum.
	settled   syncmap.Map[string, membership.ClusterID]
	dissolved syncmap.Map[membership.ClusterID, bool]
	// known are the members that the state has, by their clusters.
	known syncmap.Map[membership.ClusterID, *syncmap.Map[string, membership.Member]]
	// lost are the clusters that this process has given up, by [Engine.GiveUp].
	lost syncmap.Map[membership.ClusterID, bool]
	// freed is when peer URLs were released, see [sameURL].
	freed syncmap.Map[string, time.Time]
}

// Queued means that ctx ended while another operation of this process held the
// lock.
type Queued struct {
	// Behind is the purpose of that operation, such as "remove member infra3".
	Behind string
	Err    error
}

// Error implements error.
func (q *Queued) Error() string {
	return "waiting for this process to " + q.Behind + ": " + q.Err.Error()
}

// Unwrap returns ctx's error.
func (q *Queued) Unwrap() error { return q.Err }

// lock serialises the changes of one cluster in this process. It fails only if
// ctx ends, with [*Queued].
func (b *ProcessState) lock(ctx context.Context, id membership.ClusterID, doing string) (unlock func(), err error) {
	held := b.locks.GetOrMake(id, func() chan struct{} { return make(chan struct{}, 1) })
	select {
	case held <- struct{}{}:
		b.doing.Set(id, doing)
		return func() { <-held }, nil
	case <-ctx.Done():
		behind, _ := b.doing.Get(id)
		return nil, &Queued{Behind: behind, Err: ctx.Err()}
	}
}

// busy reports whether an operation of this process holds the lock of the
// cluster.
func (b *ProcessState) busy(id membership.ClusterID) bool {
	held, _ := b.locks.Get(id)
	return len(held) > 0
}

// IsDissolved reports whether this process has given up the cluster: its last voter was
// forgotten, or it has no quorum any more.
func (e *Engine) IsDissolved(id membership.ClusterID) bool { return e.Process.dissolved.Has(id) }
