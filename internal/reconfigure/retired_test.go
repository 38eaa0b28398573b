// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package reconfigure_test

import (
	"errors"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
)

// mustBeUnidentified fails the test unless a join was refused with the code.
func mustBeUnidentified(t *testing.T, what string, err error, code membership.Code) {
	t.Helper()
	var refused *reconfigure.Unidentified
	if !errors.As(err, &refused) || refused.Identity.Code != code {
		t.Errorf("%s: %v, want %q", what, err, code)
	}
}

// spendable returns a new member that has run and whose etcd_member is removed next.
func spendable(t *testing.T) (*bench, reconfigure.JoinRequest, reconfigure.LeaveRequest) {
	t.Helper()
	b := start(t, 1, etcdtest.Options{})
	d := b.NewJoiner(t, "d")
	d.Supervise(100 * time.Millisecond)
	r := request(d, reconfigure.CaughtUp)
	r.Owner, r.Configured = "joiner-1", true
	if _, err := b.engine.Join(etcdtest.WaitContext(t), r); err != nil {
		t.Fatal(err)
	}
	l := b.leaveRequest(t, "d")
	l.Owner, l.KeepRecord = r.Owner, true
	return b, r, l
}

// An identity that has run and was removed by Terraform never joins again: etcd
// does not accept its data, and without its data it must not come back.
func TestAnIdentityThatHasRunNeverJoinsAgain(t *testing.T) {
	t.Parallel()
	b, r, l := spendable(t)
	if _, err := b.engine.Leave(etcdtest.WaitContext(t), l); err != nil {
		t.Fatal(err)
	}
	_, err := b.engine.Join(etcdtest.WaitContext(t), r)
	mustBeUnidentified(t, "joining again", err, membership.IdentityRetired)
	if n := len(b.members(t)); n != 1 {
		t.Errorf("%d members", n)
	}
	// The same holds in another process, until the configuration is destroyed.
	next := b.process(t, "next", time.Minute)
	_, err = next.Join(etcdtest.WaitContext(t), r)
	mustBeUnidentified(t, "joining again in the next run", err, membership.IdentityRetired)
	if _, err := next.Withdraw(etcdtest.WaitContext(t), reconfigure.WithdrawRequest{Owner: r.Owner, Name: "d", Replacement: true}); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := b.engine.Cluster.Records(b.id(t)).Get(etcdtest.WaitContext(t), r.Owner); ok || err != nil {
		t.Errorf("the record is still there: %v, %v", ok, err)
	}
}

// Whether a member has run is visible in the list, whatever its record says: an
// imported member has none, and a member that was only added has an older one.
func TestThatAMemberHasRunIsSeen(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		record func(*testing.T, *bench, cluster.Record)
	}{
		{"no record", func(t *testing.T, b *bench, r cluster.Record) {
			if err := b.engine.Cluster.Records(b.id(t)).Delete(etcdtest.WaitContext(t), r.Owner); err != nil {
				t.Fatal(err)
			}
		}},
		{"a record from before", func(t *testing.T, b *bench, r cluster.Record) { r.Started = false; b.forge(t, r.Owner, r) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b, r, l := spendable(t)
			record, ok, err := b.engine.Cluster.Records(b.id(t)).Get(etcdtest.WaitContext(t), r.Owner)
			if err != nil || !ok {
				t.Fatal(ok, err)
			}
			test.record(t, b, record)
			if _, err := b.engine.Leave(etcdtest.WaitContext(t), l); err != nil {
				t.Fatal(err)
			}
			_, err = b.engine.Join(etcdtest.WaitContext(t), r)
			mustBeUnidentified(t, "joining again", err, membership.IdentityRetired)
		})
	}
}

// A learner that an etcd_member adopted, with its own record, also spends the
// identity of its configuration.
func TestATakenOverLearnerSpendsItsIdentity(t *testing.T) {
	t.Parallel()
	b, r, l := spendable(t)
	m, _ := named(b.members(t), "d")
	if err := b.engine.Own(etcdtest.WaitContext(t), reconfigure.OwnRequest{Was: "name:former", Owner: "name:d", Cluster: b.id(t), ID: m.ID, Name: "d", PeerURLs: m.PeerURLs, Started: true}); err != nil {
		t.Fatal(err)
	}
	shared := l
	shared.Shared = true
	if _, err := b.engine.Leave(etcdtest.WaitContext(t), shared); err != nil {
		t.Fatal(err)
	}
	if _, there := named(b.members(t), "d"); !there {
		t.Fatal("the etcd_learner took the etcd_member's away")
	}
	taker := l
	taker.Owner, taker.KeepRecord = "name:d", false
	if _, err := b.engine.Leave(etcdtest.WaitContext(t), taker); err != nil {
		t.Fatal(err)
	}
	_, err := b.engine.Join(etcdtest.WaitContext(t), r)
	mustBeUnidentified(t, "joining again", err, membership.IdentityRetired)
}

