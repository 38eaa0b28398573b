// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// Values of a record's key that this version does not write.
var malformedRecords = []struct {
	name, value string
	newer       bool
	// claims is true if it may claim member 2a, speaks if it describes d.
	claims, speaks bool
}{
	{"nothing", ``, false, true, false},
	{"no JSON", "\x1b[31mhands off\n", false, true, false},
	{"null", `null`, false, true, false},
	{"an array", `[]`, false, true, false},
	{"no format", `{"owner":"o","name":"d","peer_urls":["http://x:1"],"member_id":"2a","state":"announced"}`, false, true, true},
	{"a newer version's", `{"format":2,"owner":"o","name":"d","peer_urls":["http://x:1"],"member_id":"2a","state":"moved","new":true}`, true, true, true},
	{"a newer version's, of another member", `{"format":2,"owner":"o","name":"e","peer_urls":["http://y:1"],"member_id":"2b","state":"announced"}`, true, false, false},
	{"an unknown field", `{"format":1,"owner":"o","name":"d","peer_urls":["http://x:1"],"state":"intended","new":true}`, false, false, true},
	{"an unknown state", `{"format":1,"owner":"o","name":"d","peer_urls":["http://x:1"],"state":"moved"}`, false, false, true},
	{"another owner's", `{"format":1,"owner":"p","name":"d","peer_urls":["http://x:1"],"state":"intended"}`, false, false, true},
	{"announced without an ID", `{"format":1,"owner":"o","name":"d","peer_urls":["http://x:1"],"state":"announced"}`, false, false, true},
	{"an ID that is none", `{"format":1,"owner":"o","name":"d","peer_urls":["http://x:1"],"member_id":"x","state":"announced"}`, false, true, true},
	{"intended with an ID", `{"format":1,"owner":"o","name":"d","peer_urls":["http://x:1"],"member_id":"2a","state":"intended"}`, false, true, true},
	{"two objects", `{"format":1,"owner":"o","name":"d","peer_urls":["http://x:1"],"state":"intended"}{}`, false, true, false},
	{"a name that cannot be shown", `{"format":1,"owner":"o","name":"d\u001b[31m","peer_urls":["http://x:1"],"state":"intended"}`, false, false, false},
	{"a peer URL that is none", `{"format":1,"owner":"o","name":"d","peer_urls":["http://$(reboot):1"],"state":"intended"}`, false, false, false},
	{"a peer URL of two lines", `{"format":1,"owner":"o","name":"d","peer_urls":["http://x:1\nx"],"state":"intended"}`, false, false, false},
	{"nine peer URLs", `{"format":1,"owner":"o","name":"d","peer_urls":["http://x:1"` + strings.Repeat(`,"http://x:1"`, 8) + `],"state":"intended"}`, false, false, true},
	{"a long one", `{"format":1,"owner":"o","name":"` + strings.Repeat("d", 5000) + `","peer_urls":["http://x:1"],"state":"intended"}`, false, false, false},
}

