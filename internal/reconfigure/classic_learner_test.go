// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package reconfigure_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
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

// somebodyAdds adds a member that never starts, as another user would.
func (c *trial) somebodyAdds(b *bench, learner bool) membership.MemberID {
	c.Helper()
	client, ctx := b.Client(c.T), within(c.T, etcdtest.WaitLimit)
	add := client.MemberAdd
	if learner {
		add = client.MemberAddAsLearner
	}
	for {
		resp, err := add(ctx, []string{"http://127.0.0.1:1"})
		if err == nil {
			return membership.MemberID(resp.Member.ID)
		}
		if ctx.Err() != nil {
			c.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond) // for the first 5 s no member counts as healthy
	}
}

// advice returns the most urgent advice for the observed cluster.
func (c *trial) advice(b *bench) string {
	c.Helper()
	snap, err := b.engine.Cluster.Observe(within(c.T, 20*time.Second), 0)
	if err != nil {
		c.Fatal(err)
	}
	var said []string
	for _, w := range snap.Advise(membership.Snapshot{}, nil) {
		said = append(said, text.Advice(w, snap))
	}
	return strings.Join(said, "\n")
}

func wrongLearner(c *trial) {
	b := c.voters(3)
	wrong := c.somebodyAdds(b, true)
	lost := c.followers(b)[0]
	r := b.leaveRequest(c.T, lost.Name)
	lost.PowerOff()
	b.Untrack(lost)
	for _, p := range b.Members() {
		c.mustWrite(p) // two of three
	}
	first, _, _ := strings.Cut(c.advice(b), "\n")
	if !strings.Contains(first, wrong.String()) || !strings.Contains(first, "remove it first") {
		c.Errorf("the first advice is %q, want to remove %s first", first, wrong)
	}
	// As advised, by hand, because it is not ours.
	if _, err := b.Client(c.T).MemberRemove(within(c.T, 20*time.Second), uint64(wrong)); err != nil {
		c.Fatal(err)
	}
	if _, err := b.engine.Leave(within(c.T, 2*time.Minute), r); err != nil {
		c.Fatal(err)
	}
	d := b.NewJoiner(c.T, "d")
	d.Supervise(100 * time.Millisecond)
	if _, err := b.engine.Join(within(c.T, 2*time.Minute), request(d, reconfigure.Voting)); err != nil {
		c.Fatal(err)
	}
	if n := len(b.members(c.T)); n != 3 {
		c.Errorf("%d members, want 3", n)
	}
}

func wrongVoter(c *trial) {
	b := c.voters(3)
	d := b.NewJoiner(c.T, "d")
	wrong := c.somebodyAdds(b, false)
	lost := c.followers(b)[0]
	r := b.leaveRequest(c.T, lost.Name)
	lost.PowerOff()
	b.Untrack(lost)
	for _, p := range b.Members() {
		c.mustNotWrite(p)
	}
	want := []string{
		"The cluster has lost its quorum: 2 of 4 voters answer; quorum is 3.", wrong.String(), r.ID.String(), "Bring at least 1 of ", " back",
		"etcd_snapshot", "the argument restore of etcd_initial_cluster",
	}
	begin := time.Now()
	_, err := b.engine.Join(within(c.T, 2*time.Minute), request(d, reconfigure.Voting))
	added := c.mustRefuse(err, membership.QuorumLost)
	_, err = b.engine.Leave(within(c.T, 2*time.Minute), r)
	removed := c.mustRefuse(err, membership.QuorumLost)
	if took := time.Since(begin); took > time.Minute {
		c.Errorf("it took %v to say so twice", took)
	}
	for _, words := range []string{added.Detail, removed.Detail, c.advice(b)} {
		for _, want := range want {
			if !strings.Contains(words, want) {
				c.Errorf("got  %s\nwant %s", words, want)
			}
		}
	}
	for _, words := range []string{added.Detail, removed.Detail} {
		if !strings.Contains(words, "Nothing was changed.") {
			c.Errorf("%s does not say that nothing was changed", words)
		}
	}
}

// A learner that lags more than allowed answers, names the leader, and is not
// promoted.
func notCaughtUp(c *trial) {
	b := c.voters(1)
	d, r := c.learner(b, "d")
	b.Isolate(d)
	fill(c.T, b, 1500, 10)
	_, err := b.engine.Join(within(c.T, 20*time.Second), r)
	words := c.mustWait(err, membership.Lagging)
	if !strings.Contains(words.Detail, "entries behind the leader; 1000 are allowed (max_lag). It stays a learner.") {
		c.Errorf("got %s", words.Detail)
	}
	c.mustList(b, "infra1", "d (learner)")
	b.Heal()
	if _, err := b.engine.Join(within(c.T, time.Minute), r); err != nil {
		c.Fatal(err)
	}
	c.mustList(b, "infra1", "d")
}

