// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package claim

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/clock"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
)

// foreign is a store in which another process holds the key; at returns its entry.
// No server can be brought into the state of a key that outlives its lease.
type foreign struct {
	Store
	begin time.Time
	at    func(time.Duration) Entry
}

func (f *foreign) entry() Entry { return f.at(time.Since(f.begin)) }

func (f *foreign) Create(context.Context, string, string, time.Duration) (Entry, error) {
	return Entry{}, &HeldError{f.entry()}
}

func (f *foreign) Get(context.Context, string) (*Entry, error) { return new(f.entry()), nil }

func TestLockThatDoesNotExpire(t *testing.T) {
	t.Parallel()
	const limit = time.Minute
	for name, test := range map[string]struct {
		at func(time.Duration) Entry
		// least and most limit the wait; never is true if it ends with ctx.
		least, most time.Duration
		never       bool
	}{
		"no lease": {at: func(time.Duration) Entry { return Entry{Value: "x", Forever: true} }},
		"a lease":  {at: func(time.Duration) Entry { return Entry{Value: "x", Left: time.Second} }, least: limit, most: limit + 2*maxPoll, never: true},
		"no more lease": {at: func(d time.Duration) Entry { return Entry{Value: "x", Forever: d > 10*time.Second} },
			least: 10 * time.Second, most: 10*time.Second + 2*maxPoll},
		"a lease that is gone": {at: func(time.Duration) Entry { return Entry{Value: "x", orphan: true} },
			least: orphanTimeout, most: orphanTimeout + 3*maxPoll},
		"a lease that is gone for a moment": {at: func(d time.Duration) Entry { return Entry{Value: "x", orphan: d < orphanTimeout/2, Left: time.Second} },
			least: limit, most: limit + 2*maxPoll, never: true},
		"one orphan after the other": {at: func(d time.Duration) Entry { return Entry{Value: "x", orphan: int(d/time.Second)%4 != 0} },
			least: limit, most: limit + 2*maxPoll, never: true},
	} {
		synctest.Test(t, func(t *testing.T) {
			store := &foreign{begin: time.Now(), at: test.at}
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			_, err := (&Lock{Store: store, Clock: clock.System{}}).Acquire(ctx, 1, "test", func(Holder) {})
			var busy *BusyError
			if !errors.As(err, &busy) || busy.Entry.Forever == test.never || errors.Is(err, ErrForever) == test.never {
				t.Errorf("%s: %v", name, err)
			}
			if took := time.Since(store.begin); took < test.least || took > test.most {
				t.Errorf("%s: it took %v, want %v to %v", name, took, test.least, test.most)
			}
		})
	}
}

