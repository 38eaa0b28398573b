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
)

// errPoolClosed is what a closed [Pool] answers.
var errPoolClosed = errors.New("the connections of this provider process are closed already")

// Pool keeps one open client for each endpoint and set of credentials. One is
// shared by everything in a provider process. Its zero value is ready for use,
// and it is safe for concurrent use.
type Pool struct {
	mu      sync.Mutex
	closed  bool
	closing map[*func(context.Context)]struct{}
	entries map[poolKey]*poolEntry
	tokens  map[poolKey]*sharedToken
	web     map[poolKey]webTransport
}

// poolKey is all that makes a difference between two clients.
type poolKey struct {
	endpoint, target string
	username         string
	password         Secret
	anonymous        bool
	// lenders are the endpoints that a client without credentials of its own
	// borrows a token of: another cluster's is another token.
	lenders       string
	tls           *tls.Config
	dial, request time.Duration
}

// poolEntry is a client, or one in the making: done is closed when client and
// err are set.
type poolEntry struct {
	done   chan struct{}
	client *Client
	err    error
	cut    bool // err is due to the end of its maker's context
}

// Client returns the open client for s and endpoint, or makes it as
// [Settings.Client] does. Those who ask while it is being made get the same
// client or the same error; a failure is not remembered beyond that. The
// client belongs to the pool: its Close does nothing.
func (p *Pool) Client(ctx context.Context, s Settings, endpoint string) (*Client, error) {
	key, err := newPoolKey(s, endpoint)
	if err != nil {
		return nil, err
	}
	// Also where a client is open: it may have been opened for a resource that
	// names the host, and this call for one that does not.
	if err := s.allow(ctx, key.endpoint); err != nil {
		return nil, err
	}
	if key.anonymous && s.Username != "" {
		s.token = p.token(s, key)
	}
	for {
		entry, mine, err := p.entry(key)
		if err != nil {
			return nil, err
		}
		if mine {
			return p.open(ctx, s, key, entry)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-entry.done:
		}
		// The time of whoever made it may have been over; that is not our failure.
		if entry.cut && ctx.Err() == nil {
			continue
		}
		return entry.client, entry.err
	}
}

// entry returns the entry for key; mine tells the caller to fill it.
func (p *Pool) entry(key poolKey) (entry *poolEntry, mine bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, false, errPoolClosed
	}
	if entry, ok := p.entries[key]; ok {
		return entry, false, nil
	}
	if p.entries == nil {
		p.entries = map[poolKey]*poolEntry{}
	}
	entry = &poolEntry{done: make(chan struct{})}
	p.entries[key] = entry
	return entry, true, nil
}

func (p *Pool) open(ctx context.Context, s Settings, key poolKey, entry *poolEntry) (*Client, error) {
	client, err := s.Client(ctx, key.endpoint)
	p.mu.Lock()
	defer p.mu.Unlock()
	defer close(entry.done)
	if err == nil && p.closed {
		_ = client.close()
		client, err = nil, errPoolClosed
	}
	if err != nil {
		delete(p.entries, key)
		entry.err, entry.cut = err, ctx.Err() != nil
		return nil, err
	}
	client.pooled = true
	entry.client = client
	return client, nil
}

// token returns the token that clients without credentials of their own
// borrow. Those that ask with the same credentials share it.
func (p *Pool) token(s Settings, key poolKey) *sharedToken {
	key.endpoint, key.target = "", ""
	p.mu.Lock()
	defer p.mu.Unlock()
	if t, ok := p.tokens[key]; ok {
		return t
	}
	if p.tokens == nil {
		p.tokens = map[poolKey]*sharedToken{}
	}
	t := &sharedToken{authenticate: func(ctx context.Context) (string, error) {
		return p.authenticateAnywhere(ctx, s, p.authenticators(ctx, s, key))
	}}
	p.tokens[key] = t
	return t
}

// authenticators returns the configured endpoints, and those of the others that
// have accepted the credentials and may have them.
func (p *Pool) authenticators(ctx context.Context, s Settings, credentials poolKey) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	endpoints := slices.Clone(s.Endpoints)
	for key, entry := range p.entries {
		endpoint, own := key.endpoint, !key.anonymous
		key.endpoint, key.target, key.anonymous, key.lenders = "", "", true, credentials.lenders
		if entry.client != nil && own && key == credentials && !slices.Contains(endpoints, endpoint) && s.Refusal(ctx, endpoint) == "" {
			endpoints = append(endpoints, endpoint)
		}
	}
	return endpoints
}

// BeforeClose makes Close call f first, while there are connections still, with
// whatever else is to be done then, unless forget is called before. f has a
// second and a half: the process does not live much longer.
func (p *Pool) BeforeClose(f func(context.Context)) (forget func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closing == nil {
		p.closing = map[*func(context.Context)]struct{}{}
	}
	p.closing[&f] = struct{}{}
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.closing, &f)
	}
}

// shutdownTimeout is for the functions of [Pool.BeforeClose].
const shutdownTimeout = 1500 * time.Millisecond

// beforeClose calls the functions of [Pool.BeforeClose], all at once.
func (p *Pool) beforeClose() {
	p.mu.Lock()
	closing := p.closing
	p.closing = nil
	p.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
	defer cancel()
	var wg sync.WaitGroup
	for f := range closing {
		wg.Go(func() { (*f)(ctx) })
	}
	wg.Wait()
}

// Close calls the functions of [Pool.BeforeClose] and closes every client.
// Later calls of [Pool.Client] fail.
func (p *Pool) Close() error {
	p.beforeClose()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	var errs []error
	for key, entry := range p.entries {
		// One in the making is closed by its maker, who waits for p.mu.
		if entry.client != nil {
			errs = append(errs, entry.client.close())
		}
		delete(p.entries, key)
	}
	for _, web := range p.web {
		web.CloseIdleConnections()
	}
	clear(p.web)
	return errors.Join(errs...)
}

func newPoolKey(s Settings, endpoint string) (poolKey, error) {
	endpoint, err := ParseEndpoint(endpoint, s.TLS != nil)
	if err != nil {
		return poolKey{}, err
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
	}
	return key, nil
}