// A learner is cut off from the leader, but reachable from here. Nothing was
// written that it could lack, so it looks as if it had caught up. In a cluster
// of one, its vote would cost the quorum.
func cutOffAndIdle(c *trial) {
	b := c.voters(1)
	fill(c.T, b, 200, 10) // the server does not refuse a learner that lacks a few entries
	d, r := c.learner(b, "d")
	b.Isolate(d)
	_, err := b.engine.Join(within(c.T, 20*time.Second), r)
	_ = c.mustWait(err, membership.Unconfirmed)
	c.mustList(b, "infra1", "d (learner)")
	c.mustWrite(b.Member("infra1"))
	b.Heal()
	if _, err := b.engine.Join(within(c.T, time.Minute), r); err != nil {
		c.Fatal(err)
	}
	c.mustList(b, "infra1", "d")
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

func notAlive(c *trial, die, live func(*etcdtest.Process)) {
	b := c.voters(1)
	d, r := c.learner(b, "d")
	die(d)
	w := b.NewWriter(c.T, etcdtest.WriterOptions{})
	ctx, engine := limited{c.Context(), make(chan struct{})}, *b.engine
	engine.Cluster = &silence{engine.Cluster, r.ID, 3, ctx.over} // the third is the first of the wait for the promotion
	_, err := engine.Join(ctx, r)
	words := c.mustWait(err, membership.NotAlive)
	if !strings.Contains(words.Detail, "d ("+r.ID.String()+") has started and was not promoted; it stays a learner") {
		c.Errorf("got %s", words.Detail)
	}
	c.mustList(b, "infra1", "d (learner)")
	live(d)
	if _, err := b.engine.Join(etcdtest.WaitContext(c), r); err != nil {
		c.Fatal(err)
	}
	c.mustKeepWriting(b, w)
	c.mustList(b, "infra1", "d")
}

func slotTaken(c *trial) {
	b := c.voters(3)
	first, taken := c.learner(b, "first")
	d := b.NewJoiner(c.T, "d")
	d.Supervise(100 * time.Millisecond)
	r := request(d, reconfigure.Voting)
	// A follower on a busy machine applies the name of first late.
	etcdtest.Until(c.T, "every voter lists first by its name", func() bool {
		return !slices.ContainsFunc(b.Members(), func(p *etcdtest.Process) bool {
			list, err := p.Client(c.T).MemberList(within(c.T, 5*time.Second), clientv3.WithSerializable())
			return err != nil || !slices.ContainsFunc(list.Members, func(m *etcdserverpb.Member) bool { return m.Name == "first" })
		})
	})
	// On a busy machine the time may end before the join comes to wait for the slot:
	// during an election, or right after it has asked the server.
	var err error
	etcdtest.Until(c.T, "the join waits for the slot", func() bool {
		_, err = b.engine.Join(within(c.T, 20*time.Second), r)
		var late *reconfigure.Incomplete
		return errors.As(err, &late) && late.Decision.Code == membership.LearnerSlotTaken
	})
	words := c.mustWait(err, membership.LearnerSlotTaken)
	if want := "the slot is taken by first (" + taken.ID.String() + ")"; !strings.Contains(words.Detail, want) {
		c.Errorf("got  %s\nwant %s", words.Detail, want)
	}
	joined := c.inBackground(b, r)
	c.mustStay(b, joined, 3*time.Second, "infra1", "infra2", "infra3", "first (learner)")
	// Another Terraform run promotes it, and the slot is free.
	if _, err := b.process(c.T, "bob@ops2", 20*time.Second).Join(within(c.T, time.Minute), taken); err != nil {
		c.Fatal(err)
	}
	b.Track(first)
	etcdtest.Until(c.T, "d is announced", func() bool { return len(b.members(c.T)) == 5 })
	d.PowerOff() // its initial cluster is complete, but it started before first had joined
	b.startAnnounced(c.T, d)
	if err := <-joined; err != nil {
		c.Fatal(err)
	}
	c.mustList(b, "infra1", "infra2", "infra3", "first", "d")
}

func failover(c *trial) {
	b := c.voters(3)
	d, r := c.learner(b, "d")
	lost := c.followers(b)[0]
	gone := b.leaveRequest(c.T, lost.Name)
	lost.PowerOff()
	b.Untrack(lost)
	promoted := make(chan error, 1)
	go func() {
		_, err := b.engine.Failover(within(c.T, 2*time.Minute), r, []membership.MemberID{gone.ID})
		promoted <- err
	}()
	// Two of four voters would be alive: the failed voter must be removed first.
	c.mustStay(b, promoted, 2*time.Second, "infra1", "infra2", "infra3", "d (learner)")
	if _, err := b.engine.Leave(within(c.T, 2*time.Minute), gone); err != nil {
		c.Fatal(err)
	}
	if err := <-promoted; err != nil {
		// On a busy machine the removal begins after successionTimeout.
		if held, ok := errors.AsType[*reconfigure.HeldUp](err); !ok || held.Back {
			c.Fatal(err)
		}
		if _, err := b.engine.Failover(within(c.T, 2*time.Minute), r, []membership.MemberID{gone.ID}); err != nil {
			c.Fatal(err)
		}
	}
	b.Track(d)
	if m := b.members(c.T); len(m) != 3 || slices.ContainsFunc(m, func(m membership.Member) bool { return m.Learner }) {
		c.Errorf("the members are %+v", m)
	}
}
