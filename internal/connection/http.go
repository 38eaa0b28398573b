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
	"slices"
	"strings"
	"time"

	clientv2 "go.etcd.io/etcd/client/v2"
)

// RedirectError describes a redirect that is not followed; it completes the sentence
// "The server ...".
type RedirectError string

// Error implements error.
func (e RedirectError) Error() string { return string(e) }

// maxRedirects is how many redirects of a discovery service are followed.
const maxRedirects = 5

// transport sends HTTP requests with the TLS, address map and limits of the
// settings. It serves one request or few and keeps no connection open: net/http
// silently repeats a request that fails on a reused connection. It limits the size of the
// answer. It follows no redirect. If its caller does, it does not show the client certificate again.
type transport struct {
	settings Settings
	proxy    func(*http.Request) (*url.URL, error)
	world    World
}

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(req *http.Request) (*http.Response, error) {
	endpoint := withPort(req.URL.String())
	if req.Response != nil { // that redirected
		t.settings = t.settings.withoutCertificate()
	}
	web := t.settings.web(endpoint, t.proxy, false)
	if t.world != nil {
		web = t.world.Web(t.settings.Dialled(endpoint))
	}
	resp, err := web.RoundTrip(req)
	if err == nil {
		resp.Body = http.MaxBytesReader(nil, resp.Body, maxKeys)
	}
	return resp, err
}

// web returns an HTTP transport for the server of an endpoint. keep is whether it keeps
// connections open.
func (s Settings) web(endpoint string, proxy func(*http.Request) (*url.URL, error), keep bool) http.RoundTripper {
	return &http.Transport{
		DisableKeepAlives: !keep,
		IdleConnTimeout:   keepaliveTime,
		Proxy:             proxy,
		TLSClientConfig:   s.TLS.Clone(),
		DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
			if address == addressOf(endpoint) { // and not that of the proxy
				address = addressOf(s.Dialled(endpoint))
			}
			return open(ctx, s.dialTimeout(), address)
		},
	}
}

// CancelRequest implements client/v2's CancelableTransport. It does nothing:
// requests end with their context.
func (transport) CancelRequest(*http.Request) {}

// WebClient returns an HTTP client for a URL that etcd does not serve, such as that
// of a discovery service. It sends neither user name nor password. It shows the
// client certificate only to an https server that the configured CA verifies or to
// one of the endpoints, and not after a redirect. It follows redirects to the same
// host, unless the scheme becomes weaker. Other redirects return a [RedirectError].
func (p *Pool) WebClient(s Settings, base string) *http.Client {
	if f := s.facts(context.Background(), withPort(base)); !f.verified && !f.endpoint {
		s = s.withoutCertificate()
	}
	s.Username, s.Password = "", ""
	return &http.Client{
		Transport: transport{s, http.ProxyFromEnvironment, p.World},
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

// Metrics reads the metrics of the member that answers at an endpoint over HTTP, within the
// request timeout, and returns the body, and the time on the clock of the member, zero if it
// did not tell. It keeps the connection open for the next call and follows no redirect.
//
// [Settings.Metrics] names the URL, so it is asked, also if it is http beside https. It gets
// the client certificate if it is https, and never the password.
//
// Errors are an [*Error], an [*membership.URLError] or ctx's own.
func (p *Pool) Metrics(ctx context.Context, s Settings, endpoint string) (body []byte, at time.Time, err error) {
	if of, err := url.Parse(s.Metrics); err == nil && s.Metrics != "" {
		of.Host = net.JoinHostPort(hostnameOf(endpoint), of.Port())
		endpoint = of.String()
		s.Endpoints, s.Named, s.Learned = []string{endpoint}, nil, false
		s.Username, s.Password = "", ""
	}
	c, err := p.Client(ctx, s.WithoutCredentials(), endpoint)
	if err != nil {
		return nil, at, err
	}
	err = c.do(ctx, c.requestTimeout, func(ctx context.Context) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.endpoint+"/metrics", nil)
		if err != nil {
			return AttemptError(c.endpoint, err)
		}
		resp, err := c.web.RoundTrip(req)
		if err != nil {
			return AttemptError(c.endpoint, err)
		}
		defer func() { _ = resp.Body.Close() }()
		text, err := io.ReadAll(io.LimitReader(resp.Body, maxBody))
		switch {
		case err != nil:
			return AttemptError(c.endpoint, err)
		case resp.StatusCode != http.StatusOK:
			return &Error{Endpoint: c.endpoint, Kind: NotEtcd, Err: fmt.Errorf("GET /metrics: HTTP status %s", resp.Status)}
		}
		body = text
		at, _ = http.ParseTime(resp.Header.Get("Date")) // zero without one
		return nil
	})
	return body, at, err
}

// MaxKeys is the maximum number of keys that are read below one prefix.
const MaxKeys = 1000

// ErrNoV2 means that a server does not serve the v2 API.
var ErrNoV2 = errors.New("does not serve the v2 API; etcd 3.4 and 3.5 do with --enable-v2, 3.6 and later never")

