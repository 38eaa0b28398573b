// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package reconfigure carries the decisions of package membership out: it
// takes the lock, looks, decides, changes one thing, and looks again until the
// change has settled. It holds no rule of its own about what is safe.
package reconfigure

import (
	"context"
	"fmt"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/clock"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// Engine makes changes to one cluster.
type Engine struct {
	Cluster cluster.Cluster
	Process *ProcessState
	Clock   clock.Clock
	// Locker is the lock that spans processes; nil where there is only one.
	Locker Locker
	// Self names this run to those who read what it put on record, user@host.
	Self string
	// Changed is called after each change, made or only tried, and after each
	// wait for one; nil where nobody wants to know.
	Changed func()
}

func (e *Engine) reportChange() {
	if e.Changed != nil {
		e.Changed()
	}
}

// nudge is how often a wait writes its record again. A learner that lost the
// publication of its name behind a snapshot waits for an entry.
const nudge = 2 * time.Second

// sameURL is how long the same peer URL must stay away: a member's ID is
// computed from its URLs and the time in seconds (etcd-io/etcd#10765), and an ID
// that was removed never returns.
const sameURL = 1100 * time.Millisecond

// Refusal is a decision that was not to go on.
type Refusal struct {
	// Name is the member's.
	Action   Action
	Name     string
	Decision membership.Decision
	Snapshot membership.Snapshot
	// Timeout is true when the decision was to wait and time ran out.
	Timeout bool
}

// Error implements error, for logs; diagnostics are worded elsewhere.
func (r *Refusal) Error() string {
	return fmt.Sprintf("cannot %s member %s: %s", r.Action, r.Name, r.Decision.Code)
}

// Unidentified means that the member found in the list is not ours to touch.
type Unidentified struct {
	Name     string
	PeerURLs []string
	// Founders is how many members were to form the cluster together, where
	// that is why.
	Founders int
	Identity membership.Identity
	Snapshot membership.Snapshot
}

// Error implements error.
func (u *Unidentified) Error() string {
	return fmt.Sprintf("cannot use member %s: %s", u.Name, u.Identity.Code)
}

// OtherCluster means that the endpoints answer for another cluster than the
// one that is known.
type OtherCluster struct {
	Want, Got membership.ClusterID
	Endpoints []string
}

// NewOtherCluster is about what was observed in place of the cluster that is
// known.
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

// NoCluster means that a member is to join and there is no cluster to join.
type NoCluster struct {
	Name string
	// Forming is true for a member that was to wait for the cluster to form.
	Forming bool
	// Missing are the initial members of whose configuration nothing is known.
	Missing []string
	Cause   error
}

// Error implements error.
func (n *NoCluster) Error() string { return "no cluster to join: " + n.Cause.Error() }

// Unwrap returns what the endpoints answered.
func (n *NoCluster) Unwrap() error { return n.Cause }

// observe looks at the cluster and makes sure that it is the one expected.
func (e *Engine) observe(ctx context.Context, want membership.ClusterID) (membership.Snapshot, error) {
	snap, err := e.Cluster.Observe(ctx, want)
	if err != nil {
		return snap, err
	}
	if want != 0 && snap.ClusterID != want {
		return snap, NewOtherCluster(want, snap)
	}
	return snap, nil
}

// Confirmed looks until a majority of the voters confirms the member list, or the
// same reason has lasted so long that it is to be believed. Whatever is written
// of the list, removed because of it, or dropped from a state rests on this one.
// The error is a [*Refusal] of the action, or that of the look.
func (e *Engine) Confirmed(ctx context.Context, want membership.ClusterID, action Action, name string) (snap membership.Snapshot, err error) {
	err = e.repeat(ctx, action, name, func() error {
		var err error
		if snap, err = e.observe(ctx, want); err != nil {
			return doubting(err)
		}
		d := snap.Gate(0)
		if d.Verdict == membership.Go {
			return nil
		}
		return doubting(&Refusal{Action: action, Name: name, Decision: d, Snapshot: snap})
	})
	return snap, err
}
