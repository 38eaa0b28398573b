// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package reconfigure_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
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

// freezing freezes a member before the second observation after a refused add.
type freezing struct {
	cluster.Cluster
	member *etcdtest.Process
	left   int // observations until then, or 0 before the refusal
}

func (f *freezing) AddLearner(ctx context.Context, via membership.MemberID, urls []string) (membership.MemberID, error) {
	id, err := f.Cluster.AddLearner(ctx, via, urls)
	if err != nil && f.left == 0 {
		f.left = 2
	}
	return id, err
}

func (f *freezing) Observe(ctx context.Context, want membership.ClusterID) (membership.Snapshot, error) {
	if f.left == 1 {
		f.member.Freeze()
	}
	if f.left > 0 {
		f.left--
	}
	return f.Cluster.Observe(ctx, want)
}

// The reason of a join whose time runs out is explained with what was observed
// when it was found: a later observation that fails does not turn the learner in
// the slot into a member that has never started.
func TestAReasonIsExplainedWithItsObservation(t *testing.T) {
	t.Parallel()
	b := start(t, 1, etcdtest.Options{})
	first := b.NewJoiner(t, "first")
	first.Supervise(100 * time.Millisecond)
	taken, err := b.engine.Join(within(t, etcdtest.WaitLimit), request(first, reconfigure.CaughtUp))
	if err != nil {
		t.Fatal(err)
	}
	b.engine.Cluster = &freezing{Cluster: b.engine.Cluster, member: b.Member("infra1")}
	_, err = b.engine.Join(within(t, 15*time.Second), request(b.NewJoiner(t, "d"), reconfigure.Voting))
	var late *reconfigure.Incomplete
	if !errors.As(err, &late) || late.Decision.Code != membership.LearnerSlotTaken {
		t.Fatalf("got %v, want to have waited for the slot", err)
	}
	got := text.Explain(reconfigure.ActionAdd, "d", err).Detail
	if want := "the slot is taken by first (" + taken.Member.ID.String() + "). Promote or remove it"; !strings.Contains(got, want) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
