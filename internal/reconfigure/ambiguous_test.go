// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package reconfigure_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/claim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
)

// changing are the calls with which the life of a member changes anything, and
// how often each call is made for a different purpose.
var changing = []struct {
	method string
	nth    []int
}{
	{"LeaseGrant", []int{1, 2, 3}},            // of the lock: to add, to update, to remove
	{"Txn", []int{1, 2, 3, 4, 5, 6, 7, 8, 9}}, // the lock, records of the intent and of the member, entries
	{"MemberAdd", []int{1}},
	{"MemberPromote", []int{1}},
	{"MemberUpdate", []int{1}},
	{"MoveLeader", []int{1}},
	{"MemberRemove", []int{1}},
	{"DeleteRange", []int{1, 2}},    // of records
	{"LeaseKeepAlive", []int{1, 2}}, // of the lock, when it is released
}

// Whatever happens to a call that makes a change, whether it was carried out or
// not, and however its answer is lost, the operation observes, reconciles and
// decides again: it ends as if nothing had happened, and leaves nothing behind.
// (With ETCD_TEST_FULL=1 every failure of every call, carried out and not;
// otherwise one failure of each call.)
func TestLostAnswers(t *testing.T) {
	t.Parallel()
	n := 0
	failures := []failure{connectionLost, noAnswer, leaderChanged}
	for _, call := range changing {
		for _, nth := range call.nth {
			n++
			for _, acted := range []bool{true, false} {
				for i, how := range failures {
					if sample := nth <= 3 && n%len(failures) == i && acted == (n%2 == 0); !sample && !full() {
						continue
					}
					f := fault{method: call.method, nth: nth, acted: acted, how: how}
					t.Run(f.String(), func(t *testing.T) {
						t.Parallel()
						lostAnswer(t, f)
					})
				}
			}
		}
	}
}

func lostAnswer(t *testing.T, f fault) {
	b := start(t, 1, etcdtest.Options{Version: etcdtest.V36})
	d := b.NewJoiner(t, "d")
	l := &lossy{fault: f, calls: map[string]int{}}
	first := b.Member("infra1").ClientURL()
	pool := &connection.Pool{}
	t.Cleanup(func() { _ = pool.Close() })
	engine := newEngine(connection.Settings{
		Endpoints: []string{first}, MetadataPrefix: connection.DefaultMetadataPrefix, RequestTimeout: 3 * time.Second,
		AddressMap: map[string]string{first: l.before(t, first), d.ClientURL(): l.before(t, d.ClientURL())},
	}, pool, "alice@ops1", claim.LockTTL)

	d.Supervise(100 * time.Millisecond)
	ctx := etcdtest.WaitContext(t)
	joined, err := engine.Join(ctx, request(d, reconfigure.Voting))
	if err != nil {
		t.Fatalf("join: %v", err)
	}
	mustBe := func(want ...string) {
		t.Helper()
		var got []string
		for _, m := range b.members(t) {
			got = append(got, m.Name)
		}
		if len(got) != len(want) {
			t.Errorf("the members are %q, want %q", got, want)
		}
	}
	mustBe("infra1", "d")
	id := joined.Member.ID
	if r, ok, err := b.engine.Cluster.Records(b.id(t)).Get(ctx, "name:d"); err != nil || !ok || r.State != cluster.Announced || r.ID() != id {
		t.Errorf("the record after the join: %+v, %v, %v", r, ok, err)
	}

	moved := []string{"http://localhost" + d.PeerURL()[len("http://127.0.0.1"):]}
	if _, err := engine.UpdatePeerURLs(ctx, reconfigure.UpdateRequest{
		Owner: "name:d", ID: id, Cluster: joined.Cluster, Name: "d", PeerURLs: moved,
	}); err != nil {
		t.Fatalf("update: %v", err)
	}
	if r, ok, err := b.engine.Cluster.Records(b.id(t)).Get(ctx, "name:d"); err != nil || !ok || fmt.Sprint(r.PeerURLs) != fmt.Sprint(moved) {
		t.Errorf("the record after the update: %+v, %v, %v", r, ok, err)
	}

	const owner = "config-of-d" // d gets a configuration
	if err := engine.Own(ctx, reconfigure.OwnRequest{
		Was: "name:d", Owner: owner, Cluster: joined.Cluster, ID: id, Name: "d", PeerURLs: moved, Started: true,
	}); err != nil {
		t.Fatalf("own: %v", err)
	}
	if _, ok, err := b.engine.Cluster.Records(b.id(t)).Get(ctx, "name:d"); ok || err != nil {
		t.Errorf("the former owner's record is still there: %v", err)
	}

	b.lead(t, id)
	if _, err := engine.Leave(ctx, reconfigure.LeaveRequest{
		Owner: owner, ID: id, Cluster: joined.Cluster, Name: "d", PeerURLs: moved,
	}); err != nil {
		t.Fatalf("leave: %v", err)
	}
	mustBe("infra1")
	if r, ok, err := b.engine.Cluster.Records(b.id(t)).Get(ctx, owner); ok || err != nil {
		t.Errorf("the record after the member left: %+v, %v", r, err)
	}
	etcdtest.Until(t, "the lock is free", func() bool { return lockValue(t, b) == "" })
	l.mustHaveStruck(t)
}

// lead makes a member the leader.
func (b *bench) lead(t *testing.T, id membership.MemberID) {
	t.Helper()
	etcdtest.Until(t, id.String()+" leads", func() bool {
		snap, err := b.engine.Cluster.Observe(etcdtest.WaitContext(t), 0)
		leader, _, ok := snap.MajorityLeader()
		if err != nil || !ok || leader == id {
			return ok && leader == id
		}
		_ = b.engine.Cluster.MoveLeader(etcdtest.WaitContext(t), leader, id) // the next observation tells
		return false
	})
}
