// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package claim_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/goleak"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/claim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/clock"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/etcdsim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/must"
)

// script is a store whose beats return the scripted results in order, then
// "ok".
type script struct {
	claim.Store
	mu    sync.Mutex // of beats and times
	beats []string
	begin time.Time
	times []string // the time of each beat
	gone  bool
}

func (s *script) sent() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.times)
}

var errSilent = errors.New("no answer")

func (s *script) Create(_ context.Context, key, value string, _ time.Duration) (claim.Entry, error) {
	s.begin = time.Now()
	return claim.Entry{Key: key, Value: value}, nil
}

func (s *script) Beat(ctx context.Context, e claim.Entry, _ time.Duration) (claim.Entry, error) {
	s.mu.Lock()
	s.times = append(s.times, time.Since(s.begin).String())
	next := "ok"
	if len(s.beats) > 0 {
		next, s.beats = s.beats[0], s.beats[1:]
	}
	s.mu.Unlock()
	switch next {
	case "fails":
		return e, errSilent
	case "hangs":
		<-ctx.Done()
		return e, ctx.Err()
	case "lost":
		return e, &claim.LostError{Key: e.Key}
	}
	return e, nil
}

func (s *script) Delete(context.Context, claim.Entry) error {
	s.gone = true
	return nil
}

func start(t *testing.T, s *script, o claim.Options) *claim.Claim {
	t.Helper()
	o.Key, o.Value, o.TTL = key, "v0", 9*time.Second
	c, err := claim.Start(context.Background(), s, clock.System{}, o)
	must.Succeed(t, err)
	return c
}

// Beats are a third of the time to live apart, and sooner after a failed beat.
func TestBeatsInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{beats: []string{"ok", "fails", "fails", "ok"}}
		c := start(t, s, claim.Options{})
		time.Sleep(10 * time.Second)
		want := []string{"3s", "6s", "6.9s", "7.8s"}
		if !slices.Equal(s.sent(), want) || c.Err() != nil {
			t.Errorf("beats: %q, %v; want %q", s.sent(), c.Err(), want)
		}
		if err := c.Stop(context.Background()); err != nil || !s.gone {
			t.Errorf("stop: %v, deleted: %v", err, s.gone)
		}
		if err := c.Check(context.Background()); !isLost(err) {
			t.Errorf("check after the stop: %v", err)
		}
	})
}

// A claim that could not be renewed within its time to live is lost, even if
// the store never said so, and not before that time.
func TestLostWithoutAWord(t *testing.T) {
	for _, how := range []string{"fails", "hangs"} {
		synctest.Test(t, func(t *testing.T) {
			s := &script{beats: slices.Repeat([]string{how}, 100)}
			c := start(t, s, claim.Options{})
			begin := time.Now()
			<-c.Lost()
			if took := time.Since(begin); took < 9*time.Second || took > 10*time.Second {
				t.Errorf("lost after %s", took)
			}
			var lost *claim.LostError
			if !errors.As(c.Err(), &lost) || lost.Err == nil || lost.Late < 9*time.Second {
				t.Errorf("lost: %v", c.Err())
			}
			if err := c.Check(context.Background()); !isLost(err) {
				t.Errorf("check: %v", err)
			}
			// The key may still exist, and is deleted then.
			if err := c.Stop(context.Background()); !isLost(err) || !s.gone {
				t.Errorf("stop: %v, deleted: %v", err, s.gone)
			}
		})
	}
}

// Check asks the store only if the last beat is long ago.
func TestCheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{beats: []string{"fails", "fails", "fails", "fails", "fails", "ok", "fails", "fails", "fails", "fails", "fails", "lost"}}
		c := start(t, s, claim.Options{})
		ctx := context.Background()
		time.Sleep(5 * time.Second) // beats at 3, 3.9 and 4.8 s
		if err := c.Check(ctx); err != nil || len(s.sent()) != 3 {
			t.Errorf("early: %v, %q", err, s.sent())
		}
		time.Sleep(1500 * time.Millisecond) // and at 5.7 s
		if err := c.Check(ctx); !errors.Is(err, errSilent) || c.Err() != nil {
			t.Errorf("late, no answer: %v", err)
		}
		if err := c.Check(ctx); err != nil {
			t.Errorf("late, renewed: %v", err)
		}
		time.Sleep(6200 * time.Millisecond)
		for c.Err() == nil {
			_ = c.Check(ctx)
		}
		if err := c.Check(ctx); !isLost(err) {
			t.Errorf("lost: %v", err)
		}
		if err := c.Stop(ctx); !isLost(err) || s.gone {
			t.Errorf("stop: %v, deleted: %v", err, s.gone)
		}
	})
}

