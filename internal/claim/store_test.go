// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package claim_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/claim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// If two processes claim the same name, one gets it; the other learns the
// holder's value and the remaining time to live.
func TestTwoClaimantsOfOneName(t *testing.T) {
	everyAPI(t, func(t *testing.T, b bench) {
		s := b.store(t)
		first := take(t, s, claim.Options{Value: "first", TTL: 30 * time.Second})
		_, err := claim.Start(etcdtest.WaitContext(t), b.store(t), realTime{}, claim.Options{Key: key, Value: "second", TTL: 30 * time.Second})
		var held *claim.HeldError
		if !errors.As(err, &held) {
			t.Fatalf("the second claim: %v, want held", err)
		}
		if e := held.Entry; e.Value != "first" || e.Name() != "web1" || e.Forever || e.Left <= 0 || e.Left > 30*time.Second {
			t.Errorf("held by %+v", e)
		}
		if want := fmt.Sprintf(`/running/web1 is held by "first" for another %s unless it is renewed`, held.Entry.Left); err.Error() != want {
			t.Errorf("got  %s\nwant %s", err, want)
		}
		// The same value does not make the second process the owner.
		_, err = claim.Start(etcdtest.WaitContext(t), b.store(t), realTime{}, claim.Options{Key: key, Value: "first", TTL: 30 * time.Second})
		if !errors.As(err, &held) || held.Entry.Value != "first" {
			t.Errorf("a second claim of the same value: %v, want held", err)
		}
		if err := first.Stop(etcdtest.WaitContext(t)); err != nil {
			t.Fatal(err)
		}
		take(t, s, claim.Options{Value: "second", TTL: 30 * time.Second})
		if got := value(t, s); got != "second" {
			t.Errorf("at the key: %q", got)
		}
	})
}

// If many processes claim a key at the same time, exactly one gets it.
func TestOnlyOneOfManyGetsIt(t *testing.T) {
	everyAPI(t, func(t *testing.T, b bench) {
		var mu sync.Mutex
		var got []string
		var wg sync.WaitGroup
		for i := range 8 {
			s := b.store(t)
			wg.Go(func() {
				name := fmt.Sprint("claimant ", i)
				e, err := s.Create(etcdtest.WaitContext(t), key, name, time.Hour)
				switch {
				case err == nil && e.Value == name:
					mu.Lock()
					defer mu.Unlock()
					got = append(got, name)
				case !errors.As(err, new(*claim.HeldError)):
					t.Errorf("%s: %v", name, err)
				}
			})
		}
		wg.Wait()
		if len(got) != 1 || value(t, b.store(t)) != got[0] {
			t.Errorf("%v believe to hold what %q holds", got, value(t, b.store(t)))
		}
	})
}

// Renewal keeps a claim alive for longer than its time to live.
func TestBeatsKeepItAlive(t *testing.T) {
	everyAPI(t, func(t *testing.T, b bench) {
		s := b.store(t)
		c := take(t, s, claim.Options{Value: "mine", TTL: 3 * time.Second, Interval: 250 * time.Millisecond})
		time.Sleep(7 * time.Second)
		if err := c.Err(); err != nil {
			t.Fatal(err)
		}
		if got := value(t, s); got != "mine" {
			t.Errorf("after 7 s: %q", got)
		}
		if err := c.Stop(etcdtest.WaitContext(t)); err != nil {
			t.Errorf("stop: %v", err)
		}
		if got := value(t, s); got != "" {
			t.Errorf("after the stop: %q", got)
		}
	})
}

