// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package cluster

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// Every key contains the ID of its cluster. The keys of another cluster, as
// after a restore from a backup, do not count.
func TestMetadataOfOneCluster(t *testing.T) {
	t.Parallel()
	b := etcdtest.Start(t, 1, etcdtest.Options{})
	c := clientFor(t, settings(b.Endpoints()...))
	ctx := t.Context()
	id := observe(t, c).ClusterID
	before := id + 1
	for _, of := range []membership.ClusterID{id, before} {
		_, err1 := c.Records(of).Put(ctx, Record{Owner: "o", Name: "d of " + of.String(), State: Intended})
		_, err2 := c.Turns(of).Put(ctx, membership.Turn{Name: "d", Voters: 3, Since: time.Now(), By: of.String()})
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
	}
	got, err := b.Client(t).Get(ctx, membership.MetadataPrefix, clientv3.WithPrefix(), clientv3.WithKeysOnly())
	if err != nil {
		t.Fatal(err)
	}
	var keys, want []string
	for _, kv := range got.Kvs {
		keys = append(keys, string(kv.Key))
	}
	for _, of := range []membership.ClusterID{id, before} {
		want = append(want, fmt.Sprintf("%s%x/members/o", membership.MetadataPrefix, uint64(of)), fmt.Sprintf("%s%x/turns/d", membership.MetadataPrefix, uint64(of)))
	}
	slices.Sort(want)
	if !slices.Equal(keys, want) {
		t.Errorf("the keys are %q, want %q", keys, want)
	}
	if r, ok, err := c.Records(id).Get(ctx, "o"); err != nil || !ok || r.Name != "d of "+id.String() {
		t.Errorf("read %+v, %v, %v", r, ok, err)
	}
	if all, unread, err := c.Records(id).List(ctx); err != nil || len(all) != 1 || len(unread) != 0 {
		t.Errorf("on record are %+v, %v", all, err)
	}
	if all, err := All(ctx, c.Turns(id)); err != nil || len(all) != 1 || all[0].By != id.String() {
		t.Errorf("the turns are %+v, %v", all, err)
	}
	// A record without a name, which is written whatever is there.
	if r, ok, err := c.ObjectRecords(id).Get(ctx, ""); err != nil || ok || r != (ObjectRecord{}) {
		t.Errorf("at first: %+v, %v", r, err)
	}
	for _, object := range []string{"cluster-a", "cluster-b"} {
		if _, err := c.ObjectRecords(id).Put(ctx, ObjectRecord{Object: object}); err != nil {
			t.Error(err)
		}
		if r, ok, err := c.ObjectRecords(id).Get(ctx, ""); err != nil || !ok || r.Object != object {
			t.Errorf("%s: %+v, %v", object, r, err)
		}
	}
	// An unreadable record does not hide the others.
	if _, err := b.Client(t).Put(ctx, fmt.Sprintf("%s%x/turns/a", membership.MetadataPrefix, uint64(id)), "x"); err != nil {
		t.Fatal(err)
	}
	if all, err := All(ctx, c.Turns(id)); len(all) != 1 || !errors.As(err, new(*Malformed)) {
		t.Errorf("the turns are %+v, %v", all, err)
	}
	if err := c.Turns(id).Delete(ctx, "a"); err != nil {
		t.Error(err)
	}
}

// No key is read or written if the cluster's ID is not known.
func TestMetadataOfNoCluster(t *testing.T) {
	t.Parallel()
	b := etcdtest.Start(t, 1, etcdtest.Options{})
	c := clientFor(t, settings(b.Endpoints()...))
	ctx := t.Context()
	for name, call := range map[string]func() error{
		"Records.Get":    func() error { _, _, err := c.Records(0).Get(ctx, "o"); return err },
		"Records.Put":    func() error { _, err := c.Records(0).Put(ctx, Record{Owner: "o", State: Intended}); return err },
		"Records.List":   func() error { _, _, err := c.Records(0).List(ctx); return err },
		"Records.Owners": func() error { _, err := Owners(ctx, c.Records(0), 1); return err },
		"Records.Delete": func() error { return c.Records(0).Delete(ctx, "o") },
		"Turns.List":     func() error { _, _, err := c.Turns(0).List(ctx); return err },
		"Turns.Put":      func() error { _, err := c.Turns(0).Put(ctx, membership.Turn{Name: "d"}); return err },
		"Turns.Delete":   func() error { return c.Turns(0).Delete(ctx, "d") },
	} {
		if err := call(); !errors.Is(err, membership.ErrNoClusterID) {
			t.Errorf("%s: %v, want %v", name, err, membership.ErrNoClusterID)
		}
	}
	if got, err := b.Client(t).Get(ctx, "", clientv3.WithPrefix(), clientv3.WithKeysOnly()); err != nil || len(got.Kvs) != 0 {
		t.Errorf("the keys are %v, %v", got.Kvs, err)
	}
}

// The longest possible name is valid in a record, whatever the prefix of its owner.
func TestRecordOfTheLongestName(t *testing.T) {
	name := strings.Repeat("n", 253)
	r := Record{Owner: "learner:" + name, Name: name, PeerURLs: []string{"http://x:1"}, State: Intended}
	if err := r.check(r.Owner); err != nil {
		t.Error(err)
	}
	r.Name += "n"
	if r.check(r.Owner) == nil {
		t.Error("a longer name passes")
	}
}
