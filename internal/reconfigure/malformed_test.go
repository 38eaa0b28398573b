// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package reconfigure_test

import (
	"errors"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
)

// put writes a value that this version would not write.
func (b *bench) put(t *testing.T, name, value string) (key string) {
	t.Helper()
	key = b.key(t, name)
	if _, err := b.Client(t).Put(etcdtest.WaitContext(t), key, value); err != nil {
		t.Fatal(err)
	}
	return key
}

// mustBeAt fails the test unless the error quotes the value of the key and came
// at once.
func mustBeAt(t *testing.T, what, key string, paused *pauses, err error) {
	t.Helper()
	var bad *cluster.Malformed
	if !errors.As(err, &bad) || bad.Key != key {
		t.Errorf("%s: %v, want what stands at %s", what, err, key)
	}
	if n := paused.since(); n > few {
		t.Errorf("%s: only after %d pauses", what, n)
	}
}

const newer = `{"format":2,"owner":"name:d","name":"d","peer_urls":["http://127.0.0.1:1"],"state":"moved"}`

// An unreadable record ends a join and the backstop at once, and stays. After
// the key is deleted they succeed.
func TestARecordThatCannotBeRead(t *testing.T) {
	t.Parallel()
	b := start(t, 3, etcdtest.Options{})
	d := b.NewJoiner(t, "d")
	key := b.put(t, "members/name:d", newer)

	paused := countPauses(b.engine)
	_, err := b.engine.Join(etcdtest.WaitContext(t), request(d, reconfigure.Announced))
	mustBeAt(t, "join", key, paused, err)
	_ = paused.since()
	_, err = b.engine.Withdraw(etcdtest.WaitContext(t), reconfigure.WithdrawRequest{Owner: "name:d", Name: "d"})
	mustBeAt(t, "backstop", key, paused, err)
	_ = paused.since()
	err = b.engine.Own(etcdtest.WaitContext(t), reconfigure.OwnRequest{Was: "x", Owner: "name:d", Cluster: b.id(t), ID: 0x2a, Name: "d", PeerURLs: []string{d.PeerURL()}})
	mustBeAt(t, "own", key, paused, err)
	if got, err := b.Client(t).Get(etcdtest.WaitContext(t), key); err != nil || got.Count != 1 || string(got.Kvs[0].Value) != newer {
		t.Errorf("the record is %v, %v", got, err)
	}
	if m := b.members(t); len(m) != 3 {
		t.Errorf("%d members, want 3", len(m))
	}

	if _, err := b.Client(t).Delete(etcdtest.WaitContext(t), key); err != nil {
		t.Fatal(err)
	}
	if _, err := b.engine.Join(etcdtest.WaitContext(t), request(d, reconfigure.Announced)); err != nil {
		t.Error(err)
	}
}

// An unreadable record of another owner stops only the changes that it may
// concern.
func TestAnotherOwnersRecordThatCannotBeRead(t *testing.T) {
	t.Parallel()
	b := start(t, 1, etcdtest.Options{})
	d := b.NewJoiner(t, "d")
	about := b.put(t, "members/other", `{"format":2,"owner":"other","name":"d","peer_urls":["`+d.PeerURL()+`"],"state":"moved"}`)
	paused := countPauses(b.engine)
	_, err := b.engine.Join(etcdtest.WaitContext(t), request(d, reconfigure.Announced))
	mustBeAt(t, "a record about the same member", about, paused, err)

	b.put(t, "members/other", `{"format":2,"owner":"other","name":"e","peer_urls":["http://127.0.0.1:1"],"state":"moved"}`)
	joined, err := b.engine.Join(etcdtest.WaitContext(t), request(d, reconfigure.Announced))
	if err != nil {
		t.Fatalf("a record about another member: %v", err)
	}

	// A learner that another owner may have adopted is not removed.
	r := reconfigure.LeaveRequest{Owner: "name:d", ID: joined.Member.ID, Cluster: joined.Cluster, Name: "d", PeerURLs: []string{d.PeerURL()}, Shared: true}
	taken := b.put(t, "members/other", `{"format":2,"member_id":"`+joined.Member.ID.String()+`"}`)
	_ = paused.since()
	_, err = b.engine.Leave(etcdtest.WaitContext(t), r)
	mustBeAt(t, "a record that may claim the learner", taken, paused, err)
	if b.learner(t) != joined.Member.ID {
		t.Error("the learner is gone")
	}
	b.put(t, "members/other", `{"format":2,"member_id":"2a"}`)
	if _, err := b.engine.Leave(etcdtest.WaitContext(t), r); err != nil {
		t.Errorf("a record that claims another: %v", err)
	}
}

// An unreadable turn stops replacements at once, but no removals.
func TestATurnThatCannotBeRead(t *testing.T) {
	t.Parallel()
	b := start(t, 3, etcdtest.Options{Names: []string{"a", "b", "c"}})
	key := b.put(t, "turns/z", `{"format":2}`)
	paused := countPauses(b.engine)
	_, err := b.engine.Leave(etcdtest.WaitContext(t), b.replace(t, "a"))
	mustBeAt(t, "a replacement", key, paused, err)
	if _, err := b.engine.Leave(etcdtest.WaitContext(t), b.leaveRequest(t, "b")); err != nil {
		t.Error(err)
	}
}
