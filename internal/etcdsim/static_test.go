// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdsim

import (
	"testing"
	"testing/synctest"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// Initial members that start one by one form the cluster that their environment names.
func TestStatic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, peers := &Network{}, map[string][]string{"a": {PeerURL("a")}, "b": {PeerURL("b")}, "c": {PeerURL("c")}}
		c, err := n.Static("token", peers)
		ok(t, err)
		ids, id, err := membership.InitialMemberIDs(peers, "token")
		ok(t, err)
		again, err := n.Static("token", peers)
		ok(t, err)
		same(t, "one cluster", line(again == c, n.Cluster(uint64(id)) == c), "true true")

		p := map[string]*Process{}
		started := func(list []*pb.Member) (started int) {
			for _, m := range list {
				started += len(m.ClientURLs)
			}
			return started
		}
		begin := func(name string) {
			t.Helper()
			p[name] = c.NewProcess(name, "3.6.16")
			ok(t, p[name].StartNew())
			same(t, "ID", p[name].ID(), uint64(ids[name]))
			time.Sleep(2 * electionTimeout)
		}
		_, _, there := n.Peers(nil, PeerURL("a"))
		same(t, "a answers", there, false)
		begin("a")
		cluster, list, there := n.Peers(nil, PeerURL("a"))
		same(t, "a alone", line(cluster == uint64(id), len(list), started(list), there, c.Leader() != nil), "true 3 0 true false")
		begin("b")
		same(t, "two", line(started(c.Members()), c.Leader() != nil), "2 true")
		p["b"].Freeze()
		_, list, there = n.Peers(nil, PeerURL("b"))
		same(t, "a frozen peer", line(len(list), there), "0 true")
		p["b"].Thaw()
		time.Sleep(2 * electionTimeout)
		begin("c")
		same(t, "three", started(c.Members()), 3)
		time.Sleep(10 * time.Second)

		done := p["c"].Done()
		p["c"].PowerOff()
		<-done
		p["c"].Wipe()
		refused(t, p["c"].StartNew(), errStarted)
		p["b"].PowerOff()
		ok(t, p["b"].Start())
		time.Sleep(10 * time.Second)
		_, err = p["a"].at(t, "test").MemberRemove(t.Context(), uint64(ids["c"]))
		ok(t, err)
		d := c.NewProcess("d", "3.6.16")
		refused(t, d.StartNew(), errUnequal)
		p["c"].id = uint64(ids["c"]) // its data is back
		refused(t, p["c"].Start(), errRemoved)
	})
}