func TestAClaimNeedsAValue(t *testing.T) {
	if _, err := claim.Start(context.Background(), &script{}, clock.System{}, claim.Options{Key: key, TTL: time.Second}); err == nil || err.Error() != "a claim needs a value" {
		t.Errorf("got %v", err)
	}
}

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// storeAt returns the store of an API at the endpoints.
func storeAt(t *testing.T, api string, pool *connection.Pool, endpoints ...string) claim.Store {
	s := connection.Settings{Endpoints: endpoints, DialTimeout: time.Second, RequestTimeout: 2 * time.Second}
	t.Cleanup(func() { _ = pool.Close() })
	if api == "v2" {
		return claim.NewV2(s, pool)
	}
	return claim.NewV3(cluster.New(s, pool), s, pool)
}

// everyAPI runs a test with a store of each API, in a simulated cluster of one member.
func everyAPI(t *testing.T, test func(t *testing.T, s claim.Store, n *etcdsim.Network)) {
	t.Parallel()
	for _, api := range []string{"v2", "v3"} {
		t.Run(api, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				n := &etcdsim.Network{V2: true}
				n.Form("3.5.35", "a")
				test(t, storeAt(t, api, &connection.Pool{World: n.Run(api)}, etcdsim.ClientURL("a")), n)
			})
		})
	}
}

const key = "/running/web1"

func isLost(err error) bool { return errors.As(err, new(*claim.LostError)) }

// What heartbeats go through is tested with the provider, in package simulated.

// A beat after the key has expired fails. It restores nothing, and does not renew another
// claim of the same value.
func TestLateBeat(t *testing.T) {
	everyAPI(t, func(t *testing.T, s claim.Store, _ *etcdsim.Network) {
		e, err := s.Create(t.Context(), key, "mine", 2*time.Second)
		must.Succeed(t, err)
		time.Sleep(3 * time.Second)
		var lost *claim.LostError
		if _, err = s.Beat(t.Context(), e, time.Second); !errors.As(err, &lost) || lost.Now != nil || err.Error() != "/running/web1 was lost: it expired, because the process or its machine stood still, or it was deleted" {
			t.Errorf("the late beat: %v", err)
		}
		if now, err := s.Get(t.Context(), key); now != nil || err != nil {
			t.Errorf("the late beat brought back %+v, %v", now, err)
		}
		_, err = s.Create(t.Context(), key, "mine", 10*time.Second)
		must.Succeed(t, err)
		if _, err := s.Beat(t.Context(), e, time.Hour); !isLost(err) {
			t.Errorf("a beat on another claim of the same value: %v", err)
		}
		if err := s.Delete(t.Context(), e); !isLost(err) {
			t.Errorf("deleting another claim of the same value: %v", err)
		}
		if now, err := s.Get(t.Context(), key); err != nil || now.Left > 10*time.Second {
			t.Errorf("there is %+v, %v", now, err)
		}
	})
}

// More claims than a prefix may contain are an error, not a list.
func TestListIsBounded(t *testing.T) {
	everyAPI(t, func(t *testing.T, s claim.Store, _ *etcdsim.Network) {
		put := func(i int) {
			_, err := s.Create(t.Context(), fmt.Sprintf("/beats/%05d", i), "x", time.Hour)
			must.Succeed(t, err)
		}
		for i := range connection.MaxKeys {
			put(i)
		}
		if entries, _, err := s.List(t.Context(), "/beats"); err != nil || len(entries) != connection.MaxKeys || entries[7].Key != "/beats/00007" {
			t.Errorf("%d entries, %v", len(entries), err)
		}
		put(connection.MaxKeys)
		if entries, _, err := s.List(t.Context(), "/beats"); err == nil || !strings.Contains(err.Error(), "more than 1000 keys") {
			t.Errorf("%d entries, %v", len(entries), err)
		}
	})
}

// slow is a route that runs a function before the second request.
type slow struct {
	connection.Route
	requests int
	before   func()
}

func (s *slow) Anywhere(ctx context.Context, f func(context.Context, *clientv3.Client) error) error {
	if s.requests++; s.requests == 2 {
		s.before()
	}
	return s.Route.Anywhere(ctx, f)
}

// A process that is suspended between the grant of the lease and the write of the key, for
// longer than the lease lives, has lost no claim, and grants a new lease.
func TestALeaseThatEndsBeforeTheKeyIsWritten(t *testing.T) {
	everyAPI(t, func(t *testing.T, _ claim.Store, n *etcdsim.Network) {
		s := connection.Settings{Endpoints: []string{etcdsim.ClientURL("a")}}
		pool := &connection.Pool{World: n.Run("slow")}
		defer pool.Close()
		route := &slow{Route: cluster.New(s, pool), before: func() { time.Sleep(time.Minute) }}
		c, err := claim.Start(t.Context(), claim.NewV3(route, s, pool), clock.System{}, claim.Options{Key: key, Value: "late", TTL: 30 * time.Second})
		must.Succeed(t, err)
		if err := c.Check(t.Context()); err != nil || route.requests < 4 {
			t.Errorf("%d requests, %v", route.requests, err)
		}
		if err := c.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
