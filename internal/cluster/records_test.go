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

	"github.com/cockroachdb/datadriven"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/must"
)

// TestMalformedRecords runs the stanzas of testdata/records.txt. A record that this version cannot
// have written is an error that names the key, for its owner and for every owner it may concern.
// It is neither skipped nor taken for an unreachable cluster. It is not overwritten, and it can be
// deleted.
func TestMalformedRecords(t *testing.T) {
	simulate(t, func(w *world) {
		c := w.client(at("a", "nobody")) // each answer is requested more than once
		id, ctx := observe(w.T, c).ClusterID, w.Context()
		records, key := c.Records(id), membership.MetadataPrefix+id.String()+"/members/o"
		datadriven.RunTest(w.T, "testdata/records.txt", func(t *testing.T, d *datadriven.TestData) string {
			value := strings.NewReplacer("ESC", "\x1b", "LONG", strings.Repeat("d", 5000)).Replace(d.Input)
			_, err := w.etcd().Put(ctx, key, value)
			must.Succeed(t, err)
			_, ok, err := records.Get(ctx, "o")
			var bad *Malformed
			if !errors.As(err, &bad) || ok || bad.Key != key || bad.Kind != recordKind.what {
				t.Fatalf("%s: %v, %v", d.Pos, ok, err)
			}
			if errors.As(err, new(*connection.Unreachable)) || errors.Is(err, ErrAmbiguous) {
				t.Errorf("%s: taken for a cluster that does not answer: %v", d.Pos, err)
			}
			if text := bad.Error(); len(text) > 800 || strings.ContainsAny(text, "\x1b\n") {
				t.Errorf("%s: shown raw: %q", d.Pos, text)
			}
			said := fmt.Sprintf("newer=%t claims=%t speaks=%t", bad.Newer, bad.MayClaim(0x2a), bad.SpeaksOf("d", []string{"http://x:1"}))
			all, unread, err := records.List(ctx)
			if err != nil || len(all) != 0 || len(unread) != 1 || unread[0].Key != key {
				t.Errorf("%s: listed as %v, %v, %v", d.Pos, all, unread, err)
			}
			if _, err := Owners(ctx, records, 0x2a); errors.As(err, new(*Malformed)) != bad.MayClaim(0x2a) {
				t.Errorf("%s: who owns the member: %v", d.Pos, err)
			}
			if _, err := records.Put(ctx, Record{Owner: "o", Name: "d", State: Intended}); !errors.Is(err, ErrRecordChanged) {
				t.Errorf("%s: overwritten: %v", d.Pos, err)
			}
			err = records.Delete(ctx, "o")
			if _, ok, err2 := records.Get(ctx, "o"); ok || errors.Join(err, err2) != nil {
				t.Errorf("%s: after the deletion %v, %v, %v", d.Pos, ok, err, err2)
			}
			return said
		})
	})
}

// Written records of every kind can be read; malformed records are not written.
func TestNoMalformedRecordIsWritten(t *testing.T) {
	urls, since, longest := []string{"http://x:1"}, time.Date(2026, 11, 25, 1, 2, 3, 4, time.UTC), strings.Repeat("n", 253)
	again(t, recordKind, 4, []Record{
		{Owner: "learner:" + longest, Name: longest, PeerURLs: urls, State: Intended},
		{Owner: "1", Name: "dé", PeerURLs: urls, State: Intended, Awaited: true},
		{Owner: "2", Name: "d", PeerURLs: urls, State: Added, MemberID: "2a"},
		{Owner: "3", Name: "d", State: Removed, MemberID: "2a"},
		{Owner: "o", Name: "d"},
		{Owner: "o", Name: "d", State: Added},
		{Owner: "o", Name: "d", State: Intended, MemberID: "2a"},
		{Owner: "o", Name: "d\n", State: Intended},
		{Owner: "learner:" + longest, Name: longest + "n", PeerURLs: urls, State: Intended},
	})
	again(t, turnKind, 1, []membership.Turn{{Name: "b", Voters: 3, By: "bob\x1b@ops1", Since: since}, {Name: "\n", Voters: 3}, {Name: "b"}})
	again(t, urlChangeKind, 1, []membership.URLChange{{ID: 7, PeerURLs: urls, By: "bob\x1b@ops1", Since: since}, {ID: 7, PeerURLs: []string{"x"}}, {PeerURLs: urls}})
	again(t, objectKind, 1, []ObjectRecord{{Object: "a", By: "bob\x1b@ops1", Since: since}, {Object: "a\nb"}})
}

// again stores and reads records of a kind. Only the first n can be read.
func again[T any](t *testing.T, k kind[T], n int, all []T) {
	t.Helper()
	for i, r := range all {
		value := k.encode(r)
		name := k.name(r)
		read, err := k.decode(name, &mvccpb.KeyValue{Key: []byte(name), Value: []byte(value)})
		if (err == nil) != (i < n) || strings.Contains(fmt.Sprintf("%+v", read), "\x1b") {
			t.Errorf("%s: %+v is stored as %s and read as %+v, %v", k.what, r, value, read, err)
		}
	}
}

// What this version does not write is an error that says whether a newer version did.
func TestMalformedOfEveryKind(t *testing.T) {
	const rest = `"since":"2026-11-22T01:02:03Z","by":"x"`
	malformedOf(t, turnKind, `{"format":1,"voters":3,`+rest+`}`,
		`{"format":1,"voters":0,`+rest+`}`, `{"format":1,"voters":3,`+rest+`,"more":1}`, `{"format":1,"voters":3,"since":"2026-11-22T01:02:03Z","by":"\u0007"}`)
	malformedOf(t, urlChangeKind, `{"format":1,"peer_urls":["http://x:1"],`+rest+`}`,
		`{"format":1,"peer_urls":["x"],`+rest+`}`, `{"format":1,"peer_urls":[],"start":"\u0007",`+rest+`}`)
	malformedOf(t, objectKind, `{"format":1,"object":"a",`+rest+`}`, `{"format":1,"object":"a\nb",`+rest+`}`)
}

