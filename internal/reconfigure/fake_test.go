// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package reconfigure

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/claim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/clock"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// fake is a cluster in memory, its records, its turns and its lock. Every call is
// noted. Calls take no time, except observations: so tests run in virtual time.
type fake struct {
	cluster.Cluster
	mu      sync.Mutex
	members []membership.Member
	leader  membership.MemberID
	records map[string]cluster.Record
	calls   []string
	limits  map[string]time.Duration // the time that each change had
	takes   time.Duration            // the time of an observation
	down    func() membership.MemberID
	sending func() bool               // the leader sends a snapshot
	answer  func(change string) error // the answer to a change, nil if it is made
}

// fakeCluster returns voters a, b and c, led by a, and an engine.
func fakeCluster() (*fake, *Engine) {
	f := &fake{
		leader: 1, records: map[string]cluster.Record{}, limits: map[string]time.Duration{},
		down: func() membership.MemberID { return 0 }, answer: func(string) error { return nil },
	}
	for i, name := range []string{"a", "b", "c"} {
		f.members = append(f.members, fakeMember(membership.MemberID(i+1), name))
	}
	return f, &Engine{Cluster: f, Process: &ProcessState{}, Clock: clock.System{}, Locker: f}
}

func fakeMember(id membership.MemberID, name string) membership.Member {
	return membership.Member{ID: id, Name: name, PeerURLs: peerURL(name), ClientURLs: []string{"http://" + name + ".example:2379"}}
}

func peerURL(name string) []string { return []string{"http://" + name + ".example:2380"} }

func (f *fake) note(call string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, call)
}

func (f *fake) count(call string) (n int) {
	for _, c := range f.calls {
		if c == call {
			n++
		}
	}
	return n
}

func (f *fake) Observe(ctx context.Context, _ membership.ClusterID) (membership.Snapshot, error) {
	f.note("Observe")
	if err := (clock.System{}).Sleep(ctx, f.takes); err != nil {
		return membership.Snapshot{}, err
	}
	s := membership.Snapshot{ClusterID: 9, Linearizable: true, Members: slices.Clone(f.members), Answers: map[membership.MemberID]membership.Answer{}}
	for _, m := range f.members {
		index := uint64(len(f.calls)) // grows
		s.Answers[m.ID] = membership.Answer{
			State: membership.Answered, MemberID: m.ID, ClusterID: 9, Leader: f.leader, Term: 2, Index: index, Applied: index,
			Learner: m.Learner, ReadOK: !m.Learner, Version: "3.6.16",
		}
	}
	if id := f.down(); id != 0 {
		s.Answers[id] = membership.Answer{State: membership.Silent}
	}
	return s, nil
}

func (f *fake) Members(context.Context) ([]membership.Member, membership.ClusterID, error) {
	f.note("Members")
	return slices.Clone(f.members), 9, nil
}

func (f *fake) Metrics(context.Context, membership.MemberID) (cluster.Metrics, error) {
	m := cluster.Metrics{Sending: map[membership.MemberID]bool{}}
	for _, other := range f.members {
		m.Sending[other.ID] = f.sending != nil && f.sending()
	}
	return m, nil
}

func (f *fake) Peers(context.Context, membership.MemberID, []membership.MemberID) (map[membership.MemberID]bool, error) {
	return map[membership.MemberID]bool{f.down(): false}, nil
}

// change notes a change of the member, and makes it unless it is refused.
func (f *fake) change(ctx context.Context, name string, id membership.MemberID, makeIt func(*membership.Member)) error {
	f.note(name)
	if end, limited := ctx.Deadline(); limited {
		f.limits[name] = time.Until(end)
	}
	if err := f.answer(name); err != nil {
		return err
	}
	for i, m := range f.members {
		if m.ID == id {
			makeIt(&f.members[i])
		}
	}
	f.members = slices.DeleteFunc(f.members, func(m membership.Member) bool { return m.ID == 0 })
	return nil
}