// A record that this version cannot have written is an error that names the
// key, for its owner and for every owner it may concern. It is neither skipped
// nor taken for an unreachable cluster. It is not overwritten, and it can be
// deleted.
func TestMalformedRecords(t *testing.T) {
	t.Parallel()
	b := etcdtest.Start(t, 1, etcdtest.Options{})
	c := clientFor(t, settings(append(b.Endpoints(), "http://127.0.0.1:1")...)) // each answer is requested more than once
	id := observe(t, c).ClusterID
	records, key := c.Records(id), membership.MetadataPrefix+id.String()+"/members/o"
	ctx := t.Context()
	for _, test := range malformedRecords {
		if _, err := b.Client(t).Put(ctx, key, test.value); err != nil {
			t.Fatal(err)
		}
		_, ok, err := records.Get(ctx, "o")
		var bad *Malformed
		if !errors.As(err, &bad) || ok || bad.Key != key || bad.Newer != test.newer || bad.Kind != recordKind.what {
			t.Fatalf("%s: %v, %v", test.name, ok, err)
		}
		if errors.As(err, new(*connection.Unreachable)) || errors.Is(err, ErrAmbiguous) {
			t.Errorf("%s: taken for a cluster that does not answer: %v", test.name, err)
		}
		if text := bad.Error(); len(text) > 800 || strings.ContainsAny(text, "\x1b\n") {
			t.Errorf("%s: shown raw: %q", test.name, text)
		}
		if claims, speaks := bad.MayClaim(0x2a), bad.SpeaksOf("d", []string{"http://x:1"}); claims != test.claims || speaks != test.speaks {
			t.Errorf("%s: may claim %v, speaks %v", test.name, claims, speaks)
		}
		all, unread, err := records.List(ctx)
		if err != nil || len(all) != 0 || len(unread) != 1 || unread[0].Key != key {
			t.Errorf("%s: listed as %v, %v, %v", test.name, all, unread, err)
		}
		if _, err := Owners(ctx, records, 0x2a); errors.As(err, &bad) != test.claims {
			t.Errorf("%s: who owns the member: %v", test.name, err)
		}
		if _, err := records.Put(ctx, Record{Owner: "o", Name: "d", State: Intended}); !errors.Is(err, ErrRecordChanged) {
			t.Errorf("%s: overwritten: %v", test.name, err)
		}
		if err := records.Delete(ctx, "o"); err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
		if _, ok, err := records.Get(ctx, "o"); ok || err != nil {
			t.Errorf("%s: after the deletion %v, %v", test.name, ok, err)
		}
	}
}

// Written records of every kind can be read; malformed records are not written.
func TestNoMalformedRecordIsWritten(t *testing.T) {
	urls, since := []string{"http://x:1"}, time.Date(2026, 11, 25, 1, 2, 3, 4, time.UTC)
	again(t, recordKind, 3, []Record{
		{Owner: "1", Name: "dé", PeerURLs: urls, State: Intended, Awaited: true},
		{Owner: "2", Name: "d", PeerURLs: urls, State: Announced, MemberID: "2a"},
		{Owner: "3", Name: "d", State: Removed, MemberID: "2a"},
		{Owner: "o", Name: "d"},
		{Owner: "o", Name: "d", State: Announced},
		{Owner: "o", Name: "d", State: Intended, MemberID: "2a"},
		{Owner: "o", Name: "d\n", State: Intended},
	})
	again(t, turnKind, 1, []membership.Turn{{Name: "b", Voters: 3, By: "bob\x1b@ops1", Since: since}, {Name: "\n", Voters: 3}, {Name: "b"}})
	again(t, urlChangeKind, 1, []membership.URLChange{{ID: 7, PeerURLs: urls, By: "bob\x1b@ops1", Since: since}, {ID: 7, PeerURLs: []string{"x"}}, {PeerURLs: urls}})
	again(t, objectKind, 1, []ObjectRecord{{Object: "a", By: "bob\x1b@ops1", Since: since}, {Object: "a\nb"}})
}

// again stores and reads records of a kind. Only the first n can be read.
func again[T any](t *testing.T, k kind[T], n int, all []T) {
	t.Helper()
	for i, r := range all {
		name, stored := k.form(r)
		value, err := json.Marshal(stored)
		if err != nil {
			t.Fatal(err)
		}
		read, err := k.read(name, &mvccpb.KeyValue{Key: []byte(name), Value: value})
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
		_, err := store[T]{kind: k}.parse(&mvccpb.KeyValue{Key: []byte("2a"), Value: []byte(value)})
		var malformed *Malformed
		if is := errors.As(err, &malformed); is == (value == good) || is && (malformed.Key != "2a" || malformed.Kind != k.what || malformed.Newer != (value == newer)) {
			t.Errorf("%s: %s: %v", k.what, value, err)
		}
	}
}

func FuzzMalformed(f *testing.F) {
	for _, r := range malformedRecords {
		f.Add([]byte(r.value))
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		bad := malformed(recordKind.what, "/k", value, errors.New("x"))
		if strings.ContainsFunc(bad.Error(), func(r rune) bool { return r < ' ' || r > '~' && r != '…' }) || len(bad.Error()) > 2000 {
			t.Errorf("shown raw: %q", bad.Error())
		}
	})
}
