// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdsim

import (
	"testing"
	"time"
)

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
