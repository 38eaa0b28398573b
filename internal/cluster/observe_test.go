// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package cluster

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

func TestMain(m *testing.M) {
	if url := os.Getenv(childOf); url != "" {
		peak(url)
		return
	}
	goleak.VerifyTestMain(m)
}

func settings(endpoints ...string) connection.Settings {
	return connection.Settings{Endpoints: endpoints, DialTimeout: time.Second, RequestTimeout: 3 * time.Second}
}

func clientFor(t *testing.T, s connection.Settings) *Client {
	t.Helper()
	pool := &connection.Pool{}
	t.Cleanup(func() { _ = pool.Close() })
	return New(s, pool)
}

func observe(t *testing.T, c *Client) membership.Snapshot {
	t.Helper()
	ctx := etcdtest.WaitContext(t)
	snap, err := c.Observe(ctx, 0)
	if err != nil {
		t.Fatal(err)
	}
	return snap
}

// One endpoint is enough to see all members, on every version.
func TestObserveFromOneEndpoint(t *testing.T) {
	onEach(t, etcdtest.Versions(), func(t *testing.T, v etcdtest.Version) {
		b := etcdtest.Start(t, 3, etcdtest.Options{Version: v})
		snap := observe(t, clientFor(t, settings(b.Endpoints()[1])))
		if len(snap.Members) != 3 || !snap.Linearizable || len(snap.Others) != 0 {
			t.Fatalf("saw %+v", snap)
		}
		for _, m := range snap.Members {
			a := snap.Answer(m.ID)
			if !snap.Alive(m.ID) || a.Version == "" || a.Index == 0 || a.Applied == 0 || a.DBSize == 0 {
				t.Errorf("%s answered %+v", m.Name, a)
			}
		}
		if leader, term, ok := snap.MajorityLeader(); !ok || leader == 0 || term == 0 {
			t.Errorf("leader %s, term %d, %v", leader, term, ok)
		}
	})
}

// A frozen member costs one request timeout and is Silent. With two of three
// frozen, the list comes from the remaining member, without a quorum. The same
// holds for 3.4, which serves every list from its own memory (etcd-io/etcd#18929).
func TestObserveFrozenMembers(t *testing.T) {
	onEach(t, etcdtest.Versions(), func(t *testing.T, v etcdtest.Version) {
		observeFrozenMembers(t, v)
	})
}

func observeFrozenMembers(t *testing.T, v etcdtest.Version) {
	b := etcdtest.Start(t, 3, etcdtest.Options{Version: v})
	c := clientFor(t, settings(b.Endpoints()...))
	frozen := []*etcdtest.Process{b.Member("infra1"), b.Member("infra2")}
	for i, p := range frozen {
		p.Freeze()
		defer p.Thaw()
		snap := observe(t, c)
		silent := 0
		for _, m := range snap.Members {
			if snap.Answer(m.ID).State == membership.Silent {
				silent++
			}
		}
		if silent != i+1 || len(snap.Members) != 3 {
			t.Errorf("%d frozen: %d silent of %d", i+1, silent, len(snap.Members))
		}
		if i == 1 && snap.Linearizable {
			t.Error("a list without quorum was called linearizable")
		}
	}
}

// Behind one shared address only one member is seen; the state of the others is
// not known, which differs from unreachable.
func TestObserveBehindASharedAddress(t *testing.T) {
	t.Parallel()
	b := etcdtest.Start(t, 3, etcdtest.Options{})
	shared := b.Endpoints()[0]
	s := settings(shared)
	s.AddressMap = map[string]string{b.Endpoints()[1]: shared, b.Endpoints()[2]: shared}
	snap := observe(t, clientFor(t, s))
	states := map[membership.AnswerState]int{}
	for _, m := range snap.Members {
		states[snap.Answer(m.ID).State]++
	}
	if states[membership.Answered] != 1 || states[membership.Unprobed] != 2 {
		t.Errorf("states %v, want 1 answered and 2 unprobed", states)
	}
}

func TestObserveTwoClusters(t *testing.T) {
	t.Parallel()
	one, two := etcdtest.Start(t, 1, etcdtest.Options{}), etcdtest.Start(t, 1, etcdtest.Options{})
	c := clientFor(t, settings(append(one.Endpoints(), two.Endpoints()...)...))
	first := observe(t, clientFor(t, settings(one.Endpoints()...)))
	ctx := etcdtest.WaitContext(t)
	snap, err := c.Observe(ctx, first.ClusterID)
	if err != nil || snap.ClusterID != first.ClusterID {
		t.Fatalf("asked for %s, got %s (%v)", first.ClusterID, snap.ClusterID, err)
	}
	if len(snap.Others) != 1 {
		t.Errorf("others %v, want the second cluster", snap.Others)
	}
}

