// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package claim

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/clock"
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

func (f *foreign) Get(context.Context, string) (Entry, bool, error) { return f.entry(), true, nil }

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
			_, err := (&Lock{Store: store, TTL: LockTTL, Clock: clock.System{}}).Acquire(ctx, 1, "test", nil)
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
		if got := (&BusyError{Holder: HolderOf(e), Entry: e, Waited: time.Second}).Error(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}
