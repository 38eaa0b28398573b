// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package reconfigure

import (
	"context"
	"slices"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/syncmap"
)

// ProcessState is what the operations of one process know of each other: the lock of
// each cluster, who is about to leave or to be replaced, and what has happened to
// the members of configurations that are about to go themselves. It is shared by
// everything that one configured provider serves. The zero value is empty.
type ProcessState struct {
	// locks are the locks of the clusters, doing what they were last taken for.
	locks syncmap.Map[membership.ClusterID, chan struct{}]
	doing syncmap.Map[membership.ClusterID, string]
	// leaving are the members that are on their way out, waiting the names of those
	// that are to be replaced in turn and have not left.
	leaving syncmap.Map[membership.MemberID, bool]
	waiting syncmap.Map[membership.MemberID, string]
	// joining are the names of the joins that are under way, failed of those that
	// were in vain.
	joining, failed syncmap.Map[string, bool]
	// settled is the cluster that the member of an owner has left, dissolved which
	// of these have been given up since.
	settled   syncmap.Map[string, membership.ClusterID]
	dissolved syncmap.Map[membership.ClusterID, bool]
	// freed is when peer URLs were given up.
	freed syncmap.Map[string, time.Time]
}

// Queued means that ctx ended while another operation of this process was at
// work.
type Queued struct {
	// Behind is what was done, such as "remove member infra3".
	Behind string
	Err    error
}

// Error implements error.
func (q *Queued) Error() string {
	return "waiting for this process to " + q.Behind + ": " + q.Err.Error()
}

// Unwrap returns ctx's error.
func (q *Queued) Unwrap() error { return q.Err }

// lock serialises the changes of one cluster in this process. It fails only
// with ctx, and then with [*Queued].
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

// busy reports whether an operation of this process is at work on the cluster
// right now.
func (b *ProcessState) busy(id membership.ClusterID) bool {
	held, _ := b.locks.Get(id)
	return len(held) > 0
}

// isFirst reports whether no other member that has its turn to come, or is at
// it, comes before this one, in order of name.
func (b *ProcessState) isFirst(id membership.MemberID) bool {
	mine, _ := b.waiting.Get(id)
	return !slices.ContainsFunc(b.waiting.Keys(), func(other membership.MemberID) bool {
		name, ok := b.waiting.Get(other)
		return ok && name < mine
	})
}

// join notes that a join is under way, until the function returned is called
// with its error.
func (b *ProcessState) join(name string) (done func(error)) {
	b.failed.Delete(name)
	b.joining.Set(name, true)
	return func(err error) {
		if err != nil {
			b.failed.Set(name, true)
		}
		b.joining.Delete(name)
	}
}

// settle notes that nothing announced for the owner remains in the cluster, so
// that the backstop need not ask a cluster that may be gone by then. dissolved is
// true where the cluster itself is given up: its last voter was forgotten, or
// it has no quorum any more.
func (b *ProcessState) settle(owner string, id membership.ClusterID, dissolved bool) {
	if dissolved {
		b.dissolved.Set(id, true)
	}
	b.settled.Set(owner, id)
}

// isSettled reports whether this process saw the owner's member leave, from
// which cluster, and whether that has been given up since.
func (b *ProcessState) isSettled(owner string) (id membership.ClusterID, settled, dissolved bool) {
	id, settled = b.settled.Get(owner)
	return id, settled, settled && b.dissolved.Has(id)
}

// left notes when peer URLs were given up; sinceLeft says how long ago the
// last of these was. The same URL must not be announced within the same second
// as its removal: the new member would get the ID that was just removed.
func (b *ProcessState) left(urls []string, at time.Time) {
	for _, u := range urls {
		b.freed.Set(u, at)
	}
}

func (b *ProcessState) sinceLeft(urls []string, now time.Time) (shortest time.Duration, found bool) {
	for _, u := range urls {
		at, ok := b.freed.Get(u)
		if d := now.Sub(at); ok && (!found || d < shortest) {
			shortest, found = d, true
		}
	}
	return shortest, found
}
