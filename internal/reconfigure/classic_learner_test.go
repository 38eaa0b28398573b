// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package reconfigure_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// witness records the observations around a promotion.
type witness struct {
	cluster.Cluster
	mu     sync.Mutex
	looks  []membership.Snapshot
	before []int // the number of observations before each promotion
}

func (w *witness) Observe(ctx context.Context, want membership.ClusterID) (membership.Snapshot, error) {
	s, err := w.Cluster.Observe(ctx, want)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.looks = append(w.looks, s)
	return s, err
}

func (w *witness) Promote(ctx context.Context, via, id membership.MemberID) error {
	w.mu.Lock()
	w.before = append(w.before, len(w.looks))
	w.mu.Unlock()
	return w.Cluster.Promote(ctx, via, id)
}

// mustHaveSeen fails the test unless the member was alive in the last observation
// before each promotion, and a voter in the last observation of all.
func (w *witness) mustHaveSeen(t *testing.T, id membership.MemberID) {
	t.Helper()
	if len(w.before) == 0 {
		t.Error("nobody was promoted")
	}
	for _, n := range w.before {
		if a := w.looks[n-1].Answer(id); a.State != membership.Answered || a.MemberID != id || !a.Learner {
			t.Errorf("promoted after it had answered %+v", a)
		}
	}
	if last := w.looks[len(w.looks)-1]; !last.Alive(id) || last.Answer(id).Learner || slices.Max(w.before) == len(w.looks) {
		t.Errorf("after the promotion it answered %+v", last.Answer(id))
	}
}

// silence ends the time for a join after some observations in which a member does
// not answer.
type silence struct {
	cluster.Cluster
	id   membership.MemberID
	left int
	over chan struct{}
}

func (s *silence) Observe(ctx context.Context, want membership.ClusterID) (membership.Snapshot, error) {
	snap, err := s.Cluster.Observe(ctx, want)
	if err == nil && snap.Answer(s.id).State == membership.Silent {
		if s.left--; s.left == 0 {
			close(s.over)
		}
	}
	return snap, err
}

func frozenLearner(c *trial) {
	b := c.voters(1)
	d, r := c.learner(b, "d")
	d.Freeze()
	w := b.NewWriter(c.T, etcdtest.WriterOptions{})
	ctx, engine := limited{c.Context(), make(chan struct{})}, *b.engine
	engine.Cluster = &silence{engine.Cluster, r.ID, 3, ctx.over} // the third is the first of the wait for the promotion
	_, err := engine.Join(ctx, r)
	words := c.mustWait(err, membership.NotAlive)
	if !strings.Contains(words.Detail, "d ("+r.ID.String()+") has started and was not promoted; it stays a learner") {
		c.Errorf("got %s", words.Detail)
	}
	c.mustList(b, "infra1", "d (learner)")
	d.Thaw()
	if _, err := b.engine.Join(etcdtest.WaitContext(c), r); err != nil {
		c.Fatal(err)
	}
	c.mustKeepWriting(b, w)
	c.mustList(b, "infra1", "d")
}
