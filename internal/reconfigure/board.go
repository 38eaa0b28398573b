// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package reconfigure

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// Board is what the operations of one process know of each other: the lock of
// each cluster, who is about to leave, and what has happened to the members of
// configurations that are about to go themselves. It is shared by everything
// that one configured provider serves.
type Board struct {
	mu       sync.Mutex
	locks    map[membership.ClusterID]*boardLock
	leaving  []membership.MemberID
	waiting  []membership.MemberID
	names    map[membership.MemberID]string
	joining  int
	failed   map[string]bool
	settled  map[string]membership.ClusterID
	over     map[membership.ClusterID]bool
	removed  map[string]time.Time
	initial  map[string]string
	reported map[string]bool
}

// NewBoard returns an empty Board.
func NewBoard() *Board {
	return &Board{
		locks:    map[membership.ClusterID]*boardLock{},
		settled:  map[string]membership.ClusterID{},
		over:     map[membership.ClusterID]bool{},
		removed:  map[string]time.Time{},
		initial:  map[string]string{},
		reported: map[string]bool{},
		names:    map[membership.MemberID]string{},
		failed:   map[string]bool{},
	}
}

// boardLock is the lock of one cluster. doing says what it is held for.
type boardLock struct {
	turn  chan struct{}
	doing string
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
func (b *Board) lock(ctx context.Context, id membership.ClusterID, doing string) (unlock func(), err error) {
	b.mu.Lock()
	l, ok := b.locks[id]
	if !ok {
		l = &boardLock{turn: make(chan struct{}, 1)}
		b.locks[id] = l
	}
	b.mu.Unlock()
	select {
	case l.turn <- struct{}{}:
		b.mu.Lock()
		defer b.mu.Unlock()
		l.doing = doing
		return func() { <-l.turn }, nil
	case <-ctx.Done():
		b.mu.Lock()
		defer b.mu.Unlock()
		return nil, &Queued{Behind: l.doing, Err: ctx.Err()}
	}
}

// busy reports whether an operation of this process is at work on the cluster
// right now.
func (b *Board) busy(id membership.ClusterID) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	l, ok := b.locks[id]
	return ok && len(l.turn) > 0
}

// leave notes that a member is on its way out, until the function returned is
// called.
func (b *Board) leave(id membership.MemberID) (stay func()) { return b.note(&b.leaving, id) }

// queue notes that a member is to be replaced in turn, until the function
// returned is called.
func (b *Board) queue(id membership.MemberID, name string) (done func()) {
	b.mu.Lock()
	b.names[id] = name
	b.mu.Unlock()
	return b.note(&b.waiting, id)
}

// isFirst reports whether no other member that has its turn to come, or is at
// it, comes before this one, in order of name.
func (b *Board) isFirst(id membership.MemberID) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !slices.ContainsFunc(b.waiting, func(other membership.MemberID) bool { return b.names[other] < b.names[id] })
}

func (b *Board) note(list *[]membership.MemberID, id membership.MemberID) (forget func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	*list = append(*list, id)
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if i := slices.Index(*list, id); i >= 0 {
			*list = slices.Delete(*list, i, i+1)
		}
	}
}

// queued returns the members that are to be replaced in turn and have not left.
func (b *Board) queued() []membership.MemberID {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.waiting)
}

// join notes that a join is under way, until the function returned is called
// with its error.
func (b *Board) join(name string) (done func(error)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.joining++
	return func(err error) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.joining--
		b.failed[name] = err != nil
	}
}

// hasFailed reports whether this process was at a join of that name, in vain.
func (b *Board) hasFailed(name string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.failed[name]
}

// isJoining reports whether this process is at a join.
func (b *Board) isJoining() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.joining > 0
}

// leavingNow returns the members that are on their way out.
func (b *Board) leavingNow() []membership.MemberID {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.leaving)
}

// settle notes that nothing announced for the owner remains in the cluster, so
// that the backstop need not ask a cluster that may be gone by then. over is
// true where the cluster itself is given up: its last voter was forgotten, or
// it has no quorum any more.
func (b *Board) settle(owner string, id membership.ClusterID, over bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.settled[owner] = id
	b.over[id] = b.over[id] || over
}

func (b *Board) unsettle(owner string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.settled, owner)
}

// isSettled reports whether this process saw the owner's member leave, from
// which cluster, and whether that has been given up since.
func (b *Board) isSettled(owner string) (id membership.ClusterID, settled, over bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	id, settled = b.settled[owner]
	return id, settled, settled && b.over[id]
}

// left notes when peer URLs were given up; sinceLeft says how long ago the
// last of these was. The same URL must not be announced within the same second
// as its removal: the new member would get the ID that was just removed.
func (b *Board) left(urls []string, at time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, u := range urls {
		b.removed[u] = at
	}
}

func (b *Board) sinceLeft(urls []string, now time.Time) (time.Duration, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	shortest, found := time.Duration(0), false
	for _, u := range urls {
		if at, ok := b.removed[u]; ok {
			if d := now.Sub(at); !found || d < shortest {
				shortest, found = d, true
			}
		}
	}
	return shortest, found
}

// NoteInitialCluster remembers the initial cluster that a configuration's
// frozen environment holds, so that a join that never starts can be explained.
func (b *Board) NoteInitialCluster(owner, initial string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.initial[owner] = initial
}

func (b *Board) initialCluster(owner string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.initial[owner]
}

// FirstTime reports true once for each key: a warning that every resource of a
// cluster would repeat is worth reading once.
func (b *Board) FirstTime(key string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.reported[key] {
		return false
	}
	b.reported[key] = true
	return true
}