func malformedOf[T any](t *testing.T, k kind[T], good string, bad ...string) {
	t.Helper()
	newer := strings.Replace(good, `"format":1`, `"format":2`, 1)
	for _, value := range append(bad, good, newer, "", "x", "{}") {
		_, err := Store[T]{kind: k}.parse(&mvccpb.KeyValue{Key: []byte("2a"), Value: []byte(value)})
		var malformed *Malformed
		if is := errors.As(err, &malformed); is == (value == good) || is && (malformed.Key != "2a" || malformed.Kind != k.what || malformed.Newer != (value == newer)) {
			t.Errorf("%s: %s: %v", k.what, value, err)
		}
	}
}

// A record is written only over what was read, or in place of another owner's: all or nothing.
func TestRecords(t *testing.T) {
	simulate(t, func(w *world) {
		c, ctx := w.client(at("a", "b")), w.Context()
		records := c.Records(observe(w.T, c).ClusterID)
		put := func(what string, want error, r Record, over ...Record) Record {
			w.Helper()
			r, err := records.Put(ctx, r, over...)
			if !errors.Is(err, want) {
				w.Errorf("%s: %v", what, err)
			}
			return r
		}
		r := put("new", nil, Record{Owner: "a", Name: "a", PeerURLs: []string{"http://x:1"}, State: Intended})
		put("overwriting unread", ErrRecordChanged, Record{Owner: "a", Name: "other", State: Intended})
		r.State, r.MemberID = Added, "2a"
		put("overwriting", nil, r)
		got, ok, err := records.Get(ctx, "a")
		if owners, err2 := Owners(ctx, records, 0x2a); errors.Join(err, err2) != nil || !ok || got.State != Added || !slices.Equal(owners, []string{"a"}) {
			w.Errorf("read back %+v, %v; owners %v, %v", got, err, owners, err2)
		}
		stale, next := got, Record{Owner: "b", Name: "b", State: Added, MemberID: "2b"}
		stale.revision--
		put("in place of a record that has changed", ErrRecordChanged, next, stale)
		put("in place of another", nil, next, got)
		if all, _, err := records.List(ctx); err != nil || len(all) != 1 || all[0].Owner != "b" {
			w.Errorf("on record are %+v, %v", all, err)
		}
	})
}

// Every key contains the ID of its cluster. The keys of another cluster, as after a restore
// from a backup, do not count. An unreadable record does not hide the others. Without an ID of
// the cluster no key is read or written.
func TestMetadataOfOneCluster(t *testing.T) {
	simulate(t, func(w *world) {
		c, ctx := w.client(at("a")), w.Context()
		id := observe(w.T, c).ClusterID
		var want []string
		for _, of := range []membership.ClusterID{id, id + 1} {
			_, err1 := c.Records(of).Put(ctx, Record{Owner: "o", Name: "d of " + of.String(), State: Intended})
			_, err2 := c.Turns(of).Put(ctx, membership.Turn{Name: "d", Voters: 3, Since: time.Now(), By: of.String()})
			_, err3 := c.ObjectRecords(of).Put(ctx, ObjectRecord{Object: "before"})
			_, err4 := c.ObjectRecords(of).Put(ctx, ObjectRecord{Object: of.String()}) // whatever is there
			must.Succeed(w, errors.Join(err1, err2, err3, err4))
			prefix := fmt.Sprintf("%s%x/", membership.MetadataPrefix, uint64(of))
			want = append(want, prefix+"cluster", prefix+"members/o", prefix+"turns/d")
		}
		for name, call := range map[string]func() error{
			"Get":    func() error { _, _, err := c.Records(0).Get(ctx, "o"); return err },
			"Put":    func() error { _, err := c.Records(0).Put(ctx, Record{Owner: "o", State: Intended}); return err },
			"Owners": func() error { _, err := Owners(ctx, c.Records(0), 1); return err },
			"Delete": func() error { return c.Records(0).Delete(ctx, "o") },
		} {
			if err := call(); !errors.Is(err, membership.ErrNoClusterID) {
				w.Errorf("%s: %v, want %v", name, err, membership.ErrNoClusterID)
			}
		}
		got, err := w.etcd().Get(ctx, "", clientv3.WithPrefix(), clientv3.WithKeysOnly())
		must.Succeed(w, err)
		var keys []string
		for _, kv := range got.Kvs {
			keys = append(keys, string(kv.Key))
		}
		if slices.Sort(want); !slices.Equal(keys, want) {
			w.Errorf("the keys are %q, want %q", keys, want)
		}
		if all, unread, err := c.Records(id).List(ctx); err != nil || len(all) != 1 || len(unread) != 0 || all[0].Name != "d of "+id.String() {
			w.Errorf("on record are %+v, %v, %v", all, unread, err)
		}
		if r, ok, err := c.ObjectRecords(id).Get(ctx, ""); err != nil || !ok || r.Object != id.String() {
			w.Errorf("%+v, %v", r, err)
		}
		_, err = w.etcd().Put(ctx, want[2]+"x", "x")
		must.Succeed(w, err)
		if all, err := All(ctx, c.Turns(id)); len(all) != 1 || all[0].By != id.String() || !errors.As(err, new(*Malformed)) {
			w.Errorf("the turns are %+v, %v", all, err)
		}
	})
}
