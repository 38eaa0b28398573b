// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdsim

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// What no contract case can bring about on real servers, or not soon.

// simulation runs f in a bubble, with a cluster of voters that count as healthy.
func simulation(t *testing.T, v Version, names string, f func(t *testing.T, n *Network, c *Cluster, p map[string]*Process)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := &Network{}
		c := n.Form(v, strings.Fields(names)...)
		p := map[string]*Process{}
		for _, m := range c.processes {
			p[m.Name] = m
		}
		time.Sleep(healthInterval + time.Second)
		f(t, n, c, p)
	})
}

func (p *Process) at(t *testing.T, run string) *clientv3.Client {
	c := p.c.n.Run(run).Client(p.ClientURL, p.ClientURL)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// A removal whose call timed out is applied when the leader finds a quorum again.
func TestLateRemoval(t *testing.T) {
	simulation(t, "3.6.16", "a b c", func(t *testing.T, _ *Network, _ *Cluster, p map[string]*Process) {
		p["b"].PowerOff()
		p["c"].PowerOff()
		a := p["a"].at(t, "test")
		ctx, cancel := context.WithTimeout(t.Context(), 700*time.Millisecond)
		defer cancel()
		_, err := a.MemberRemove(ctx, p["c"].ID())
		refused(t, err, context.DeadlineExceeded)
		time.Sleep(time.Minute)
		ok(t, p["b"].Start())
		list, err := a.MemberList(t.Context())
		ok(t, err)
		same(t, "members", len(list.Members), 2)
		refused(t, p["c"].Start(), errRemoved)
	})
}

// Readiness is the learner's progress as the leader knows it. A new leader knows
// nothing of a dead one.
func TestLearnerProgress(t *testing.T) {
	simulation(t, "3.6.16", "a b c", func(t *testing.T, _ *Network, c *Cluster, p map[string]*Process) {
		a := p["a"].at(t, "test")
		refused(t, c.NewProcess("e", "3.6.16").Start(), errUnequal)
		d := c.NewProcess("d", "3.6.16")
		d.Stall()
		added, err := a.MemberAddAsLearner(t.Context(), []string{d.PeerURL})
		ok(t, err)
		ok(t, d.Start())
		for range 20 {
			_, err := a.Put(t.Context(), "key", "")
			ok(t, err)
		}
		promote := func(via *Process) error {
			_, err := via.at(t, "test").MemberPromote(t.Context(), added.Member.ID)
			return err
		}
		refused(t, promote(p["a"]), rpctypes.ErrMemberLearnerNotReady)
		st, err := d.at(t, "test").Status(t.Context(), d.ClientURL)
		ok(t, err)
		same(t, "learner", line(st.IsLearner, st.Leader == p["a"].ID()), "true true")
		d.CatchUp()
		d.PowerOff()
		_, err = a.MoveLeader(t.Context(), p["b"].ID())
		ok(t, err)
		refused(t, promote(p["b"]), rpctypes.ErrMemberLearnerNotReady)
		_, err = p["b"].at(t, "test").MoveLeader(t.Context(), p["a"].ID())
		ok(t, err)
		ok(t, d.Start())
		d.PowerOff()
		ok(t, promote(p["c"])) // of a dead one
	})
}

// A member that lost its data is not let in by the leader that counts on them, and
// is by the next one.
func TestWipedMember(t *testing.T) {
	simulation(t, "3.6.16", "a b c", func(t *testing.T, _ *Network, _ *Cluster, p map[string]*Process) {
		a, b := p["a"].at(t, "test"), p["b"]
		id := b.ID()
		b.PowerOff()
		b.Wipe()
		refused(t, b.Start(), errLostLog)
		_, err := a.MoveLeader(t.Context(), p["c"].ID())
		ok(t, err)
		ok(t, b.Start())
		same(t, "the ID", b.ID(), id)
		_, err = b.at(t, "test").Get(t.Context(), "key")
		ok(t, err)
	})
}

// A watch that needs a leader ends without one.
func TestRequireLeader(t *testing.T) {
	simulation(t, "3.6.16", "a b c", func(t *testing.T, _ *Network, c *Cluster, p map[string]*Process) {
		a := p["a"].at(t, "test")
		watch := a.Watch(clientv3.WithRequireLeader(t.Context()), "key")
		c.Split(p["a"])
		time.Sleep(2 * electionTimeout)
		_, err := a.Put(t.Context(), "key", "") // gives up after etcd's own limit
		refused(t, err, rpctypes.ErrTimeout)
		if _, open := <-watch; open {
			t.Error("a watch without a leader")
		}
		c.Heal()
	})
}

// A process that listens at its new address is connected again, also if the address of
// only one of two processes is right.
func TestPeerURL(t *testing.T) {
	simulation(t, "3.6.16", "a b c", func(t *testing.T, _ *Network, c *Cluster, p map[string]*Process) {
		a, b := p["a"], p["b"]
		moved := func(q *Process, url string) {
			t.Helper()
			_, err := a.at(t, "test").MemberUpdate(t.Context(), q.ID(), []string{url})
			ok(t, err)
		}
		state := func(q *Process) string {
			q.PowerOff()
			ok(t, q.Start())
			time.Sleep(2 * electionTimeout)
			return line(c.Leader() != nil, !a.activeSince(b.id).IsZero(), !b.activeSince(a.id).IsZero(), b.contact)
		}
		moved(b, "http://b.example:3380")
		same(t, "the list has an address where b does not listen", state(b), "true false true true")
		b.PowerOff()
		b.PeerURL = "http://b.example:3380"
		same(t, "b listens there", state(b), "true true true true")
		moved(a, "http://a.example:3380")
		moved(b, "http://b.example:2380")
		moved(p["c"], "http://c.example:3380")
		same(t, "all are wrong", state(b), "true false false false")
	})
}

// An initial member that has run is not started as a new one, and no other process is one.
// That initial members form a cluster is seen wherever machines boot, in package simulated.
func TestStatic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := (&Network{}).Static("token", map[string][]string{"a": {PeerURL("a")}, "b": {PeerURL("b")}})
		ok(t, err)
		a, b := c.NewProcess("a", "3.6.16"), c.NewProcess("b", "3.6.16")
		ok(t, a.StartNew())
		ok(t, b.StartNew())
		time.Sleep(2 * electionTimeout)
		b.PowerOff()
		b.Wipe()
		refused(t, b.StartNew(), errStarted)
		refused(t, c.NewProcess("d", "3.6.16").StartNew(), errUnequal)
	})
}
