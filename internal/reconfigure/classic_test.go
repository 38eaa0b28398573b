// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package reconfigure_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

// classic are the classic failures that cost etcd clusters their quorum and for
// which the decision alone is not enough: case, outcome, and how the test causes
// and shows it. The decisions of all of them are tested in package membership
// (testdata/classic_failures.txt).
var classic = []struct {
	name    string
	outcome string
	provoke func(c *trial)
}{
	{
		"a new member is far behind (1 GB store)",
		"learner; the leader's term is the same before and after the join",
		farBehind,
	}, {
		"one follower of three cut off, then an add",
		"refused: names the follower, proposes to bring it back or remove it; removing it is allowed",
		func(c *trial) { c.sub("frozen", followerAway) },
	}, {
		"3 + new, then a split with the new one on either side",
		"three voters as before: the side with two of them writes",
		newcomerOnEitherSide,
	}, {
		"one → two",
		"writes never stop; promoted only when alive directly before and after",
		oneToTwo,
	}, {
		"learner not caught up, or dead after catching up",
		"not promoted",
		func(c *trial) { c.sub("frozen", frozenLearner) },
	},
}

// Every classic failure has the expected outcome, on one version, or with
// ETCD_TEST_FULL=1 on each maintained version.
func TestClassicFailures(t *testing.T) {
	t.Parallel()
	for _, v := range etcdtest.Sample(etcdtest.V36) {
		for _, row := range classic {
			t.Run(string(v)+"/"+row.name, func(t *testing.T) {
				t.Parallel()
				defer func() {
					if t.Failed() {
						t.Logf("%s: %s", row.name, row.outcome)
					}
				}()
				row.provoke(&trial{T: t, version: v})
			})
		}
	}
}

// trial is one row on one version.
type trial struct {
	*testing.T
	version etcdtest.Version
}

func (c *trial) sub(name string, f func(c *trial)) {
	c.Run(name, func(t *testing.T) {
		t.Parallel()
		f(&trial{T: t, version: c.version})
	})
}

// voters starts a cluster whose members can be cut off from each other.
func (c *trial) voters(n int) *bench {
	c.Helper()
	return start(c.T, n, etcdtest.Options{Version: c.version, Links: true})
}

// learner joins a supervised learner and returns it once it has caught up.
func (c *trial) learner(b *bench, name string) (*etcdtest.Process, reconfigure.JoinRequest) {
	c.Helper()
	d := b.NewJoiner(c.T, name)
	d.Supervise(100 * time.Millisecond)
	r := request(d, reconfigure.CaughtUp)
	r.AwaitCluster = true // a busy machine may not answer for longer than a join doubts it
	got, err := b.engine.Join(etcdtest.WaitContext(c), r)
	if err != nil {
		c.Fatal(err)
	}
	r.Goal, r.ID, r.Cluster = reconfigure.Voting, got.Member.ID, got.Cluster
	return d, r
}

// followers returns the members other than the leader.
func (c *trial) followers(b *bench) []*etcdtest.Process {
	c.Helper()
	leader := b.Leader(c.T)
	return slices.DeleteFunc(b.Members(), func(p *etcdtest.Process) bool { return p == leader })
}

// mustList fails the test unless these are the members. A member without a name
// is "?", and a learner is marked.
func (c *trial) mustList(b *bench, want ...string) {
	c.Helper()
	var got []string
	for _, m := range b.members(c.T) {
		name := m.Name
		if name == "" {
			name = "?"
		}
		if m.Learner {
			name += " (learner)"
		}
		got = append(got, name)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		c.Errorf("the members are %q, want %q", got, want)
	}
}

// mustWrite writes through one member, which may have to wait for an election.
func (c *trial) mustWrite(p *etcdtest.Process) {
	c.Helper()
	client := p.Client(c.T)
	etcdtest.Eventually(c, p.Name+" takes writes", func() error { return put(c.Context(), client, "classic") })
}

// mustNotWrite expects that a write through one member is not acknowledged.
func (c *trial) mustNotWrite(p *etcdtest.Process) {
	c.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 1500*time.Millisecond)
	defer cancel()
	if err := put(ctx, p.Client(c.T), "classic"); err == nil {
		c.Errorf("a write through %s was acknowledged", p.Name)
	}
}

func put(ctx context.Context, client *clientv3.Client, key string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	_, err := client.Put(ctx, key, "value")
	return err
}

// mustKeepWriting stops the writer: writes that begin now are still acknowledged,
// and no acknowledged write is lost.
func (c *trial) mustKeepWriting(b *bench, w *etcdtest.Writer) {
	c.Helper()
	now := time.Now()
	etcdtest.Until(c, "a write that begins now is acknowledged", func() bool {
		return slices.ContainsFunc(w.Acknowledged(), func(a etcdtest.Write) bool { return a.Sent.After(now) })
	})
	w.Stop()
	c.Logf("longest time without an acknowledged write: %v", w.LongestGap())
	if lost, err := w.Lost(etcdtest.WaitContext(c), b.Client(c.T)); err != nil || len(lost) > 0 {
		c.Errorf("%d acknowledged writes are lost: %v", len(lost), err)
	}
}

// mustRefuse expects a refusal with that code, and returns its text.
func (c *trial) mustRefuse(err error, code membership.Code) text.Message {
	c.Helper()
	var refused *reconfigure.Refusal
	if !errors.As(err, &refused) || refused.Decision.Code != code {
		c.Fatalf("got %v, want a refusal: %s", err, code)
	}
	return text.Explain(refused.Action, refused.Name, err)
}

// mustWait expects a timeout while waiting for that reason, and returns the
// text.
func (c *trial) mustWait(err error, code membership.Code) text.Message {
	c.Helper()
	var late *reconfigure.Incomplete
	if !errors.As(err, &late) || late.Decision.Code != code {
		c.Fatalf("got %v (%+v), want to have waited: %s", err, late, code)
	}
	return text.Explain("add", late.Request.Name, err)
}
