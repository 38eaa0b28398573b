// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package reconfigure_test

import (
	"context"
	"errors"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
)

// stubborn is a cluster that deletes turns only after some failures.
type stubborn struct {
	cluster.Cluster
	failures int
	err      error
	failed   func() // nil, or called at each failure
}

type stubbornTurns struct {
	cluster.Turns
	of *stubborn
}

func (s *stubborn) Turns(id membership.ClusterID) cluster.Turns {
	return stubbornTurns{s.Cluster.Turns(id), s}
}

func (s stubbornTurns) Delete(ctx context.Context, name string) error {
	if s.of.failures--; s.of.failures >= 0 {
		if s.of.failed != nil {
			s.of.failed()
		}
		return s.of.err
	}
	return s.Turns.Delete(ctx, name)
}

// A turn whose configuration is destroyed permanently is given up, even if the
// cluster does not answer at first. If that fails, the caller gets the error.
func TestGiveUpTurn(t *testing.T) {
	t.Parallel()
	b := start(t, 1, etcdtest.Options{})
	turn := func() {
		t.Helper()
		if _, err := b.engine.Cluster.Turns(b.id(t)).Put(etcdtest.WaitContext(t), membership.Turn{Name: "d", Voters: 3, Since: time.Now(), By: "x"}); err != nil {
			t.Fatal(err)
		}
	}
	engine := *b.engine
	port := &stubborn{Cluster: engine.Cluster, failures: 3, err: cluster.ErrAmbiguous}
	engine.Cluster = port
	turn()
	if err := engine.GiveUpTurn(etcdtest.WaitContext(t), "o", "d"); err != nil {
		t.Error(err)
	}
	if left := b.turns(t); len(left) != 0 {
		t.Errorf("on record are %v", left)
	}

	turn()
	port.failures, port.err = 1, cluster.ErrPermission
	if err := engine.GiveUpTurn(etcdtest.WaitContext(t), "o", "d"); !errors.Is(err, cluster.ErrPermission) {
		t.Errorf("denied: %v", err)
	}
	port.failures, port.err = 1_000_000, cluster.ErrAmbiguous
	_ = runOut(t, func(err error) bool { return errors.Is(err, cluster.ErrAmbiguous) },
		func(ctx context.Context) error { return engine.GiveUpTurn(ctx, "o", "d") })
	over, end := context.WithCancel(t.Context())
	port.failed = end
	if err := engine.GiveUpTurn(over, "o", "d"); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}

	// The error names the key.
	b.Members()[0].Freeze()
	defer b.Members()[0].Thaw()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	id := membership.ClusterID(0x1f)
	err := b.engine.Cluster.Turns(id).Delete(ctx, "d")
	var left *cluster.NotDeleted
	if !errors.As(err, &left) || left.Key != "/_terraform/etcd/1f/turns/d" {
		t.Errorf("frozen: %v", err)
	}
}

// A turn is also given up if this process has seen the removal of the member,
// whose turn may have remained on record then.
func TestGiveUpTurnOfAMemberThatLeft(t *testing.T) {
	t.Parallel()
	b := start(t, 3, etcdtest.Options{Names: []string{"a", "b", "c"}})
	r := b.leaveRequest(t, "c")
	engine := *b.engine
	engine.Cluster = &stubborn{Cluster: engine.Cluster, failures: 1_000_000, err: cluster.ErrPermission}
	if _, err := engine.Cluster.Turns(r.Cluster).Put(etcdtest.WaitContext(t), membership.Turn{Name: "c", Voters: 4, Since: time.Now(), By: "x"}); err != nil {
		t.Fatal(err)
	}
	if _, err := engine.Leave(etcdtest.WaitContext(t), r); err != nil {
		t.Fatal(err)
	}
	if left := b.turns(t); len(left) != 1 {
		t.Fatalf("on record are %v", left)
	}
	if err := b.engine.GiveUpTurn(etcdtest.WaitContext(t), r.Owner, "c"); err != nil {
		t.Error(err)
	}
	if left := b.turns(t); len(left) != 0 {
		t.Errorf("on record are %v", left)
	}
}

func ownD(id membership.ClusterID, was, owner string) reconfigure.OwnRequest {
	return reconfigure.OwnRequest{Was: was, Owner: owner, Cluster: id, ID: 0x2a, Name: "d", PeerURLs: []string{"http://x:1"}}
}

// A member always has one owner on record: the transaction that deletes the
// former owner's record writes the new one.
func TestOwnIsOneTransaction(t *testing.T) {
	t.Parallel()
	b := start(t, 1, etcdtest.Options{})
	id := b.id(t)
	written, err := b.engine.Cluster.Records(id).Put(etcdtest.WaitContext(t), cluster.Record{
		Owner: "name:d", Name: "d", PeerURLs: []string{"http://x:1"}, State: cluster.Announced, MemberID: "2a",
	})
	if err != nil {
		t.Fatal(err)
	}
	r := ownD(id, "name:d", "config-of-d")
	before, err := b.Client(t).Get(etcdtest.WaitContext(t), "x")
	if err != nil {
		t.Fatal(err)
	}
	if err := b.engine.Own(etcdtest.WaitContext(t), r); err != nil {
		t.Fatal(err)
	}
	watch, cancel := context.WithCancel(etcdtest.WaitContext(t))
	defer cancel()
	events := 0
	for answer := range b.Client(t).Watch(watch, b.key(t, "members/"), clientv3.WithPrefix(), clientv3.WithRev(before.Header.Revision+1)) {
		for _, e := range answer.Events {
			if events++; e.Kv.ModRevision != before.Header.Revision+1 {
				t.Errorf("%s of %s at revision %d, want both at %d", e.Type, e.Kv.Key, e.Kv.ModRevision, before.Header.Revision+1)
			}
		}
		if events >= 2 {
			break
		}
	}
	if events != 2 {
		t.Errorf("%d changes, want 2", events)
	}
	// Again, as after a lost answer; and from an owner to itself.
	for _, r := range []func() error{
		func() error { return b.engine.Own(etcdtest.WaitContext(t), r) },
		func() error { return b.engine.Own(etcdtest.WaitContext(t), ownD(id, r.Owner, r.Owner)) },
	} {
		if err := r(); err != nil {
			t.Error(err)
		}
		if got, ok, err := b.engine.Cluster.Records(id).Get(etcdtest.WaitContext(t), "config-of-d"); err != nil || !ok || got.ID() != written.ID() {
			t.Errorf("on record is %+v, %v, %v", got, ok, err)
		}
	}
}