// V2 calls f with the v2 keys API of an endpoint, within the request timeout.
// It returns the errors of [Pool.KeysV2] and of f.
func (p *Pool) V2(ctx context.Context, s Settings, endpoint string, f func(context.Context, KeysV2) error) error {
	keys, err := p.KeysV2(ctx, s, endpoint)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, s.RequestLimit())
	defer cancel()
	return f(ctx, keys)
}

// KeysV2 returns the v2 keys API of an endpoint. It does not follow redirects,
// which would send the password to another host. Errors, including those of the
// keys API, are [*Error], [ErrNoV2] or the server's error, whose code [CodeV2]
// returns.
func (p *Pool) KeysV2(ctx context.Context, s Settings, endpoint string) (KeysV2, error) {
	if err := s.allow(ctx, endpoint); err != nil {
		return KeysV2{}, err
	}
	client, err := clientv2.New(clientv2.Config{
		Endpoints: []string{endpoint},
		Transport: transport{settings: s, world: p.World},
		Username:  s.Username, Password: s.Password.Reveal(),
		CheckRedirect: func(int) error { return RedirectError("redirects are not followed") },
	})
	if err != nil {
		return KeysV2{}, err
	}
	return KeysV2{clientv2.NewKeysAPI(client), endpoint}, nil
}

// CodeV2 returns the code of a v2 server's error, or 0 for any other error.
func CodeV2(err error) int {
	answer, _ := errors.AsType[clientv2.Error](err)
	return answer.Code
}

// answerV2 is a v2 server's error. Its text omits the code and the index.
type answerV2 struct{ original clientv2.Error }

// Error implements error.
func (a answerV2) Error() string {
	if a.original.Cause == "" {
		return a.original.Message
	}
	return a.original.Message + " (" + a.original.Cause + ")"
}

// Unwrap returns the server's error.
func (a answerV2) Unwrap() error { return a.original }

// KeysV2 is the v2 keys API of an endpoint. It checks that each answer has a
// node. A server whose answer has none does not serve this API.
type KeysV2 struct {
	api      clientv2.KeysAPI
	endpoint string
}

// checked returns the answer without nil nodes.
func (k KeysV2) checked(resp *clientv2.Response, err error) (*clientv2.Response, error) {
	answer, answered := errors.AsType[clientv2.Error](err)
	cluster, _ := errors.AsType[*clientv2.ClusterError](err)
	if cluster != nil && len(cluster.Errors) > 0 {
		err = cluster.Errors[0]
	}
	switch {
	case errors.As(err, new(*http.MaxBytesError)):
		return nil, AttemptError(k.endpoint, fmt.Errorf("the answer is longer than %d bytes", maxKeys))
	case answer.Code == clientv2.ErrorCodeUnauthorized: // for whatever is wrong with the credentials
		return nil, &Error{Endpoint: k.endpoint, Kind: PermissionDenied, Err: answerV2{answer}}
	case answered:
		return nil, answerV2{answer}
	case errors.Is(err, clientv2.ErrInvalidJSON), errors.Is(err, clientv2.ErrEmptyBody), err == nil && (resp == nil || resp.Node == nil):
		return nil, ErrNoV2
	case err != nil:
		return nil, AttemptError(k.endpoint, err)
	}
	resp.Node.Nodes = slices.DeleteFunc(resp.Node.Nodes, func(n *clientv2.Node) bool { return n == nil })
	if len(resp.Node.Nodes) > MaxKeys {
		return nil, fmt.Errorf("more than %d keys are below %s", MaxKeys, Quote(resp.Node.Key))
	}
	return resp, nil
}

// Node reads a key with a quorum, and returns the index of the answer too. The node is nil if
// there is no such key.
func (k KeysV2) Node(ctx context.Context, key string) (node *clientv2.Node, index uint64, err error) {
	found, err := k.checked(k.api.Get(ctx, key, &clientv2.GetOptions{Quorum: true}))
	answer, _ := errors.AsType[clientv2.Error](err)
	switch {
	case answer.Code == clientv2.ErrorCodeKeyNotFound, answer.Code == clientv2.ErrorCodeNotDir:
		return nil, answer.Index, nil
	case err != nil:
		return nil, 0, err
	}
	return found.Node, found.Index, nil
}

// Set is that of [clientv2.KeysAPI].
func (k KeysV2) Set(ctx context.Context, key, value string, o *clientv2.SetOptions) (*clientv2.Response, error) {
	return k.checked(k.api.Set(ctx, key, value, o))
}

// Delete is that of [clientv2.KeysAPI].
func (k KeysV2) Delete(ctx context.Context, key string, o *clientv2.DeleteOptions) (*clientv2.Response, error) {
	return k.checked(k.api.Delete(ctx, key, o))
}

// Watch returns a function that waits for the next event.
func (k KeysV2) Watch(key string, o *clientv2.WatcherOptions) func(context.Context) (*clientv2.Response, error) {
	watcher := k.api.Watcher(key, o)
	return func(ctx context.Context) (*clientv2.Response, error) { return k.checked(watcher.Next(ctx)) }
}
