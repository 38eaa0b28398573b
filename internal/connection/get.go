// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package connection

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

// maxBody limits HTTP bodies, in bytes. All expected answers are smaller.
const maxBody = 16 << 20

// Get reads a path of an endpoint over HTTP, such as /metrics, within the
// request timeout, and returns the body, and the time on the clock of the server, zero if
// it did not tell. It keeps the connection open for the next call and follows no redirect.
// Errors are an [*Error], an [*EndpointError] or ctx's own.
func (p *Pool) Get(ctx context.Context, s Settings, endpoint, path string) (body []byte, at time.Time, err error) {
	key, err := newPoolKey(s, endpoint)
	if err != nil {
		return nil, at, err
	}
	endpoint = key.endpoint
	if err := s.allow(ctx, endpoint); err != nil {
		return nil, at, err
	}
	call, cancel := context.WithTimeout(ctx, s.RequestLimit())
	defer cancel()
	fail := func(err error) ([]byte, time.Time, error) {
		if errors.Is(ctx.Err(), context.Canceled) {
			return nil, at, ctx.Err()
		}
		return nil, at, AttemptError(endpoint, err)
	}
	req, err := http.NewRequestWithContext(call, http.MethodGet, endpoint+path, nil)
	if err != nil {
		return nil, at, &EndpointError{Endpoint: endpoint, Reason: "is not a URL"}
	}
	resp, err := p.openWeb(key, transport{settings: s}, req.URL).RoundTrip(req)
	if err != nil {
		return fail(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err = io.ReadAll(io.LimitReader(resp.Body, maxBody))
	switch {
	case err != nil:
		return fail(err)
	case resp.StatusCode != http.StatusOK:
		return nil, at, &Error{Endpoint: endpoint, Kind: NotEtcd, Err: fmt.Errorf("GET %s: HTTP status %s", path, resp.Status)}
	}
	at, _ = http.ParseTime(resp.Header.Get("Date")) // zero without one
	return body, at, nil
}

// openWeb returns the HTTP transport for key, which it makes if there is none.
func (p *Pool) openWeb(key poolKey, t transport, u *url.URL) http.RoundTripper {
	if p.World != nil {
		return p.World.Web(t.wire(u).url())
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	web, ok := p.web[key]
	if !ok {
		if p.web == nil {
			p.web = map[poolKey]webTransport{}
		}
		web = t.to(u)
		web.DisableKeepAlives = p.closed
		p.web[key] = web
	}
	return web
}