// A member that was added and never ran may be added again.
func TestAnIdentityThatNeverRanJoinsAgain(t *testing.T) {
	t.Parallel()
	b := start(t, 1, etcdtest.Options{})
	r := request(b.NewJoiner(t, "d"), reconfigure.Announced)
	r.Owner, r.Configured = "joiner-1", true
	first, err := b.engine.Join(etcdtest.WaitContext(t), r)
	if err != nil {
		t.Fatal(err)
	}
	l := reconfigure.LeaveRequest{Owner: r.Owner, KeepRecord: true, ID: first.Member.ID, Cluster: first.Cluster, Name: "d", PeerURLs: r.PeerURLs}
	if _, err := b.engine.Leave(etcdtest.WaitContext(t), l); err != nil {
		t.Fatal(err)
	}
	second, err := b.engine.Join(etcdtest.WaitContext(t), r)
	if err != nil || second.Member.ID == first.Member.ID {
		t.Errorf("again: %s after %s, %v", second.Member.ID, first.Member.ID, err)
	}
}

// A process with another name than its etcd_member is not promoted: the error names
// both. It stays a learner, and joins under its correct name, or is removed.
func TestAnotherNameGetsNoVote(t *testing.T) {
	t.Parallel()
	b := start(t, 1, etcdtest.Options{})
	d := b.NewJoiner(t, "d")
	d.Supervise(100 * time.Millisecond)
	wrong := request(d, reconfigure.Voting)
	wrong.Owner, wrong.Name, wrong.Configured = "joiner-1", "x", true
	_, err := b.engine.Join(etcdtest.WaitContext(t), wrong)
	mustBeUnidentified(t, "joining", err, membership.OtherName)
	m, ok := named(b.members(t), "d")
	if !ok || !m.Learner {
		t.Fatalf("it is %+v", m)
	}
	_, err = b.engine.Join(etcdtest.WaitContext(t), wrong)
	mustBeUnidentified(t, "joining again", err, membership.OtherName)

	right := wrong
	right.Name = "d"
	if got, err := b.engine.Join(etcdtest.WaitContext(t), right); err != nil || got.Member.ID != m.ID || got.Member.Learner {
		t.Errorf("under its name: %+v, %v", got.Member, err)
	}
	// A member that a state has under another name can be destroyed.
	l := b.leaveRequest(t, "d")
	l.Owner, l.Name = right.Owner, "x"
	if _, err := b.engine.Leave(etcdtest.WaitContext(t), l); err != nil {
		t.Errorf("leaving under another name: %v", err)
	}
	if n := len(b.members(t)); n != 1 {
		t.Errorf("%d members", n)
	}
}

// An initial member does not adopt a list entry with another name.
func TestAFounderOfAnotherName(t *testing.T) {
	t.Parallel()
	b := start(t, 1, etcdtest.Options{})
	r := request(b.Members()[0], reconfigure.Voting)
	r.Name, r.Bootstrap = "x", membership.Founder
	_, err := b.engine.Join(etcdtest.WaitContext(t), r)
	mustBeUnidentified(t, "a founder", err, membership.FounderRenamed)
}

// A Terraform run that was planned before another run replaced an initial
// member does not adopt the successor, which has its name and peer URLs.
func TestAnInitialMemberIsNotItsSuccessor(t *testing.T) {
	t.Parallel()
	b, r, _ := spendable(t)
	before := r
	before.Owner, before.Bootstrap = "initial-1", membership.Founder
	_, err := b.process(t, "another", time.Minute).Join(etcdtest.WaitContext(t), before)
	mustBeUnidentified(t, "joining with the configuration that was replaced", err, membership.AlreadyMember)
	if _, recorded, err := b.engine.Cluster.Records(b.id(t)).Get(etcdtest.WaitContext(t), before.Owner); recorded || err != nil {
		t.Errorf("it has a record: %v, %v", recorded, err)
	}
}
