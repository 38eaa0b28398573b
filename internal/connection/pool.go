// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package connection

import (
	"context"
	"crypto/tls"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/clock"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/syncmap"
)

// errPoolClosed is the error that a closed [Pool] returns.
var errPoolClosed = errors.New("the connections of this provider process are closed already")

// Pool keeps one open client for each endpoint and set of credentials. All
// resources in a provider process share one pool. The zero value is ready for
// use. A Pool is safe for concurrent use.
type Pool struct {
	// World takes the place of the network in tests. It is nil in the product.
	World World

	// life ends with Close, by end. Both are made by lifetime.
	life context.Context
	end  context.CancelCauseFunc
	once sync.Once

	closing syncmap.Map[*func(context.Context), struct{}]
	entries syncmap.Map[poolKey, *poolEntry]
	tokens  syncmap.Map[poolKey, *sharedToken]
	// mu guards the clients of all entries.
	mu sync.Mutex
}

// poolKey holds everything in which two clients can differ.
type poolKey struct {
	endpoint, target string
	username         string
	password         Secret
	anonymous        bool
	// lenders are the endpoints from which a client without credentials borrows
	// a token. Different clusters have different tokens.
	lenders       string
	tls           *tls.Config
	dial, request time.Duration
}

// poolEntry makes a client, and has it once it is open.
type poolEntry struct {
	shared[*Client]
	client *Client
}

// Client returns the open client for s and endpoint, or makes it. It does not dial an
// endpoint that must not receive the credentials; see [Settings.Refusal]. Concurrent
// callers get the same client or the same error. The pool does not remember a failure
// after that. Errors are of type [*membership.URLError] or [*Error], or ctx's own.
func (p *Pool) Client(ctx context.Context, s Settings, endpoint string) (*Client, error) {
	endpoint, err := ParseEndpoint(endpoint, s.TLS != nil)
	if err != nil {
		return nil, err
	}
	// Check an open client too: a resource that names the host may have opened
	// it, and the resource that calls now may not name the host.
	if err := s.allow(ctx, endpoint); err != nil {
		return nil, err
	}
	key := poolKey{
		endpoint: endpoint, target: s.AddressMap[endpoint],
		username: s.Username, password: s.Password,
		anonymous: s.anonymous || s.Username == "",
		tls:       s.TLS,
		dial:      s.dialTimeout(), request: s.RequestLimit(),
	}
	if key.anonymous && s.Username != "" {
		key.lenders = strings.Join(s.Endpoints, ",")
		s.token = p.token(s, key)
	}
	if err := p.closed(); err != nil {
		return nil, err
	}
	entry := p.entries.GetOrMake(key, func() *poolEntry { return &poolEntry{} })
	return entry.do(ctx, func() (*Client, error) {
		if entry.client != nil {
			return entry.client, nil
		}
		client, err := s.client(ctx, key.endpoint, p)
		if err != nil {
			return nil, err
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		if err := p.closed(); err != nil {
			_ = client.close()
			return nil, err
		}
		entry.client = client
		return client, nil
	})
}

// token returns the token that clients without credentials borrow. Callers with
// the same credentials share it.
func (p *Pool) token(s Settings, key poolKey) *sharedToken {
	key.endpoint, key.target = "", ""
	return p.tokens.GetOrMake(key, func() *sharedToken {
		return &sharedToken{authenticate: func(ctx context.Context) (string, error) {
			return p.authenticateAnywhere(ctx, s, p.authenticators(ctx, s, key))
		}}
	})
}

// authenticators returns the configured endpoints, and other endpoints that
// have accepted the credentials and may receive them.
func (p *Pool) authenticators(ctx context.Context, s Settings, credentials poolKey) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	endpoints := slices.Clone(s.Endpoints)
	for key, entry := range p.entries.All() {
		endpoint, own := key.endpoint, !key.anonymous
		key.endpoint, key.target, key.anonymous, key.lenders = "", "", true, credentials.lenders
		accepts := entry.client != nil && own && key == credentials
		if accepts && s.Refusal(ctx, endpoint) == "" && !slices.Contains(endpoints, endpoint) {
			endpoints = append(endpoints, endpoint)
		}
	}
	return endpoints
}

// BeforeClose makes Close call f before it closes the connections, concurrently
// with the other registered functions, unless forget is called first. f has 1.5
// seconds, because the process ends soon.
func (p *Pool) BeforeClose(f func(context.Context)) (forget func()) {
	return p.closing.Keep(&f, struct{}{})
}

// shutdownTimeout limits the functions of [Pool.BeforeClose].
const shutdownTimeout = 1500 * time.Millisecond

// Close calls the functions of [Pool.BeforeClose] and then closes every client.
// Later calls of [Pool.Client] fail.
func (p *Pool) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
	defer cancel()
	var wg sync.WaitGroup
	for f := range p.closing.All() {
		p.closing.Delete(f)
		wg.Go(func() { (*f)(ctx) })
	}
	wg.Wait()

	p.lifetime() // makes end
	p.mu.Lock()
	p.end(errPoolClosed)
	p.mu.Unlock()
	var errs []error
	for key, entry := range p.entries.All() {
		p.entries.Delete(key)
		// A client that is being made is closed by the call that makes it. An entry of
		// a closed pool does not get one.
		if entry.client != nil {
			errs = append(errs, entry.client.close())
		}
	}
	return errors.Join(errs...)
}

// Clock returns c, but each sleep ends with [context.Canceled] when the pool is
// closed. So Close ends everything that repeats its requests.
func (p *Pool) Clock(c clock.Clock) clock.Clock { return poolClock{c, p} }

type poolClock struct {
	clock.Clock
	pool *Pool
}

// Sleep implements [clock.Clock].
func (c poolClock) Sleep(ctx context.Context, d time.Duration) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.pool.lifetime(), cancel)()
	if c.pool.closed() != nil {
		return context.Canceled
	}
	return c.Clock.Sleep(ctx, d)
}

// lifetime returns a context that ends with Close.
func (p *Pool) lifetime() context.Context {
	p.once.Do(func() { p.life, p.end = context.WithCancelCause(context.Background()) })
	return p.life
}

// closed returns an error after Close.
func (p *Pool) closed() error { return context.Cause(p.lifetime()) }
