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

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

func TestPool(t *testing.T) {
	t.Parallel()
	cluster := etcdtest.Start(t, 1, etcdtest.Options{Password: password})
	endpoint := cluster.Endpoints()[0]
	s := Settings{Endpoints: []string{endpoint}, Username: "root", Password: password}
	pool := &Pool{}

	var wg sync.WaitGroup
	clients := make([]*Client, 20)
	for i := range clients {
		wg.Go(func() {
			c, err := pool.Client(t.Context(), s, endpoint)
			if err != nil {
				t.Error(err)
				return
			}
			clients[i] = c
			if err := list(t, c); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, c := range clients {
		if c != clients[0] {
			t.Fatal("two clients for one endpoint")
		}
	}
	if err := clients[0].Close(); err != nil {
		t.Fatal(err)
	}
	if err := list(t, clients[0]); err != nil {
		t.Errorf("a client that belongs to the pool was closed from outside: %v", err)
	}

	longer := s
	longer.RequestTimeout = time.Minute
	for name, other := range map[string]struct {
		s        Settings
		endpoint string
		same     bool
	}{
		"the endpoint in another form": {s, strings.TrimPrefix(endpoint, "http://"), true},
		"another timeout":              {longer, endpoint, false},
		"without credentials":          {s.WithoutCredentials(), endpoint, false},
	} {
		if c, err := pool.Client(t.Context(), other.s, other.endpoint); err != nil || (c == clients[0]) != other.same {
			t.Errorf("%s: %p, %v", name, c, err)
		}
	}

	// The pool does not remember a failure.
	wrong := s
	wrong.Password = "sword"
	for range 2 {
		if _, err := pool.Client(t.Context(), wrong, endpoint); KindOf(err) != WrongPassword {
			t.Errorf("got %v", err)
		}
	}
	if _, err := pool.Client(t.Context(), s, "ftp://a"); !errors.As(err, new(*EndpointError)) {
		t.Errorf("got %v", err)
	}

	if err := pool.Close(); err != nil {
		t.Error(err)
	}
	if _, err := pool.Client(t.Context(), s, endpoint); !errors.Is(err, errPoolClosed) {
		t.Errorf("got %v", err)
	}
	if err := pool.Close(); err != nil {
		t.Error(err)
	}
}

// Test that the cancellation of the caller that makes a client does not affect others.
func TestPoolMakerCancelled(t *testing.T) {
	t.Parallel()
	silent := "http://" + serve(t, nil)
	s := Settings{Endpoints: []string{silent}, Username: "root", Password: password, DialTimeout: 500 * time.Millisecond}
	pool := &Pool{}
	t.Cleanup(func() { _ = pool.Close() })

	maker, cancel := context.WithCancel(t.Context())
	made := make(chan error, 1)
	go func() {
		_, err := pool.Client(maker, s, silent)
		made <- err
	}()
	for {
		pool.mu.Lock()
		n := len(pool.entries)
		pool.mu.Unlock()
		if n == 1 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	waited := make(chan error, 1)
	go func() {
		_, err := pool.Client(t.Context(), s, silent)
		waited <- err
	}()
	time.Sleep(20 * time.Millisecond)
	cancel()
	if err := <-made; !errors.Is(err, context.Canceled) {
		t.Errorf("the maker got %v", err)
	}
	if err := <-waited; KindOf(err) != Timeout {
		t.Errorf("who waited got %v", err)
	}
}

func TestSecret(t *testing.T) {
	const text = "swordfish"
	s := struct {
		Password Secret
		Settings Settings
	}{text, Settings{Password: text}}
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%T %[1]v"} {
		if got := fmt.Sprintf(format, s); contains(got, text) {
			t.Errorf("%s prints %s", format, got)
		}
	}
	if got := fmt.Sprint(Secret(text), Secret("")); got != "***" {
		t.Errorf("got %q", got)
	}
	if encoded, err := Secret(text).MarshalText(); err != nil || string(encoded) != "***" {
		t.Errorf("encoded as %q, %v", encoded, err)
	}
	if Secret(text).Reveal() != text || Secret(text).GoString() != "***" {
		t.Error("Reveal or GoString")
	}
}

// contains reports whether s contains text, unchanged or in hexadecimal.
func contains(s, text string) bool {
	for _, form := range []string{text, fmt.Sprintf("%x", text), fmt.Sprintf("%X", text)} {
		if strings.Contains(s, form) {
			return true
		}
	}
	return false
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
				p.mu.Lock()
				closed := p.closed
				p.mu.Unlock()
				if closed {
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
