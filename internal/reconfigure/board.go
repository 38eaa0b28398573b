// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package reconfigure

import (
	"context"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/syncmap"
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
	// settled is the cluster from which an owner's member was removed,
	// dissolved which of these clusters have been given up since.
	settled   syncmap.Map[string, membership.ClusterID]
	dissolved syncmap.Map[membership.ClusterID, bool]
	// known are the clusters that the state has, and their members that it has.
	known syncmap.Map[membership.ClusterID, *syncmap.Map[string, membership.Member]]
	// lost are the clusters that this process has given up, by [Engine.GiveUp].
	lost syncmap.Map[membership.ClusterID, bool]
	// freed is when peer URLs were released.
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

// settle records that no member of the owner remains in the cluster, so that
// the backstop need not ask a cluster that may not exist any more. dissolved is
// true if the cluster itself is given up: its last voter was forgotten, or it
// has no quorum any more.
func (b *ProcessState) settle(owner string, id membership.ClusterID, dissolved bool) {
	if dissolved {
		b.dissolved.Set(id, true)
	}
	b.settled.Set(owner, id)
}

// isSettled reports whether this process saw the removal of the owner's member,
// from which cluster, and whether that cluster has been given up since.
func (b *ProcessState) isSettled(owner string) (id membership.ClusterID, settled, dissolved bool) {
	id, settled = b.settled.Get(owner)
	return id, settled, settled && b.dissolved.Has(id)
}

// left records when peer URLs were released; sinceLeft returns the time since
// the latest release among urls. A URL must not be added within the same second
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

// IsDissolved reports whether this process has given up the cluster: its last voter was
// forgotten, or it has no quorum any more.
func (e *Engine) IsDissolved(id membership.ClusterID) bool { return e.Process.dissolved.Has(id) }
