// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package reconfigure_test

import (
	"errors"
	"testing"
	"time"

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
	r.Owner = "joiner-1"
	if _, err := b.engine.Join(etcdtest.WaitContext(t), r); err != nil {
		t.Fatal(err)
	}
	l := b.leaveRequest(t, "d")
	l.Owner, l.KeepRecord = r.Owner, true
	return b, r, l
}

// A member that was added and never ran may be added again.
func TestAnIdentityThatNeverRanJoinsAgain(t *testing.T) {
	t.Parallel()
	b := start(t, 1, etcdtest.Options{})
	r := request(b.NewJoiner(t, "d"), reconfigure.Announced)
	r.Owner = "joiner-1"
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
	wrong.Owner, wrong.Name = "joiner-1", "x"
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
	r.Name, r.Bootstrap = "x", membership.InitialMember
	_, err := b.engine.Join(etcdtest.WaitContext(t), r)
	mustBeUnidentified(t, "an initial member", err, membership.InitialRenamed)
}

// A Terraform run that was planned before another run replaced an initial
// member does not adopt the successor, which has its name and peer URLs.
func TestAnInitialMemberIsNotItsSuccessor(t *testing.T) {
	t.Parallel()
	b, r, _ := spendable(t)
	before := r
	before.Owner, before.Bootstrap = "initial-1", membership.InitialMember
	_, err := b.process(t, "another", time.Minute).Join(etcdtest.WaitContext(t), before)
	mustBeUnidentified(t, "joining with the configuration that was replaced", err, membership.AlreadyMember)
	if _, recorded, err := b.engine.Cluster.Records(b.id(t)).Get(etcdtest.WaitContext(t), before.Owner); recorded || err != nil {
		t.Errorf("it has a record: %v, %v", recorded, err)
	}
}
