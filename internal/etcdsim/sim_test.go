// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdsim

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
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

// join adds a learner and starts it.
func join(t *testing.T, c *Cluster, via *Process, name string) *Process {
	t.Helper()
	p := c.NewProcess(name, via.Version)
	_, err := via.at(t, "test").MemberAddAsLearner(t.Context(), []string{p.PeerURL})
	ok(t, err)
	ok(t, p.Start())
	return p
}

// The provider's own adapter through a pool: a member that is gone, one that is
// silent, and one that belongs to another cluster.
func TestThroughAPool(t *testing.T) {
	simulation(t, "3.6.16", "a b c", func(t *testing.T, n *Network, c *Cluster, p map[string]*Process) {
		settings := connection.Settings{Endpoints: []string{p["a"].ClientURL, p["b"].ClientURL, p["c"].ClientURL}}
		pool := &connection.Pool{World: n.Run("one")}
		client := cluster.New(settings, pool)
		ask := func(want string) {
			t.Helper()
			snap, err := client.Observe(t.Context(), membership.ClusterID(c.id))
			ok(t, err)
			var out []string
			for _, name := range []string{"a", "b", "c"} {
				out = append(out, fmt.Sprint(snap.Answers[membership.MemberID(p[name].ID())].State))
			}
			same(t, "answers", line(strings.Join(out, " "), snap.Linearizable, len(snap.Others)), want)
		}
		ask("2 2 2 true 0") // membership.Answered, all of them
		begin := time.Now()
		p["b"].PowerOff()
		ask("2 1 2 true 0")
		same(t, "a refused connection takes", time.Since(begin), 0)
		p["c"].Freeze()
		ask("2 1 1 false 0")
		if time.Since(begin) < connection.DefaultRequestTimeout {
			t.Errorf("a frozen member was asked for %v", time.Since(begin))
		}
		p["c"].Thaw()
		n.Cut("one", p["a"].ClientURL)
		_, err := p["a"].at(t, "two").Put(t.Context(), "key", "") // another run reaches it
		ok(t, err)
		ask("1 1 2 false 0")
		n.Heal("one", p["a"].ClientURL)
		n.Answer(p["b"].ClientURL, n.Form("3.6.16", "z").processes[0])
		ask("2 3 2 true 1") // membership.WrongCluster
		peers, err := client.Peers(t.Context(), membership.MemberID(p["a"].ID()), []membership.MemberID{membership.MemberID(p["b"].ID())})
		ok(t, err)
		same(t, "peers", peers, map[membership.MemberID]bool{membership.MemberID(p["b"].ID()): false, membership.MemberID(p["c"].ID()): true})
		ok(t, pool.Close())
	})
}

// An answer can be lost on its way back, or the request on its way there.
func TestLostAnswers(t *testing.T) {
	simulation(t, "3.6.16", "a", func(t *testing.T, n *Network, _ *Cluster, p map[string]*Process) {
		lost := status.Error(codes.Unavailable, "transport is closing")
		there, back := false, false
		n.Before = func(context.Context, Call) error {
			if there {
				return lost
			}
			return nil
		}
		n.After = func(_ context.Context, c Call, _ proto.Message, err error) error {
			if back && strings.HasSuffix(c.Method, "/Put") {
				return lost
			}
			return err
		}
		a := p["a"].at(t, "test")
		count := func() int64 {
			got, err := a.Get(t.Context(), "", clientv3.WithPrefix(), clientv3.WithCountOnly())
			ok(t, err)
			return got.Count
		}
		there = true
		_, err := a.Put(t.Context(), "one", "")
		same(t, "lost there", status.Code(err), codes.Unavailable)
		there, back = false, true
		same(t, "keys", count(), 0)
		_, err = a.Put(t.Context(), "two", "")
		same(t, "lost back", status.Code(err), codes.Unavailable)
		same(t, "keys", count(), 1)
	})
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

// The rules of releases that the contract suite does not run on.
func TestOlderVersions(t *testing.T) {
	for v, want := range map[Version]string{
		"3.5.29": "refused cleared", "3.5.30": "added cleared", "3.5.31": "added kept",
		"3.6.10": "refused cleared", "3.6.11": "added cleared", "3.6.12": "added kept", "3.7.0": "added kept",
	} {
		t.Run(string(v), func(t *testing.T) {
			simulation(t, v, "a b c d e", func(t *testing.T, _ *Network, _ *Cluster, p map[string]*Process) {
				a := p["a"].at(t, "test")
				p["e"].PowerOff()
				got := "added"
				added, err := a.MemberAddAsLearner(t.Context(), []string{"http://f:2380"})
				if errors.Is(err, rpctypes.ErrUnhealthy) {
					got = "refused"
					ok(t, p["e"].Start())
					time.Sleep(healthInterval + time.Second)
					added, err = a.MemberAddAsLearner(t.Context(), []string{"http://f:2380"})
				}
				ok(t, err)
				updated, err := a.MemberUpdate(t.Context(), added.Member.ID, []string{"http://f:2381"})
				ok(t, err)
				kept := "cleared"
				for _, m := range updated.Members {
					if m.IsLearner {
						kept = "kept"
					}
				}
				same(t, string(v), got+" "+kept, want)
			})
		})
	}
}

// --max-learners, and the end of watches that need a leader.
func TestOptions(t *testing.T) {
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
		n := &Network{MaxLearners: 2}
		one := n.Form("3.6.16", "one")
		time.Sleep(healthInterval)
		join(t, one, one.processes[0], "two")
		join(t, one, one.processes[0], "three")
		_, err = one.processes[0].at(t, "test").MemberAddAsLearner(t.Context(), []string{"http://four:2380"})
		refused(t, err, rpctypes.ErrTooManyLearners)
	})
}
