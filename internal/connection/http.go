// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package connection

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// ErrRedirect means that a server redirects a request and the redirect is not
// followed.
var ErrRedirect = errors.New("redirects are not followed")

// RedirectError describes a redirect that is not followed; it completes the sentence
// "The server ...". It matches [ErrRedirect].
type RedirectError string

// Error implements error.
func (e RedirectError) Error() string { return string(e) }

// Is reports whether target is [ErrRedirect].
func (RedirectError) Is(target error) bool { return target == ErrRedirect }

// maxRedirects is how many redirects of a discovery service are followed.
const maxRedirects = 5

// transport sends HTTP requests with the TLS, address map and limits of the
// settings. It serves one request or few and keeps no connection open: net/http
// silently repeats a request that fails on a reused connection. It follows no
// redirect. If its caller does, it does not show the client certificate again.
type transport struct {
	settings Settings
	proxy    func(*http.Request) (*url.URL, error)
}

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Response != nil { // that redirected
		t.settings = t.settings.withoutCertificate()
	}
	if req.Header.Get("Authorization") != "" {
		t.wire(req.URL).record(sentPassword)
	}
	plain := t.to(req.URL)
	plain.DisableKeepAlives = true
	return plain.RoundTrip(req)
}

// webTransport is an HTTP transport that keeps connections open.
type webTransport = *http.Transport

// to returns an HTTP transport for a URL.
func (t transport) to(u *url.URL) webTransport {
	w := t.wire(u)
	return &http.Transport{
		IdleConnTimeout: keepaliveTime,
		Proxy:           t.proxy,
		TLSClientConfig: w.recordCertificate(t.settings.TLS.Clone()),
		DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
			w.record(sentNothing)
			if address == wireOf(withPort(u.String())).address {
				address = w.address
			}
			return open(ctx, t.settings.dialTimeout(), address)
		},
	}
}

// CancelRequest implements client/v2's CancelableTransport. It does nothing:
// requests end with their context.
func (transport) CancelRequest(*http.Request) {}

// wire returns what is dialled for a URL without a proxy.
func (t transport) wire(u *url.URL) wire {
	if endpoint := withPort(u.Scheme + "://" + u.Host); endpoint != "" {
		return t.settings.wire(endpoint)
	}
	return wire{u.Scheme, u.Host}
}

// WebClient returns an HTTP client for a URL that etcd does not serve, such as that
// of a discovery service. It sends neither user name nor password. It shows the
// client certificate only to an https server that the configured CA verifies or to
// one of the endpoints, and not after a redirect. It follows redirects to the same
// host, unless the scheme becomes weaker. Other redirects return [ErrRedirect].
func (s Settings) WebClient(base string) *http.Client {
	if f := s.facts(context.Background(), withPort(base)); !f.verified && !f.endpoint {
		s = s.withoutCertificate()
	}
	s.Username, s.Password = "", ""
	return &http.Client{
		Transport: transport{s, http.ProxyFromEnvironment},
		CheckRedirect: func(req *http.Request, via []*http.Request) error {
			switch from := via[len(via)-1].URL; {
			case len(via) > maxRedirects:
				return RedirectError(fmt.Sprintf("redirects more than %d times", maxRedirects))
			case from.Scheme == "https" && req.URL.Scheme != "https":
				return RedirectError("redirects to plain http: " + Quote(req.URL.Redacted()))
			case !strings.EqualFold(from.Hostname(), req.URL.Hostname()):
				return RedirectError("redirects to another host: " + Quote(req.URL.Redacted()))
			}
			return nil
		},
	}
}

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
