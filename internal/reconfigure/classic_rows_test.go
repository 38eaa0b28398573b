// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package reconfigure_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
)

// The learner gets the store as a snapshot, because it lags behind the start of
// the log. (With ETCD_TEST_FULL=1 a store of 1 GB, 48 MB otherwise.)
func farBehind(c *trial) {
	size := 48 << 20
	if etcdtest.Full() {
		size = 1 << 30
	}
	b := start(c.T, 3, etcdtest.Options{
		Version: c.version, Env: shortLog(c.version), QuotaBytes: 4 << 30,
		// A machine that is busy writing must not look like a failed leader.
		Heartbeat: 300 * time.Millisecond, Election: 3 * time.Second,
	})
	fill(c.T, b, size/(512<<10), 512<<10)
	leader, term := majority(c.T, b)
	d, r := c.learner(b, "d")
	c.mustList(b, "infra1", "infra2", "infra3", "d (learner)")
	if !strings.Contains(d.Log(), "applied snapshot") {
		c.Error("d got no snapshot: it was not far behind")
	}
	if _, err := b.engine.Join(etcdtest.WaitContext(c.T), r); err != nil {
		c.Fatal(err)
	}
	c.mustList(b, "infra1", "infra2", "infra3", "d")
	if l, now := majority(c.T, b); l != leader || now != term {
		c.Errorf("%s leads in term %d, and before the join %s did in term %d", l, now, leader, term)
	}
}

// shortLog makes etcd send snapshots early.
func shortLog(v etcdtest.Version) map[string]string {
	catchUp := "ETCD_SNAPSHOT_CATCHUP_ENTRIES"
	if v == etcdtest.V34 || v == etcdtest.V35 {
		catchUp = "ETCD_EXPERIMENTAL_SNAPSHOT_CATCHUP_ENTRIES"
	}
	return map[string]string{"ETCD_SNAPSHOT_COUNT": "20", catchUp: "5"}
}

// fill makes n writes of that size.
func fill(t *testing.T, b *bench, n, size int) {
	t.Helper()
	client, value, ctx := b.Client(t), strings.Repeat("x", size), etcdtest.WaitContext(t)
	var wg sync.WaitGroup
	lanes := 8
	for lane := range lanes {
		wg.Go(func() {
			for i := lane; i < n; i += lanes {
				if _, err := client.Put(ctx, fmt.Sprintf("fill/%08d", i), value); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	if t.Failed() {
		t.FailNow()
	}
}

// majority returns the leader and its term, as the engine sees them.
func majority(t *testing.T, b *bench) (string, uint64) {
	t.Helper()
	snap, err := b.engine.Cluster.Observe(etcdtest.WaitContext(t), 0)
	if err != nil {
		t.Fatal(err)
	}
	id, term, ok := snap.MajorityLeader()
	if !ok {
		t.Fatalf("no leader is agreed on: %+v", snap.Answers)
	}
	m, _ := snap.Member(id)
	return m.Name, term
}

func followerAway(c *trial) {
	b := c.voters(3)
	follower := c.followers(b)[0]
	r := b.leaveRequest(c.T, follower.Name)
	d := b.NewJoiner(c.T, "d")
	d.Supervise(100 * time.Millisecond)
	follower.Freeze()

	_, err := b.engine.Join(within(c.T, 2*time.Minute), request(d, reconfigure.Voting))
	text := c.mustRefuse(err, membership.MemberDown)
	for _, want := range []string{
		"If d failed as a voter, 2 of 4 voters would be alive; quorum would be 3.",
		follower.Name + " (" + r.ID.String() + ")",
		"Bring " + follower.Name + " back, or remove it first, then apply again.",
	} {
		if !strings.Contains(text.Detail, want) {
			c.Errorf("got  %s\nwant %s", text.Detail, want)
		}
	}
	c.mustList(b, "infra1", "infra2", "infra3")
	if _, ok, err := b.engine.Cluster.Records(b.id(c.T)).Get(within(c.T, 20*time.Second), "name:d"); ok || err != nil {
		c.Errorf("a refusal left a record: %v, %v", ok, err)
	}

	// Its removal is allowed, and then the addition is.
	if _, err := b.engine.Leave(within(c.T, 2*time.Minute), r); err != nil {
		c.Fatal(err)
	}
	b.Untrack(follower)
	d.PowerOff() // its initial cluster has changed
	d = b.NewJoiner(c.T, "d")
	d.Supervise(100 * time.Millisecond)
	if _, err := b.engine.Join(within(c.T, 2*time.Minute), request(d, reconfigure.Voting)); err != nil {
		c.Fatal(err)
	}
	if n := len(b.members(c.T)); n != 3 {
		c.Errorf("%d members, want 3", n)
	}
}

func newcomerOnEitherSide(c *trial) {
	b := c.voters(3)
	d, _ := c.learner(b, "d")
	all := []string{"infra1", "infra2", "infra3", "d (learner)"}
	for name, c2 := range map[string]struct{ lone, with []*etcdtest.Process }{
		"with one follower": {c.followers(b)[:1], []*etcdtest.Process{d}},
		"with the others":   {[]*etcdtest.Process{b.Leader(c.T)}, nil},
	} {
		c.Logf("the new one is %s", name)
		b.Split(append(c2.lone, c2.with...)...)
		for _, p := range b.Members() {
			if p != c2.lone[0] {
				c.mustWrite(p)
			}
		}
		c.mustNotWrite(c2.lone[0])
		c.mustList(b, all...)
		b.Heal()
		if err := b.WaitHealthy(etcdtest.WaitContext(c.T)); err != nil {
			c.Fatal(err)
		}
	}
}

func oneToTwo(c *trial) {
	b := c.voters(1)
	w := b.NewWriter(c.T, etcdtest.WriterOptions{})
	witness := &witness{Cluster: b.engine.Cluster}
	b.engine.Cluster = witness
	d := b.NewJoiner(c.T, "d")
	d.Supervise(100 * time.Millisecond)
	got, err := b.engine.Join(etcdtest.WaitContext(c.T), request(d, reconfigure.Voting))
	if err != nil {
		c.Fatal(err)
	}
	witness.mustHaveSeen(c.T, got.Member.ID)
	c.mustKeepWriting(b, w)
	c.mustList(b, "infra1", "d")
}
