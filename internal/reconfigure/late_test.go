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
	ctx := etcdtest.WaitContext(t)
	_, err := b.engine.Leave(ctx, r)
	var gone *connection.Unreachable
	if !errors.As(err, &gone) || ctx.Err() != nil {
		t.Fatalf("got %v, want that nobody answers", err)
	}
}

// freezing freezes a member before the second observation after a refused add, and
// ends the time after that observation.
type freezing struct {
	cluster.Cluster
	member *etcdtest.Process
	left   int // observations until then, or 0 before the refusal
	over   chan struct{}
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
		defer close(f.over)
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
	taken, err := b.engine.Join(etcdtest.WaitContext(t), request(first, reconfigure.CaughtUp))
	if err != nil {
		t.Fatal(err)
	}
	ctx := limited{t.Context(), make(chan struct{})}
	b.engine.Cluster = &freezing{Cluster: b.engine.Cluster, member: b.Member("infra1"), over: ctx.over}
	_, err = b.engine.Join(ctx, request(b.NewJoiner(t, "d"), reconfigure.Voting))
	var late *reconfigure.Incomplete
	if !errors.As(err, &late) || late.Decision.Code != membership.LearnerSlotTaken {
		t.Fatalf("got %v, want to have waited for the slot", err)
	}
	got := text.Explain(reconfigure.ActionAdd, "d", err).Detail
	if want := "the slot is taken by first (" + taken.Member.ID.String() + "). Promote or remove it"; !strings.Contains(got, want) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