// A value from another program is not displayed verbatim.
func TestHolderOf(t *testing.T) {
	t.Parallel()
	for value, shown := range map[string]string{
		`{"who":"bob@ops2","pid":12,"run":"x","since":"2026-11-21T01:02:03Z","doing":"add member e"}`: "bob@ops2 (process 12, since 2026-11-21T01:02:03Z, to add member e)",
		`{"who":"bob\u001b[31m"}`:      `"{\"who\":\"bob\\u001b[31m\"}"`,
		"hands off\x1b":                `"hands off\x1b"`,
		"hands\noff":                   "(9 characters, not shown)",
		strings.Repeat("x", 1000):      "(1000 characters, not shown)",
		`{"who":"b","doing":"\u0007"}`: `"{\"who\":\"b\",\"doing\":\"\\u0007\"}"`,
	} {
		e := Entry{Key: "/k", Value: value}
		want := "/k was held by " + shown + " for the 1s that it was waited for"
		if got := (&BusyError{Holder: holderOf(e), Entry: e, Waited: time.Second}).Error(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// forgetful is a cluster in which every lease is gone, whenever it is asked.
type forgetful struct{ asked *int }

func (f forgetful) Anywhere(context.Context, func(context.Context, *clientv3.Client) error) error {
	if *f.asked++; *f.asked > 1000 {
		panic("it is asked for ever")
	}
	return rpctypes.ErrLeaseNotFound
}

// If a server grants leases and forgets them, Create pauses between the
// attempts and gives up after a few.
func TestCreateGivesUp(t *testing.T) {
	t.Parallel()
	asked := 0
	begin := time.Now()
	_, err := NewV3(forgetful{&asked}, connection.Settings{}, nil).Create(t.Context(), "k", "v", time.Second)
	if !errors.Is(err, rpctypes.ErrLeaseNotFound) || time.Since(begin) < createPause {
		t.Errorf("%v after %d requests in %v", err, asked, time.Since(begin))
	}
	ctx, cancel := context.WithTimeout(t.Context(), createPause/2)
	defer cancel()
	asked = 0
	if _, err := NewV3(forgetful{&asked}, connection.Settings{}, nil).Create(ctx, "k", "v", time.Second); !errors.Is(err, context.DeadlineExceeded) || asked > 2 {
		t.Errorf("%v after %d requests", err, asked)
	}
}

// If a server of the v2 API answers endlessly, or with less than a node, the
// result is an error.
func TestV2AnswersAreBounded(t *testing.T) {
	t.Parallel()
	for what, body := range map[string]string{
		"no node":      `{}`,
		"a null node":  `{"action":"get","node":null}`,
		"a long value": `{"action":"get","node":{"key":"/a","value":"` + strings.Repeat("a", 20<<20) + `"}}`,
		"many nodes":   `{"action":"get","node":{"key":"/a","dir":true,"nodes":[` + strings.Repeat(`{"key":"/a/b"},`, connection.MaxKeys) + `{"key":"/a/c"}]}}`,
	} {
		t.Run(what, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("X-Etcd-Index", "7")
				_, _ = w.Write([]byte(body))
			}))
			defer server.Close()
			s := NewV2(connection.Settings{Endpoints: []string{server.URL}}, &connection.Pool{})
			if _, _, err := s.List(t.Context(), "/a"); err == nil {
				t.Error("listed")
			}
			if _, err := s.Get(t.Context(), "/a"); err == nil {
				t.Error("read")
			}
		})
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"action":"get","node":{"key":"/a","dir":true,"nodes":[null,{"key":"/a/b","value":"x"}]}}`))
	}))
	defer server.Close()
	if entries, _, err := NewV2(connection.Settings{Endpoints: []string{server.URL}}, &connection.Pool{}).List(t.Context(), "/a"); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
}

// While an event is translated, which may ask a server, the other watches go on.
// An event that another watch has delivered in the meantime is not delivered again.
func TestRelayDoesNotWaitForAServer(t *testing.T) {
	t.Parallel()
	var got []string
	r := newRelay(4, func(e Event) { got = append(got, e.Name) })
	named := func(name string) func() Event { return func() Event { return Event{Name: name} } }
	r.pass(5, "a", func() Event {
		if !r.mu.TryLock() {
			t.Error("the other watches wait")
			return Event{Name: "a"}
		}
		r.mu.Unlock()
		r.pass(5, "a", named("a"))
		r.pass(5, "b", named("b"))
		r.pass(6, "c", named("c"))
		return Event{Name: "a"}
	})
	r.pass(5, "b", named("b"))
	r.pass(7, "d", named("d"))
	if want := []string{"a", "b", "c", "d"}; !slices.Equal(got, want) || r.from() != 7 {
		t.Errorf("events: %q, next %d; want %q", got, r.from(), want)
	}
}

// Whatever the value of a lock, the text about its holder can be displayed: it
// is one line without control characters.
func FuzzHolderOf(f *testing.F) {
	f.Add(`{"who":"alice@ops1","pid":12,"run":"x","since":"2026-11-21T01:02:03Z","doing":"add member e"}`)
	f.Add(`{"who":"alice\u001b[2J@ops1","doing":"add member e"}`)
	f.Add(`{"who":"alice@ops1","doing":"add\nmember e"}`)
	f.Add("{\"who\":\"alice\u202e@ops1\"}")
	f.Add(`{"pid":-1e999}`)
	f.Add("a UUID of somebody's own")
	f.Fuzz(func(t *testing.T, value string) {
		text := holderOf(Entry{Value: value}).String()
		if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Fatalf("holderOf(%q) is %q", value, text)
		}
	})
}
