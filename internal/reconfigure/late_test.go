// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package reconfigure_test

import (
	"errors"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
)

// Leave does not wait for a long timeout if the whole cluster is gone.
func TestLeaveOfADeadClusterEndsSoon(t *testing.T) {
	t.Parallel()
	b := start(t, 1, etcdtest.Options{})
	r := b.leaveRequest(t, "infra1")
	b.Member("infra1").PowerOff()
	begin := time.Now()
	_, err := b.engine.Leave(within(t, time.Minute), r)
	var gone *connection.Unreachable
	if !errors.As(err, &gone) {
		t.Fatalf("got %v, want that nobody answers", err)
	}
	if took := time.Since(begin); took > 20*time.Second {
		t.Errorf("it took %v", took)
	}
}

// If an observation takes longer than the remaining time, the error is that of
// any other wait: how far the join got, and why it got no further.
func TestJoinWithAFrozenLearnerSaysHowFarItGot(t *testing.T) {
	t.Parallel()
	b := start(t, 1, etcdtest.Options{})
	d := b.NewJoiner(t, "d")
	d.Supervise(100 * time.Millisecond)
	r := request(d, reconfigure.CaughtUp)
	if _, err := b.engine.Join(within(t, time.Minute), r); err != nil {
		t.Fatal(err)
	}
	d.Freeze()
	r.Goal = reconfigure.Voting
	for limit, reached := range map[time.Duration]membership.Code{
		2 * time.Second:  "", // not even one observation ends within this
		20 * time.Second: membership.NotAlive,
	} {
		_, err := b.engine.Join(within(t, limit), r)
		var late *reconfigure.Incomplete
		if !errors.As(err, &late) || late.Interrupted || late.Unsure {
			t.Fatalf("within %v: got %v, want how far the join got", limit, err)
		}
		if late.Decision.Code != reached {
			t.Errorf("within %v: the reason is %q, want %q", limit, late.Decision.Code, reached)
		}
		if reached != "" && (late.Reached != reconfigure.Started || late.Member.Name != "d") {
			t.Errorf("within %v: got to %v with %+v", limit, late.Reached, late.Member)
		}
	}
}
