// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package reconfigure_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/claim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
)

// slow is a cluster of one in memory, with an added member that becomes visible
// with the next write. Unexpected methods panic.
type slow struct {
	cluster.Cluster
	members []membership.Member
	record  *cluster.Record
	late    *membership.Member
	// unsure is the number of observations without a quorum, which show an old
	// list.
	unsure  int
	removed []membership.MemberID
	// leaderless is the number of observations without a leader after a removal.
	leaderless int
	looks      int
	clock      instantly
	removedAt  time.Time
	addedAt    time.Time
}

func (s *slow) Records(membership.ClusterID) cluster.Records { return slowRecords{s: s} }

// write applies the change that stands before a write in the log.
func (s *slow) write() {
	if s.late != nil {
		s.members, s.late = append(s.members, *s.late), nil
	}
}

func (s *slow) Observe(context.Context, membership.ClusterID) (membership.Snapshot, error) {
	snap := membership.Snapshot{ClusterID: 1, Linearizable: true, Members: slices.Clone(s.members), Answers: map[membership.MemberID]membership.Answer{
		1: {State: membership.Answered, MemberID: 1, ClusterID: 1, Leader: 1, Term: 2, ReadOK: true, Version: "3.7.3"},
	}}
	if s.unsure > 0 {
		s.unsure--
		snap.Linearizable, snap.Members = false, snap.Members[:1]
	}
	if s.looks++; len(s.removed) > 0 && s.leaderless > 0 {
		s.leaderless--
		a := snap.Answers[1]
		a.Leader = 0
		snap.Answers[1] = a
	}
	return snap, nil
}

func (s *slow) Members(context.Context) ([]membership.Member, membership.ClusterID, error) {
	return s.members, 1, nil
}

func (s *slow) AddLearner(_ context.Context, _ membership.MemberID, peerURLs []string) (membership.MemberID, error) {
	s.addedAt = s.clock.Now()
	s.members = append(s.members, membership.Member{ID: 3, PeerURLs: peerURLs, Learner: true})
	return 3, nil
}

func (s *slow) Remove(_ context.Context, _, id membership.MemberID) error {
	s.write()
	s.removed, s.removedAt = append(s.removed, id), s.clock.Now()
	s.members = slices.DeleteFunc(s.members, func(m membership.Member) bool { return m.ID == id })
	return nil
}

func (s *slow) URLChanges(membership.ClusterID) cluster.URLChanges { return reconfigure.NoURLChanges{} }

func (s *slow) Turns(membership.ClusterID) cluster.Turns { return noTurns{} }

// noTurns has no turns on record.
type noTurns struct{ cluster.Turns }

func (noTurns) Delete(context.Context, string) error { return nil }

type slowRecords struct {
	cluster.Records
	s *slow
}

func (r slowRecords) Get(context.Context, string) (cluster.Record, bool, error) {
	if r.s.record == nil {
		return cluster.Record{}, false, nil
	}
	return *r.s.record, true, nil
}

func (r slowRecords) Put(_ context.Context, record cluster.Record, _ ...cluster.Record) (cluster.Record, error) {
	r.s.write()
	r.s.record = &record
	return record, nil
}

func (r slowRecords) List(context.Context) ([]cluster.Record, []*cluster.Malformed, error) {
	return nil, nil, nil
}

func (r slowRecords) Delete(context.Context, string) error {
	r.s.write()
	r.s.record = nil
	return nil
}

// Acquire implements [Locker]: taking the lock is a write.
func (s *slow) Acquire(context.Context, membership.ClusterID, string, func(claim.Holder)) (claim.Hold, error) {
	s.write()
	return held{}, nil
}

type held struct{}

func (held) Check(context.Context) error { return nil }
func (held) Lost() <-chan struct{}       { return nil }
func (held) Err() error                  { return nil }
func (held) Stop(context.Context) error  { return nil }

// instantly is a clock that never waits.
type instantly struct{ now time.Time }

func (c *instantly) Now() time.Time { return c.now }
func (c *instantly) Sleep(ctx context.Context, d time.Duration) error {
	c.now = c.now.Add(d)
	return ctx.Err()
}

