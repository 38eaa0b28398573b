// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package connection describes how to reach etcd servers: their addresses, TLS,
// credentials and timeouts. It opens no connection by itself. Packages cluster,
// discovery and claim dial with it on first use.
//
// A [Client] talks to exactly one endpoint. clientv3 makes every call wait
// until a connection is ready. A refused connection or an invalid certificate
// therefore appears as an exceeded deadline without its cause, and a dead
// endpoint uses up the deadline of a live one. A request of a [Client] fails as soon
// as the attempt to connect fails. The client then connects once more by itself to
// find the reason: gRPC has it only as a text, and perhaps of an earlier attempt.
package connection

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/clock"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/log"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// Settings says how to reach the servers of one cluster.
type Settings struct {
	// Endpoints are normalised client URLs: scheme, host and port. See
	// [ParseEndpoint].
	Endpoints []string
	// Username and Password are for etcd's own authentication. Both are empty
	// without it.
	Username string
	Password Secret
	// TLS holds the CA and the client certificate, or is nil without TLS
	// material. It holds no server names: those follow from the URL.
	TLS *tls.Config
	// Named are further URLs that arguments name. Only what Endpoints, Named,
	// AddressMap and [TrustHosts] name receives the credentials. See [Settings.Refusal]
	// and [Settings.At].
	Named []string
	// Learned means that Endpoints are known only from what members advertise.
	// See [Settings.Where].
	Learned bool
	// AddressMap maps a normalised advertised client URL to the URL to dial.
	// TLS is still verified against the host of the advertised URL.
	AddressMap map[string]string
	// Metrics is the scheme and port at which every member serves its metrics, in the form
	// of [ParseMetricsURL], or "" if it does at its client URLs.
	Metrics string
	// DialTimeout limits one attempt to connect, RequestTimeout one request to
	// one endpoint. 0 means the default.
	DialTimeout    time.Duration
	RequestTimeout time.Duration
	// Clock is the time of every wait. nil means the real time.
	Clock clock.Clock

	// anonymous is set by [Settings.WithoutCredentials]. token is the token
	// that such a client of a [Pool] borrows.
	anonymous bool
	token     *sharedToken
}

// Defaults of [Settings].
const (
	DefaultDialTimeout    = 2 * time.Second
	DefaultRequestTimeout = 5 * time.Second
)

func (s Settings) dialTimeout() time.Duration {
	return cmp.Or(max(s.DialTimeout, 0), DefaultDialTimeout)
}

// Time returns the clock.
func (s Settings) Time() clock.Clock { return cmp.Or[clock.Clock](s.Clock, clock.System{}) }

// RequestLimit returns the timeout of one request to one endpoint.
func (s Settings) RequestLimit() time.Duration {
	return cmp.Or(max(s.RequestTimeout, 0), DefaultRequestTimeout)
}

// Answer is the error that one endpoint returned.
type Answer struct {
	Endpoint string
	Err      error
}

// String returns the endpoint, once, and its error.
func (a Answer) String() string {
	return a.Endpoint + ": " + strings.TrimPrefix(a.Err.Error(), a.Endpoint+": ")
}

// Unreachable means that no endpoint gave a usable answer.
type Unreachable struct {
	// Answers are the errors of all endpoints, in the order they were tried.
	Answers []Answer
}

// Error implements error. It lists every endpoint with its error.
func (u *Unreachable) Error() string {
	text := "no endpoint answered"
	for _, a := range u.Answers {
		text += "; " + a.String()
	}
	return text
}

// Unwrap returns the errors, so that errors.Is and errors.As examine them.
func (u *Unreachable) Unwrap() (out []error) {
	for _, a := range u.Answers {
		out = append(out, a.Err)
	}
	return out
}

// Try calls f with each endpoint until the result is final: no error, or an
// error that final accepts. It returns that result, or an [*Unreachable] with
// all endpoints that were tried before ctx ended.
func Try(ctx context.Context, endpoints []string, final func(error) bool, f func(endpoint string) error) error {
	gone := &Unreachable{}
	for _, endpoint := range endpoints {
		err := f(endpoint)
		if err == nil || final(err) {
			return err
		}
		gone.Answers = append(gone.Answers, Answer{endpoint, err})
		log.Debug(ctx, log.Connection, "endpoint failed", "endpoint", endpoint, "error", err)
		if ctx.Err() != nil {
			break
		}
	}
	return gone
}

