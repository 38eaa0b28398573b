// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package reconfigure

import (
	"context"
	"errors"
	"slices"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// Incomplete means that a join did not reach its goal in time. If the member
// was added, it stays added and recorded: the next attempt continues.
type Incomplete struct {
	Request JoinRequest
	// Reached is the last stage reached; Member is set from Announced on.
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
	if cause == nil {
		cause = ctx.Err()
	}
	i := &Incomplete{
		Request: j.req, Reached: j.reached, Member: j.member, Decision: j.last.Decision, Snapshot: j.last.Snapshot,
		Cause:       cause,
		Interrupted: errors.Is(ctx.Err(), context.Canceled),
		Unsure:      j.member.ID == 0 && j.recorded && j.record.State == cluster.Intended && !j.refused,
	}
	if i.Reached == Announced && j.member.Started() {
		i.Reached = Started
	}
	return i
}

// InitialCluster returns the initial cluster with which the joined member starts.
func (j Joined) InitialCluster(name string) string {
	list := slices.Clone(j.Members)
	for i := range list {
		if list[i].ID == j.Member.ID {
			list[i].Name = name // it may not have published its name yet
		}
	}
	return membership.FormatInitialCluster(list)
}
