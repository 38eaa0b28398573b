// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package reconfigure

import (
	"slices"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/syncmap"
)

// turnQueue is which members one process replaces in turn, and how far the
// joins are that end the turns.
type turnQueue struct {
	// waiting are the names of the members that have not left.
	waiting syncmap.Map[membership.MemberID, string]
	joins   syncmap.Map[string, joinState] // by name
}

type joinState uint8

const (
	joinRuns joinState = iota
	joinFailed
	joinDone
)

// queue notes that a member is to be replaced in turn, until the function
// returned is called.
func (q *turnQueue) queue(id membership.MemberID, name string) (done func()) {
	q.waiting.Set(id, name)
	return func() { q.waiting.Delete(id) }
}

// queued returns the members that are to be replaced in turn and have not left.
func (q *turnQueue) queued() []membership.MemberID { return q.waiting.Keys() }

// isFirst reports whether no other member that has its turn to come, or is at
// it, comes before this one, in order of name.
func (q *turnQueue) isFirst(id membership.MemberID) bool {
	mine, _ := q.waiting.Get(id)
	return !slices.ContainsFunc(q.waiting.Keys(), func(other membership.MemberID) bool {
		name, ok := q.waiting.Get(other)
		return ok && name < mine
	})
}

// join notes that a join is under way, until the function returned is called
// with its error.
func (q *turnQueue) join(name string) (done func(error)) {
	q.joins.Set(name, joinRuns)
	return func(err error) {
		if err != nil {
			q.joins.Set(name, joinFailed)
		} else {
			q.joins.Set(name, joinDone)
		}
	}
}

// hasFailed reports whether this process was at a join of that name, in vain.
func (q *turnQueue) hasFailed(name string) bool {
	state, _ := q.joins.Get(name)
	return state == joinFailed
}

// isJoining reports whether this process is at a join.
func (q *turnQueue) isJoining() bool {
	return slices.ContainsFunc(q.joins.Keys(), func(name string) bool {
		state, ok := q.joins.Get(name)
		return ok && state == joinRuns
	})
}