// A beat whose answer was lost is repeated, and a stop after it finds the
// claim.
func TestAnswersThatAreLost(t *testing.T) {
	everyAPI(t, func(t *testing.T, b bench) {
		s, ctx := b.store(t), etcdtest.WaitContext(t)
		e, err := s.Create(ctx, key, "mine", 20*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if _, err := s.Beat(ctx, e, 20*time.Second); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Delete(ctx, e); err != nil {
			t.Error(err)
		}
		if got := value(t, s); got != "" {
			t.Errorf("after the stop: %q", got)
		}
	})
}

// A beat after the key expired fails and does not restore it.
func TestLateBeat(t *testing.T) {
	everyAPI(t, func(t *testing.T, b bench) {
		s := b.store(t)
		e, err := s.Create(etcdtest.WaitContext(t), key, "mine", time.Second)
		if err != nil {
			t.Fatal(err)
		}
		etcdtest.Until(t, "the claim expires", func() bool { return value(t, s) == "" })
		_, err = s.Beat(etcdtest.WaitContext(t), e, time.Second)
		var lost *claim.LostError
		if !errors.As(err, &lost) || lost.Now != nil || err.Error() != "/running/web1 was lost, it is gone" {
			t.Errorf("the late beat: %v", err)
		}
		if got := value(t, s); got != "" {
			t.Errorf("the late beat brought back %q", got)
		}
		// It does not renew another claim either, even with the same value.
		take(t, s, claim.Options{Value: "mine", TTL: 10 * time.Second})
		if _, err := s.Beat(etcdtest.WaitContext(t), e, time.Hour); !errors.Is(err, claim.ErrLost) {
			t.Errorf("a beat on somebody else's claim of the same value: %v", err)
		}
		if err := s.Delete(etcdtest.WaitContext(t), e); !errors.Is(err, claim.ErrLost) {
			t.Errorf("deleting somebody else's claim of the same value: %v", err)
		}
	})
}

// Stop deletes nothing after the claim was lost.
func TestStopAfterLosingOwnership(t *testing.T) {
	everyAPI(t, func(t *testing.T, b bench) {
		s := b.store(t)
		first := take(t, s, claim.Options{Value: "first", TTL: 20 * time.Second})
		second := take(t, b.store(t), claim.Options{Value: "second", TTL: 20 * time.Second, TakeOver: true})
		err := first.Stop(etcdtest.WaitContext(t))
		var lost *claim.LostError
		if !errors.As(err, &lost) || lost.Now == nil || lost.Now.Value != "second" {
			t.Errorf("stop of the loser: %v", err)
		}
		if want := `/running/web1 was lost, it is held by "second" now`; err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
		if got := value(t, s); got != "second" {
			t.Errorf("at the key: %q", got)
		}
		if err := second.Stop(etcdtest.WaitContext(t)); err != nil {
			t.Errorf("stop of the owner: %v", err)
		}
	})
}

// After a takeover the former holder detects the loss at its next beat, and the
// error names the new holder.
func TestTakeOver(t *testing.T) {
	everyAPI(t, func(t *testing.T, b bench) {
		s := b.store(t)
		first := take(t, s, claim.Options{Value: "first", TTL: 20 * time.Second, Interval: 3 * time.Second})
		// Between the deletion and the new claim the key does not exist. A beat
		// at that moment would rightly report that it is gone.
		take(t, b.store(t), claim.Options{Value: "second", TTL: 20 * time.Second, TakeOver: true})
		<-first.Lost()
		var lost *claim.LostError
		if !errors.As(first.Err(), &lost) || lost.Now == nil || lost.Now.Value != "second" {
			t.Errorf("lost: %v", first.Err())
		}
		if err := first.Check(etcdtest.WaitContext(t)); !errors.Is(err, claim.ErrLost) {
			t.Errorf("check: %v", err)
		}
	})
}

// A watcher sees, on both APIs, a claim that is started, beats and is stopped,
// a claim that is taken over, and a claim whose owner dies.
func TestEvents(t *testing.T) {
	everyAPI(t, func(t *testing.T, b bench) {
		s, ctx := b.store(t), etcdtest.WaitContext(t)
		prefix := "/running"
		take(t, s, claim.Options{Key: prefix + "/before", Value: "x", TTL: 20 * time.Second})
		entries, revision, err := s.List(ctx, prefix)
		if err != nil || len(entries) != 1 || entries[0].Name() != "before" || entries[0].Left < 15*time.Second {
			t.Fatalf("listed %+v, %v", entries, err)
		}

		// The watch begins later, but reports this claim.
		c, err := s.Create(ctx, prefix+"/web1", "1", 20*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		watch := newWatch(t, s, prefix, revision)
		watch.wants(t, "started web1 1")
		again, err := s.Beat(ctx, c, 20*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		watch.wants(t, "beat web1 1")
		if again, err = s.Beat(ctx, again, 20*time.Second); err != nil {
			t.Fatal(err)
		}
		watch.wants(t, "beat web1 1")
		if err := s.Delete(ctx, again); err != nil {
			t.Fatal(err)
		}
		watch.wants(t, "stopped web1 1")

		one := take(t, s, claim.Options{Key: prefix + "/web2", Value: "one", TTL: 20 * time.Second})
		two := take(t, s, claim.Options{Key: prefix + "/web2", Value: "two", TTL: 20 * time.Second, TakeOver: true})
		watch.wants(t, "started web2 one", "stopped web2 one", "started web2 two")
		_ = one.Stop(ctx)
		if err := two.Stop(ctx); err != nil {
			t.Fatal(err)
		}
		watch.wants(t, "stopped web2 two")

		if _, err := s.Create(ctx, prefix+"/web3", "died", time.Second); err != nil {
			t.Fatal(err)
		}
		watch.wants(t, "started web3 died", "missed web3 died")
		// Deeper keys are not claims under this prefix.
		if _, err := s.Create(ctx, prefix+"/deep/down", "x", 20*time.Second); err != nil {
			t.Fatal(err)
		}
		take(t, s, claim.Options{Key: prefix + "/web4", Value: "x", TTL: 20 * time.Second})
		watch.wants(t, "started web4 x")
	})
}

// watched collects events as lines.
type watched struct{ events chan string }

func newWatch(t *testing.T, s claim.Store, prefix string, revision int64) *watched {
	w := &watched{events: make(chan string, 100)}
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := s.Watch(ctx, prefix, revision, func(e claim.Event) {
			w.events <- strings.Join([]string{string(e.Kind), e.Name, e.Value}, " ")
		}); err != nil {
			t.Errorf("watch: %v", err)
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
	return w
}

func (w *watched) wants(t *testing.T, lines ...string) {
	t.Helper()
	for _, want := range lines {
		select {
		case got := <-w.events:
			if got != want {
				t.Errorf("saw %q, want %q", got, want)
			}
		case <-time.After(etcdtest.WaitLimit):
			t.Fatalf("did not see %q", want)
		}
	}
}

// Every endpoint is watched: a frozen endpoint and a failed endpoint hide no
// event, and no event is reported twice.
func TestEventsWithEndpointsDown(t *testing.T) {
	t.Parallel()
	for _, api := range []string{"v2", "v3"} {
		t.Run(api, func(t *testing.T) {
			t.Parallel()
			b := bench{etcdtest.Start(t, 3, etcdtest.Options{Version: etcdtest.V35, V2: api == "v2"}), api}
			// The first two endpoints fail, one of them permanently. Both are
			// followers, so that there always is a leader.
			leader := b.Leader(t)
			endpoints := []string{}
			var followers []*etcdtest.Process
			for _, p := range b.Members() {
				if p != leader {
					followers = append(followers, p)
					endpoints = append(endpoints, p.ClientURL())
				}
			}
			endpoints = append(endpoints, leader.ClientURL())
			s, closeAll := storeAt(api, endpoints)
			t.Cleanup(closeAll)
			_, revision, err := s.List(etcdtest.WaitContext(t), "/running")
			if err != nil {
				t.Fatal(err)
			}
			watch := newWatch(t, s, "/running", revision)
			c, err := s.Create(etcdtest.WaitContext(t), key, "1", time.Hour)
			if err != nil {
				t.Fatal(err)
			}
			watch.wants(t, "started web1 1")
			followers[0].Freeze()
			t.Cleanup(followers[0].Thaw)
			if _, err := s.Beat(etcdtest.WaitContext(t), c, time.Hour); err != nil {
				t.Fatal(err)
			}
			watch.wants(t, "beat web1 1")
			followers[0].Thaw()
			followers[1].PowerOff()
			e, _, err := s.Get(etcdtest.WaitContext(t), key)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Delete(etcdtest.WaitContext(t), e); err != nil {
				t.Fatal(err)
			}
			watch.wants(t, "stopped web1 1")
			select {
			case again := <-watch.events:
				t.Errorf("saw %q as well", again)
			case <-time.After(time.Second):
			}
		})
	}
}
