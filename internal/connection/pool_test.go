// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package connection

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/clock"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// Callers with the same settings share a client, which only the pool closes. Who may not ask
// an endpoint gets no client that another call has opened.
func TestPool(t *testing.T) {
	t.Parallel()
	s := Settings{Endpoints: []string{"https://a:1"}, Username: "root", Password: password}.WithoutCredentials()
	const endpoint = "https://b:1"
	ctx, pool := TrustHosts(t.Context(), endpoint), &Pool{}
	clients := make([]*Client, 20)
	var wg sync.WaitGroup
	for i := range clients {
		wg.Go(func() { clients[i], _ = pool.Client(ctx, s, endpoint) })
	}
	wg.Wait()
	for _, c := range clients {
		if c == nil || c != clients[0] || c.Close() != nil || c.Ctx().Err() != nil {
			t.Fatalf("got %p and %p", clients[0], c)
		}
	}
	if _, err := pool.Client(t.Context(), s, endpoint); KindOf(err) != NotAsked {
		t.Errorf("a call that does not name the host: %v", err)
	}
	longer, stranger := s, s
	longer.RequestTimeout, stranger.Password = time.Minute, "sword"
	for name, other := range map[string]struct {
		s        Settings
		endpoint string
		same     bool
	}{
		"the endpoint in another form": {s, "HTTPS://B:1/", true},
		"another timeout":              {longer, endpoint, false},
		"another password":             {stranger, endpoint, false},
	} {
		if c, err := pool.Client(ctx, other.s, other.endpoint); err != nil || (c == clients[0]) != other.same {
			t.Errorf("%s: %p, %v", name, c, err)
		}
	}
	if _, err := pool.Client(ctx, s, "ftp://a"); !errors.As(err, new(*membership.URLError)) {
		t.Errorf("got %v", err)
	}
	for range 2 {
		if err := pool.Close(); err != nil {
			t.Error(err)
		}
		if _, err := pool.Client(ctx, s, endpoint); !errors.Is(err, errPoolClosed) {
			t.Errorf("got %v", err)
		}
	}
}

// Callers at once share one result, but not the cancellation of the one that works for it.
func TestSharedWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s shared[int]
		calls := 0
		work := func(ctx context.Context) (int, error) {
			return s.do(ctx, func() (int, error) {
				calls++
				return calls, clock.System{}.Sleep(ctx, time.Minute)
			})
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := work(ctx); !errors.Is(err, context.Canceled) {
				t.Errorf("the first one got %v", err)
			}
		})
		synctest.Wait()
		for range 3 {
			wg.Go(func() {
				if n, err := work(t.Context()); n != 2 || err != nil {
					t.Errorf("who waited got %d, %v", n, err)
				}
			})
		}
		wg.Wait()
	})
}

func TestSecret(t *testing.T) {
	s := Settings{Password: password}
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d"} {
		for _, form := range []string{password, fmt.Sprintf("%x", password), fmt.Sprintf("%X", password)} {
			if got := fmt.Sprintf(format, s); strings.Contains(got, form) {
				t.Errorf("%s prints %s", format, got)
			}
		}
	}
	if got, err := s.Password.MarshalText(); string(got) != "***" || err != nil || fmt.Sprint(s.Password, Secret("")) != "***" || s.Password.Reveal() != password {
		t.Errorf("%s, %v, %s, %q", got, err, fmt.Sprint(s.Password, Secret("")), s.Password.Reveal())
	}
}

// Test that registered functions are called once before the connections are closed,
// unless forgotten, and that a hanging function does not block the process.
func TestBeforeClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &Pool{}
		var mu sync.Mutex
		calls := map[string]int{}
		register := func(name string, f func(context.Context)) (forget func()) {
			return p.BeforeClose(func(ctx context.Context) {
				if p.closed() != nil {
					t.Errorf("%s: called after the connections were closed", name)
				}
				mu.Lock()
				calls[name]++
				mu.Unlock()
				f(ctx)
			})
		}
		var forgetOne func()
		forgetOne = register("one", func(context.Context) { forgetOne() })
		register("hangs", func(ctx context.Context) { <-ctx.Done() })
		register("forgotten", func(context.Context) {})()
		begin := time.Now()
		for range 2 {
			if err := p.Close(); err != nil {
				t.Error(err)
			}
		}
		if took := time.Since(begin); took != shutdownTimeout {
			t.Errorf("it took %v, want %v", took, shutdownTimeout)
		}
		if len(calls) != 2 || calls["one"] != 1 || calls["hangs"] != 1 {
			t.Errorf("called %v", calls)
		}
	})
}
