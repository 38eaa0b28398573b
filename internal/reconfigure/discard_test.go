// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package reconfigure_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
)

// The record of a removed member is deleted with its configuration, even if the
// member that is asked first is frozen.
func TestTheRecordGoesThoughAMemberStandsStill(t *testing.T) {
	t.Parallel()
	b := start(t, 3, etcdtest.Options{})
	d := b.NewJoiner(t, "d")
	d.Supervise(100 * time.Millisecond)
	if _, err := b.engine.Join(etcdtest.WaitContext(t), request(d, reconfigure.Voting)); err != nil {
		t.Fatal(err)
	}
	r := b.leaveRequest(t, "d")
	r.KeepRecord = true
	if _, err := b.engine.Leave(etcdtest.WaitContext(t), r); err != nil {
		t.Fatal(err)
	}
	records := func() int64 {
		got, err := b.Client(t).Get(etcdtest.WaitContext(t), b.key(t, "members/"+r.Owner))
		if err != nil {
			t.Fatal(err)
		}
		return got.Count
	}
	if n := records(); n != 1 {
		t.Fatalf("%d records after the removal, want 1", n)
	}
	still := b.Members()[0]
	if still == b.Leader(t) {
		still = b.Members()[1]
	}
	still.Freeze()
	if _, err := b.engine.Withdraw(etcdtest.WaitContext(t), withdrawing(r)); err != nil {
		t.Fatal(err)
	}
	if n := records(); n != 0 {
		t.Errorf("%d records after the configuration's end, want none", n)
	}
}

// If an operator interrupts the deletion of a record, the configuration is not
// destroyed: the next Terraform run, which did not see the removal, deletes it.
func TestTheRecordOutlivesAnInterruption(t *testing.T) {
	t.Parallel()
	b := start(t, 3, etcdtest.Options{})
	d := b.NewJoiner(t, "d")
	d.Supervise(100 * time.Millisecond)
	if _, err := b.engine.Join(etcdtest.WaitContext(t), request(d, reconfigure.Voting)); err != nil {
		t.Fatal(err)
	}
	r := b.leaveRequest(t, "d")
	r.KeepRecord = true
	if _, err := b.engine.Leave(etcdtest.WaitContext(t), r); err != nil {
		t.Fatal(err)
	}
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	if _, err := b.engine.Withdraw(ctx, withdrawing(r)); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
	if _, err := b.process(t, "next", time.Minute).Withdraw(etcdtest.WaitContext(t), withdrawing(r)); err != nil {
		t.Fatal(err)
	}
	got, err := b.Client(t).Get(etcdtest.WaitContext(t), b.key(t, "members/"+r.Owner))
	if err != nil || got.Count != 0 {
		t.Errorf("the next run left %v, %v", got, err)
	}
}

// A cluster whose last voter was forgotten is not asked again.
func TestNoFarewellToAClusterThatIsOver(t *testing.T) {
	t.Parallel()
	b := start(t, 1, etcdtest.Options{})
	r := b.leaveRequest(t, "infra1")
	r.KeepRecord = true
	left, err := b.engine.Leave(etcdtest.WaitContext(t), r)
	if err != nil || !left.LastVoter {
		t.Fatalf("%+v, %v", left, err)
	}
	b.engine.Cluster = nil // a request would panic
	if _, err := b.engine.Withdraw(etcdtest.WaitContext(t), withdrawing(r)); err != nil {
		t.Fatal(err)
	}
}
