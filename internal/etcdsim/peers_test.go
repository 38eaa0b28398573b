// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdsim

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// An update of peer URLs does not end the connections between members, so a cluster
// goes on whose members listen at none of the addresses in the list. A restart ends the
// connections of a process, and it gets no new ones. The start time of a process tells it
// from the one before.
func peerURLsCase(tb etcdtest.TB, s system) {
	ms := open(tb, s.servers...)
	ctx := within(tb)
	var ids []uint64
	for i, m := range ms { // each has been connected to all others for the health interval
		learner := add(tb, m, true, fmt.Sprint("http://127.0.0.1:", 20+i))
		_, err := m.MemberRemove(ctx, learner.ID)
		ok(tb, err)
		ids = append(ids, m.id(tb))
	}
	peers := func() string { // of the first member, which real metrics name also after a removal
		metrics, err := metricsOf(ms[0].server)
		ok(tb, err)
		link := func(id uint64) bool {
			return strings.Contains(metrics, fmt.Sprintf("etcd_network_active_peers{Local=\"%x\",Remote=\"%x\"} 1\n", ids[0], id))
		}
		return line(link(ids[1]), link(ids[2]))
	}
	started := func() (at float64) { // of the second member, 0 until it serves
		metrics, _ := metricsOf(ms[1].server)
		_, rest, _ := strings.Cut("\n"+metrics, "\nprocess_start_time_seconds ")
		_, _ = fmt.Sscan(rest, &at)
		return at
	}
	first := started()
	same(tb, "the same process", line(first > 0, started() == first), "true true")
	ms[1].PowerOff()
	ms[1].Start()
	etcdtest.Until(tb, "the start time of another process", func() bool { return started() > first })
	etcdtest.Until(tb, "all peers", func() bool { return peers() == "true true" })
	etcdtest.Eventually(tb, "a write after the restart", func() error {
		return short(func(ctx context.Context) error { _, err := ms[0].Put(ctx, "key", ""); return err })
	})
	for i, id := range ids {
		_, err := ms[0].MemberUpdate(ctx, id, []string{fmt.Sprint("http://127.0.0.1:", 1+i)})
		ok(tb, err)
	}
	same(tb, "peers", peers(), "true true")
	for _, m := range ms {
		_, err := m.Put(ctx, "key", "")
		ok(tb, err)
	}
	ms[1].PowerOff()
	ms[1].Start()
	etcdtest.Until(tb, "one peer", func() bool { return peers() == "false true" })
	etcdtest.Eventually(tb, "a write", func() error {
		return short(func(ctx context.Context) error { _, err := ms[0].Put(ctx, "key", ""); return err })
	})
	ms[2].PowerOff()
	ms[2].Start()
	etcdtest.Until(tb, "no peer", func() bool { return peers() == "false false" })
	noQuorum(tb, ms[0], 3)
	refused(tb, short(func(ctx context.Context) error {
		_, err := ms[0].MemberUpdate(ctx, ids[0], []string{ms[0].PeerURL()})
		return err
	}), context.DeadlineExceeded)
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