// ParseEndpoint returns the normal form of a client URL, see [membership.ClientURL]. A text
// without a scheme gets https if withTLS is set (TLS material is configured), otherwise
// http. The normal form is idempotent.
//
// Errors are of type [*membership.URLError].
func ParseEndpoint(raw string, withTLS bool) (string, error) {
	text := strings.TrimSpace(raw)
	if text == "" || strings.Contains(text, "://") {
		return membership.ClientURL(text)
	}
	scheme, host := "http://", text
	if withTLS {
		scheme = "https://"
	}
	// An IPv6 address may omit the brackets if no port follows.
	if ip := net.ParseIP(text); ip != nil && strings.Contains(text, ":") {
		host = "[" + text + "]"
	}
	endpoint, err := membership.ClientURL(scheme + host)
	if bad, ok := errors.AsType[*membership.URLError](err); ok {
		bad.URL = membership.Masked(text)
	}
	return endpoint, err
}

// The problems of URLs in arguments of the provider.
const (
	URLOfOne       membership.URLProblem = "of one member"
	URLOtherScheme membership.URLProblem = "another scheme"
	URLTwice       membership.URLProblem = "mapped twice"
)

// ParseEndpoints is like [ParseEndpoint] for a list. It keeps the order and
// removes duplicates.
func ParseEndpoints(raw []string, withTLS bool) ([]string, error) {
	endpoints := make([]string, 0, len(raw))
	for _, r := range raw {
		e, err := ParseEndpoint(r, withTLS)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(endpoints, e) {
			endpoints = append(endpoints, e)
		}
	}
	return endpoints, nil
}

// ParseMetricsURL returns the normal form of a URL of [Settings.Metrics]: scheme, port, and
// a host that stands for every interface, as in ETCD_LISTEN_METRICS_URLS.
//
// Errors are of type [*membership.URLError].
func ParseMetricsURL(raw string) (string, error) {
	parsed, err := ParseEndpoint(raw, false)
	if err != nil {
		return "", err
	}
	_, bad := membership.ListedURL(raw) // which must have a scheme and a port
	if ip, _ := netip.ParseAddr(hostnameOf(parsed)); bad == nil && !ip.IsUnspecified() {
		bad = &membership.URLError{URL: raw, Problem: URLOfOne, Client: true}
	}
	if bad != nil {
		return "", bad
	}
	return parsed, nil
}

// Askable returns client URLs that members publish, with a scheme, in the form in which
// endpoints are compared. A URL that does not parse cannot be asked and is left out.
func Askable(clientURLs []string) (out []string) {
	for _, u := range clientURLs {
		if e, err := ParseEndpoint(u, false); err == nil {
			out = append(out, e)
		}
	}
	return out
}

// ParseAddressMap returns the normal form of an address map: [ParseEndpoint] of
// both sides. The right side may omit its scheme and then gets that of the left
// side. Otherwise its scheme must match, because the advertised URL determines
// whether TLS is used.
//
// Errors are of type [*membership.URLError].
func ParseAddressMap(raw map[string]string, withTLS bool) (map[string]string, error) {
	parsed := make(map[string]string, len(raw))
	// Sorted, so that the same one of several errors is always returned.
	for _, from := range slices.Sorted(maps.Keys(raw)) {
		to := raw[from]
		advertised, err := ParseEndpoint(from, withTLS)
		if err != nil {
			return nil, err
		}
		dialled, err := ParseEndpoint(to, strings.HasPrefix(advertised, "https:"))
		if err != nil {
			return nil, err
		}
		if scheme := dialled[:strings.Index(dialled, ":")+1]; !strings.HasPrefix(advertised, scheme) {
			return nil, &membership.URLError{URL: to, Problem: URLOtherScheme, Client: true}
		}
		if other, ok := parsed[advertised]; ok && other != dialled {
			return nil, &membership.URLError{URL: from, Problem: URLTwice, Client: true}
		}
		parsed[advertised] = dialled
	}
	return parsed, nil
}