// AddLearner adds d, which runs at once.
func (f *fake) AddLearner(ctx context.Context, _ membership.MemberID, urls []string) (membership.MemberID, error) {
	err := f.change(ctx, "AddLearner", 0, nil)
	if err == nil {
		d := fakeMember(4, "d")
		d.PeerURLs, d.Learner = urls, true
		f.members = append(f.members, d)
	}
	return 4, err
}

func (f *fake) Promote(ctx context.Context, _, id membership.MemberID) error {
	return f.change(ctx, "Promote", id, func(m *membership.Member) { m.Learner = false })
}

func (f *fake) Remove(ctx context.Context, _, id membership.MemberID) error {
	return f.change(ctx, "Remove", id, func(m *membership.Member) { m.ID = 0 })
}

func (f *fake) UpdatePeerURLs(ctx context.Context, _, id membership.MemberID, urls []string) error {
	return f.change(ctx, "UpdatePeerURLs", id, func(m *membership.Member) { m.PeerURLs = urls })
}

func (f *fake) MoveLeader(ctx context.Context, _, to membership.MemberID) error {
	return f.change(ctx, "MoveLeader", to, func(*membership.Member) { f.leader = to })
}

func (f *fake) Acquire(context.Context, membership.ClusterID, string, func(claim.Holder)) (claim.Hold, error) {
	f.note("Acquire")
	return f, nil
}

func (f *fake) Check(context.Context) error {
	f.note("Check")
	return nil
}

func (f *fake) Lost() <-chan struct{}      { return nil }
func (f *fake) Err() error                 { return nil }
func (f *fake) Stop(context.Context) error { return nil }

func (f *fake) Records(membership.ClusterID) cluster.Records { return fakeRecords{f} }
func (f *fake) Turns(membership.ClusterID) cluster.Turns     { return fakeTurns{fake: f} }

func (f *fake) URLChanges(membership.ClusterID) cluster.URLChanges { return NoURLChanges{} }

// NoURLChanges has no changes of peer URLs on record.
type NoURLChanges struct{ cluster.URLChanges }

// Put implements [cluster.URLChanges].
func (NoURLChanges) Put(_ context.Context, c membership.URLChange, _ ...membership.URLChange) (membership.URLChange, error) {
	return c, nil
}

// List implements [cluster.URLChanges].
func (NoURLChanges) List(context.Context) ([]membership.URLChange, []*cluster.Malformed, error) {
	return nil, nil, nil
}

// ObjectRecords is not used by the engine.
func (f *fake) ObjectRecords(membership.ClusterID) cluster.ObjectRecords { return nil }

type fakeRecords struct{ *fake }

func (r fakeRecords) Get(_ context.Context, owner string) (cluster.Record, bool, error) {
	r.note("Records.Get")
	record, ok := r.records[owner]
	return record, ok, nil
}

func (r fakeRecords) Put(_ context.Context, record cluster.Record, _ ...cluster.Record) (cluster.Record, error) {
	r.note("Records.Put")
	r.records[record.Owner] = record
	return record, nil
}

func (r fakeRecords) List(context.Context) ([]cluster.Record, []*cluster.Malformed, error) {
	r.note("Records.List")
	return slices.Collect(maps.Values(r.records)), nil, nil
}

func (r fakeRecords) Delete(_ context.Context, owner string) error {
	r.note("Records.Delete")
	delete(r.records, owner)
	return nil
}

type fakeTurns struct {
	cluster.Turns
	*fake
}

func (r fakeTurns) List(context.Context) ([]membership.Turn, []*cluster.Malformed, error) {
	r.note("Turns.List")
	return []membership.Turn{{Name: "over", Voters: 1}}, nil, nil
}

func (r fakeTurns) Put(_ context.Context, t membership.Turn, _ ...membership.Turn) (membership.Turn, error) {
	r.note("Turns.Put")
	return t, nil
}

func (r fakeTurns) Delete(context.Context, string) error {
	r.note("Turns.Delete")
	return nil
}