// A Terraform run was interrupted after it sent the request to add a member and
// before it received the answer. The backstop must not delete its record too
// early: the member would have no owner.
func TestWithdrawLate(t *testing.T) {
	t.Parallel()
	a := membership.Member{ID: 1, Name: "a", PeerURLs: []string{"http://10.0.0.1:2380"}, ClientURLs: []string{"http://10.0.0.1:2379"}}
	d := membership.Member{ID: 2, PeerURLs: []string{"http://10.0.0.2:2380"}, Learner: true}
	intent := cluster.Record{Owner: "o", Name: "d", PeerURLs: d.PeerURLs, State: cluster.Intended}
	announced := cluster.Record{Owner: "o", Name: "d", PeerURLs: d.PeerURLs, State: cluster.Announced, MemberID: d.ID.String()}
	for _, c := range []struct {
		name    string
		members []membership.Member
		late    *membership.Member
		record  cluster.Record
		unsure  int
		removed int
		fails   bool
	}{
		{name: "it arrives", members: []membership.Member{a}, late: &d, record: intent, removed: 1},
		{name: "it never does", members: []membership.Member{a}, record: intent},
		{name: "it has arrived", members: []membership.Member{a, d}, record: intent, removed: 1},
		{name: "an old list does not show it", members: []membership.Member{a, d}, record: announced, unsure: 3, removed: 1},
		{name: "only old lists are to be had", members: []membership.Member{a, d}, record: announced, unsure: 1000, fails: true},
		{name: "it left long ago", members: []membership.Member{a}, record: announced},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := &slow{members: c.members, late: c.late, record: &c.record, unsure: c.unsure}
			e := &reconfigure.Engine{Cluster: s, Process: &reconfigure.ProcessState{}, Clock: &instantly{}, Locker: s}
			_, err := e.Withdraw(t.Context(), reconfigure.WithdrawRequest{Owner: "o", Name: "d", PeerURLs: d.PeerURLs})
			var refusal *reconfigure.Refusal
			if (err != nil) != c.fails || c.fails && !errors.As(err, &refusal) {
				t.Fatal(err)
			}
			if c.fails != (s.record != nil) {
				t.Errorf("the record is %v afterwards", s.record)
			}
			if len(s.removed) != c.removed || !c.fails && len(s.members) != 1 {
				t.Errorf("%v were removed, %v are there", s.removed, s.members)
			}
		})
	}
}

// After a removal the next change waits until the remaining members follow a
// leader (etcd-io/etcd#15528, etcd-io/etcd#14040), and the same URL is not
// added until the ID computed from it differs (etcd-io/etcd#10765).
func TestSettle(t *testing.T) {
	t.Parallel()
	a := membership.Member{ID: 1, Name: "a", PeerURLs: []string{"http://10.0.0.1:2380"}, ClientURLs: []string{"http://10.0.0.1:2379"}}
	d := membership.Member{ID: 2, PeerURLs: []string{"http://10.0.0.2:2380"}, Learner: true}
	s := &slow{members: []membership.Member{a, d}, leaderless: 7}
	e := &reconfigure.Engine{Cluster: s, Process: &reconfigure.ProcessState{}, Clock: &s.clock, Locker: s}
	if _, err := e.Leave(t.Context(), reconfigure.LeaveRequest{Owner: "o", ID: d.ID, Cluster: 1, PeerURLs: d.PeerURLs}); err != nil {
		t.Fatal(err)
	}
	if s.leaderless != 0 || s.looks < 8 {
		t.Errorf("the removal was over after %d looks, %d before there was a leader", s.looks, s.leaderless)
	}
	if _, err := e.Join(t.Context(), reconfigure.JoinRequest{Owner: "o", Name: "d", PeerURLs: d.PeerURLs}); err != nil {
		t.Fatal(err)
	}
	if gone := s.addedAt.Sub(s.removedAt); gone < time.Second {
		t.Errorf("the same URL was back after %s", gone)
	}
}

// withdrawing returns the request for a permanently destroyed configuration.
func withdrawing(r reconfigure.LeaveRequest) reconfigure.WithdrawRequest {
	return reconfigure.WithdrawRequest{Owner: r.Owner, Name: r.Name, PeerURLs: r.PeerURLs}
}
