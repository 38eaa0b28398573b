// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package reconfigure_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

// classic is the table of the classic failures that cost etcd clusters their
// quorum: case, outcome, and how the test causes and shows it. "Cut off" means
// from peers; clients, and so the engine, still reach every member, which is
// the harder case. "Frozen" members do not answer at all.
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
		func(c *trial) { c.eachWay("frozen", followerAway) },
	}, {
		"leader cut off from the rest",
		"the majority's leader is believed; nothing is done in the minority's view; the operation goes on or waits",
		func(c *trial) { c.eachWay("cut off", leaderAway) },
	}, {
		"3 + new, then a split with the new one on either side",
		"three voters as before: the side with two of them writes",
		newcomerOnEitherSide,
	}, {
		"2 + 2 split (three voters, one learner)",
		"the side with two voters writes; promotion waits",
		halves,
	}, {
		"split first, then an add",
		"refused",
		splitFirst,
	}, {
		"one → two",
		"writes never stop; promoted only when alive directly before and after",
		oneToTwo,
	}, {
		"wrong URL on a cluster of one, and of three",
		"writes never stop; a clear error; the corrected apply succeeds; nobody runs a command by hand",
		func(c *trial) {
			for _, n := range []int{1, 3} {
				c.sub(fmt.Sprintf("of %d", n), func(c *trial) { wrongURL(c, n) })
			}
		},
	}, {
		"one of three down and a wrong member added by someone else",
		"quorum holds with two of three: the advice is to remove the wrong one first; with it as a voter and quorum lost: the quorum-lost text",
		func(c *trial) {
			c.sub("a learner", wrongLearner)
			c.sub("a voter", wrongVoter)
		},
	}, {
		"learner not caught up, or dead after catching up",
		"not promoted",
		func(c *trial) {
			c.sub("not caught up", notCaughtUp)
			c.sub("cut off, with nothing written", cutOffAndIdle)
			c.sub("dead", func(c *trial) {
				notAlive(c, (*etcdtest.Process).PowerOff, func(p *etcdtest.Process) { p.Supervise(100 * time.Millisecond) })
			})
			c.sub("frozen", func(c *trial) { notAlive(c, (*etcdtest.Process).Freeze, (*etcdtest.Process).Thaw) })
		},
	}, {
		"a second learner while the slot is taken",
		"waits, naming the holder; in time it joins",
		slotTaken,
	}, {
		"standby learner, voter lost, failover",
		"promoted at the next apply",
		failover,
	},
}

// Every classic failure has the expected outcome, on one version, or with
// ETCD_TEST_FULL=1 on each maintained version.
func TestClassicFailures(t *testing.T) {
	t.Parallel()
	versions := []etcdtest.Version{etcdtest.V36}
	if full() {
		versions = []etcdtest.Version{etcdtest.V35, etcdtest.V36, etcdtest.V37}
	}
	for _, v := range versions {
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

func full() bool { return os.Getenv("ETCD_TEST_FULL") != "" }

// trial is one row on one version.
type trial struct {
	*testing.T
	version etcdtest.Version
	way     way
}

// way is a way to make members unreachable, and to restore them.
type way struct {
	name string
	away func(b *bench, p *etcdtest.Process)
	back func(b *bench, p *etcdtest.Process)
}

var ways = []way{
	{"cut off", func(b *bench, p *etcdtest.Process) { b.Isolate(p) }, func(b *bench, _ *etcdtest.Process) { b.Heal() }},
	{"frozen", func(_ *bench, p *etcdtest.Process) { p.Freeze() }, func(_ *bench, p *etcdtest.Process) { p.Thaw() }},
}

func (c *trial) sub(name string, f func(c *trial)) {
	c.Run(name, func(t *testing.T) {
		t.Parallel()
		f(&trial{T: t, version: c.version, way: c.way})
	})
}

// eachWay runs a row in both ways with ETCD_TEST_FULL=1, otherwise in the named
// way.
func (c *trial) eachWay(sample string, f func(c *trial)) {
	for _, w := range ways {
		if w.name != sample && !full() {
			continue
		}
		c.sub(w.name, func(c *trial) {
			c.way = w
			f(c)
		})
	}
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

// inBackground joins a member, and sends the error.
func (c *trial) inBackground(b *bench, r reconfigure.JoinRequest) <-chan error {
	result := make(chan error, 1)
	ctx := etcdtest.WaitContext(c)
	go func() {
		_, err := b.engine.Join(ctx, r)
		result <- err
	}()
	return result
}

// mustStay expects that nothing changes for a while.
func (c *trial) mustStay(b *bench, result <-chan error, d time.Duration, want ...string) {
	c.Helper()
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		c.mustList(b, want...)
		select {
		case err := <-result:
			c.Fatalf("it did not wait: %v", err)
		default:
		}
		if c.Failed() {
			c.FailNow()
		}
	}
}