func TestUnreachableNamesEveryEndpoint(t *testing.T) {
	t.Parallel()
	one, two := etcdtest.NewProcess(t, etcdtest.Options{}), etcdtest.NewProcess(t, etcdtest.Options{})
	c := clientFor(t, settings(one.ClientURL(), two.ClientURL()))
	_, err := c.Observe(context.Background(), 0)
	var gone *connection.Unreachable
	if !errors.As(err, &gone) || len(gone.Answers) != 2 {
		t.Fatalf("got %v", err)
	}
	for _, e := range gone.Answers {
		if connection.KindOf(e.Err) != connection.Refused {
			t.Errorf("%s: %v, want a refused connection", e.Endpoint, e.Err)
		}
	}
	if Hopeless(err) {
		t.Error("machines that are not up yet were called hopeless")
	}
}

func TestWrongPasswordIsHopeless(t *testing.T) {
	t.Parallel()
	b := etcdtest.Start(t, 1, etcdtest.Options{Password: "right"})
	s := settings(b.Endpoints()...)
	s.Username, s.Password = "root", "wrong"
	_, err := clientFor(t, s).Observe(context.Background(), 0)
	if !Hopeless(err) || connection.KindOf(err) != connection.WrongPassword {
		t.Errorf("got %v", err)
	}
}

func TestRecords(t *testing.T) {
	t.Parallel()
	b := etcdtest.Start(t, 1, etcdtest.Options{})
	c := clientFor(t, settings(b.Endpoints()...))
	records := c.Records(observe(t, c).ClusterID)
	ctx := context.Background()
	if _, ok, err := records.Get(ctx, "a"); ok || err != nil {
		t.Fatalf("a record out of nothing: %v, %v", ok, err)
	}
	r, err := records.Put(ctx, Record{Owner: "a", Name: "a", PeerURLs: []string{"http://x:1"}, State: Intended})
	if err != nil {
		t.Fatal(err)
	}
	// A writer that did not read the record must not overwrite it.
	if _, err := records.Put(ctx, Record{Owner: "a", Name: "other", State: Intended}); !errors.Is(err, ErrRecordChanged) {
		t.Errorf("overwriting unread: %v", err)
	}
	r.State, r.MemberID = Announced, "2a"
	if _, err = records.Put(ctx, r); err != nil {
		t.Fatal(err)
	}
	got, ok, err := records.Get(ctx, "a")
	if err != nil || !ok || got.ID() != 0x2a || got.State != Announced {
		t.Errorf("read back %+v, %v, %v", got, ok, err)
	}
	if owners, err := Owners(ctx, records, 0x2a); err != nil || len(owners) != 1 || owners[0] != "a" {
		t.Errorf("owners %v, %v", owners, err)
	}
	// A record replaces that of another owner, all or nothing.
	stale := got
	stale.revision--
	if _, err := records.Put(ctx, Record{Owner: "b", Name: "b", State: Announced, MemberID: "2b"}, stale); !errors.Is(err, ErrRecordChanged) {
		t.Errorf("in place of a record that has changed: %v", err)
	}
	if _, err := records.Put(ctx, Record{Owner: "b", Name: "b", State: Announced, MemberID: "2b"}, got); err != nil {
		t.Fatal(err)
	}
	if all, _, err := records.List(ctx); err != nil || len(all) != 1 || all[0].Owner != "b" {
		t.Errorf("on record are %+v, %v", all, err)
	}
	if err := records.Delete(ctx, "b"); err != nil {
		t.Fatal(err)
	}
	if owners, _ := Owners(ctx, records, 0x2a); len(owners) != 0 {
		t.Errorf("owners %v after the deletion", owners)
	}
}

// If the endpoints have changed, an expected cluster is found where it was
// reached in the past; without an expected cluster these endpoints are not asked.
func TestObserveWhereItWasKnown(t *testing.T) {
	t.Parallel()
	b := etcdtest.Start(t, 1, etcdtest.Options{})
	nobody := etcdtest.NewProcess(t, etcdtest.Options{}).ClientURL()
	id := observe(t, clientFor(t, settings(b.Endpoints()...))).ClusterID
	c := clientFor(t, settings(nobody))
	c.AddFallbackEndpoints(b.Endpoints())
	ctx := etcdtest.WaitContext(t)
	var gone *connection.Unreachable
	if _, err := c.Observe(ctx, 0); !errors.As(err, &gone) || len(gone.Answers) != 1 {
		t.Errorf("without an expectation: %v, want one endpoint that does not answer", err)
	}
	snap, err := c.Observe(ctx, id)
	if err != nil || snap.ClusterID != id || !snap.Linearizable {
		t.Errorf("saw %+v, %v", snap, err)
	}
}

// onEach runs a test on each of the versions, side by side.
func onEach(t *testing.T, versions []etcdtest.Version, test func(t *testing.T, v etcdtest.Version)) {
	t.Helper()
	t.Parallel()
	for _, v := range versions {
		t.Run(string(v), func(t *testing.T) {
			t.Parallel()
			test(t, v)
		})
	}
}
