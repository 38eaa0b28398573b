// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdsim

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/claim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
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

// TestSimulated plays scripts with what only a simulated process can be brought to.
func TestSimulated(t *testing.T) {
	for _, name := range []string{"sim_late", "sim_progress", "sim_wiped", "sim_moved"} {
		synctest.Test(t, func(t *testing.T) { playSimulated(t, "3.6.16", 3, scriptCase(name)) })
	}
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

// The rule of the house: no mutex and no sync.Once is held across a request or a
// wait. Otherwise a bubble hangs as soon as two goroutines meet there: two watches
// of one key, two releases of one claim, the end of the process meanwhile.
func TestNothingIsHeldAcrossAWait(t *testing.T) {
	for seed := range uint64(100) {
		synctest.Test(t, func(t *testing.T) {
			n := &Network{}
			n.Form("3.6.16", "a", "b")
			s := NewScheduler(t, seed)
			s.Latency, s.Twins = 400*time.Millisecond, true // both watches ask for the same lease
			n.Before = s.Before
			pool := &connection.Pool{World: n.Run("run")}
			settings := connection.Settings{Endpoints: []string{"http://a.example:2379", "http://b.example:2379"}, Clock: s.Clock("run")}
			store := claim.NewV3(cluster.New(settings, pool), settings, pool)
			as := func(name string) context.Context { return context.WithValue(t.Context(), resourceKey{}, name) }

			watching, end := context.WithCancel(as("watch"))
			var events []string
			var wg, watch sync.WaitGroup
			watch.Go(func() {
				_ = store.Watch(watching, "/beats", 1, func(e claim.Event) { events = append(events, fmt.Sprint(e.Name, e.Kind)) })
			})
			c, err := claim.Start(as("beat"), store, settings.Time(), claim.Options{Key: "/beats/x", Value: "v", TTL: 10 * time.Second, AtExit: pool.BeforeClose})
			ok(t, err)
			time.Sleep(20 * time.Second)
			for i := range 2 {
				wg.Go(func() { _ = c.Stop(as(fmt.Sprint("stop", i))) })
			}
			wg.Go(func() { _ = c.Check(as("check")) })
			time.Sleep(time.Duration(seed) * 10 * time.Millisecond)
			wg.Go(func() { ok(t, pool.Close()) })
			wg.Wait()
			time.Sleep(20 * time.Second)
			end()
			watch.Wait()
			s.Stop()
			if len(events) < 3 || events[0] != fmt.Sprint("x", claim.Started) || !slices.ContainsFunc(events[1:], func(e string) bool { return e != fmt.Sprint("x", claim.Beaten) }) {
				t.Errorf("seed %d: events %v", seed, events)
			}
		})
	}
}

// download returns the database in a snapshot. The hash behind it must be right.
func download(tb etcdtest.TB, m member) (db []byte, version string) {
	tb.Helper()
	resp, err := m.SnapshotWithVersion(within(tb))
	ok(tb, err)
	all, err := io.ReadAll(resp.Snapshot)
	ok(tb, err)
	ok(tb, resp.Snapshot.Close())
	same(tb, "size of the hash", len(all)%512, sha256.Size)
	db = all[:len(all)-sha256.Size]
	same(tb, "hash", fmt.Sprintf("%x", all[len(db):]), fmt.Sprintf("%x", sha256.Sum256(db)))
	return db, resp.Version
}

// Each member sends a whole database, whether it fits into a message or not.
func snapshotCase(tb etcdtest.TB, s system) {
	ms := open(tb, s.servers...)
	saves := func(least int) {
		tb.Helper()
		for _, m := range ms {
			revision(tb, m) // so that it has applied everything
			db, version := download(tb, m)
			want := ""
			if s.version.from36() {
				want = string(s.version)[:4] + "0"
			}
			same(tb, "version", version, want)
			if len(db) < least {
				tb.Fatalf("the database has %d bytes, want %d and more", len(db), least)
			}
		}
	}
	saves(1)
	_, err := ms[1].Txn(within(tb)).Then(clientv3.OpPut("s/b", strings.Repeat("x", 100<<10)), clientv3.OpPut("s/c", "")).Commit()
	ok(tb, err)
	saves(100 << 10)
}
