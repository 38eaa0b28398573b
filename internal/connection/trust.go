// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package connection

import (
	"context"
	"errors"
	"maps"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// Refusal is the reason why a URL is not asked, or "" if it is asked. It
// completes the sentence "not asked: ...".
type Refusal string

// The refusals.
const (
	// PlainText: the URL is http, but the configured endpoints are https.
	PlainText Refusal = "it is http, and the configured endpoints are https"
	// Unnamed: a password is configured, and no argument names the URL.
	Unnamed Refusal = "it is not in endpoints or address_map"
	// Unverified: a client certificate is configured without a CA, and no argument
	// names the URL.
	Unverified Refusal = "it is not in endpoints or address_map, and there is no ca_cert to verify it with"
)

// facts holds everything that the decision about one URL depends on.
type facts struct {
	endpoint bool // the URL is one of the endpoints
	mapped   bool // the URL is a key of the address map
	plain    bool // the URL is http
	secured  bool // the endpoints are https
	named    bool // an argument names the host of an https URL, or the http URL itself
	verified bool // its certificate is verified with a configured CA
	// The request carries a password (or a token obtained with one), or a
	// client certificate.
	password, certificate bool
}

// judge decides whether a URL is asked. If so, it gets all configured credentials:
// without them, a server that requires credentials would appear to be down.
//
// A password and a token are sent only to named hosts. Unencrypted they are sent only
// to a URL that is named itself, because anyone on a host can listen on another port,
// and if an endpoint is https, only to an http endpoint. Other unencrypted answers are
// not trusted then, except through the address map. A certificate does not reveal
// its key, so a host whose certificate the configured CA verifies may see it.
func judge(f facts) Refusal {
	switch {
	case f.endpoint:
		return ""
	case f.plain && f.secured && (f.password || !f.mapped):
		return PlainText
	case f.password && !f.named:
		return Unnamed
	case f.certificate && !f.plain && !f.named && !f.verified:
		return Unverified
	}
	return ""
}

// Refusal reports why the normalised endpoint is not asked. It depends on the
// settings and on [TrustHosts] in ctx.
func (s Settings) Refusal(ctx context.Context, endpoint string) Refusal {
	return judge(s.facts(ctx, endpoint))
}

func (s Settings) facts(ctx context.Context, endpoint string) facts {
	_, mapped := s.AddressMap[endpoint]
	name := endpoint
	if isHTTPS(endpoint) {
		name = hostnameOf(endpoint)
	}
	return facts{
		endpoint: !s.Learned && slices.Contains(s.Endpoints, endpoint),
		mapped:   mapped,
		plain:    !isHTTPS(endpoint),
		secured:  s.secured(),
		named:    s.names(name) || slices.Contains(trustedHosts(ctx), name),
		verified: s.TLS != nil && s.TLS.RootCAs != nil && !s.TLS.InsecureSkipVerify,
		password: s.Username != "", certificate: s.hasCertificate(),
	}
}

// secured reports whether any of the configured endpoints is https. Without
// endpoints, it reports whether TLS material is configured.
func (s Settings) secured() bool {
	if slices.ContainsFunc(s.Named, isHTTPS) {
		return true
	}
	if s.Learned || len(s.Endpoints) == 0 {
		return s.TLS != nil
	}
	return slices.ContainsFunc(s.Endpoints, isHTTPS)
}

func (s Settings) hasCertificate() bool {
	return s.TLS != nil && (len(s.TLS.Certificates) > 0 || s.TLS.GetClientCertificate != nil)
}

// names reports whether an argument of the provider, or the endpoints of a
// resource, name the host, or the http URL.
func (s Settings) names(host string) bool {
	is := func(u string) bool { return u == host || hostnameOf(u) == host }
	others := slices.Concat(s.Named, slices.Collect(maps.Keys(s.AddressMap)), slices.Collect(maps.Values(s.AddressMap)))
	return !s.Learned && slices.ContainsFunc(s.Endpoints, is) || slices.ContainsFunc(others, is)
}

// InTheClear returns the endpoints, and the URLs of the address map, at which the
// password is sent unencrypted. Data sent to a loopback address stays on this machine
// (a tunnel, a test), so the address that is dialled counts.
func (s Settings) InTheClear() (urls []string) {
	for _, u := range append(slices.Clone(s.Endpoints), slices.Sorted(maps.Keys(s.AddressMap))...) {
		f := s.facts(context.Background(), u)
		sent := f.password && f.plain && judge(f) == ""
		if sent && !membership.IsLoopback(s.Dialled(u)) && !slices.Contains(urls, u) {
			urls = append(urls, u)
		}
	}
	return urls
}

// NamedOf returns those of the URLs that an argument of the provider names themselves.
func (s Settings) NamedOf(urls []string) []string {
	return slices.DeleteFunc(Askable(urls), func(e string) bool { return !s.names(e) })
}

// At returns the settings for endpoints that an argument of a resource names.
// The provider's own endpoints remain named.
func (s Settings) At(endpoints []string) Settings {
	s.Named = append(slices.Clone(s.Named), s.Endpoints...)
	s.Endpoints = endpoints
	return s
}

// Where returns the settings for endpoints known only from what members
// advertise. They are asked, but do not count as named hosts.
func (s Settings) Where(learned []string) Settings {
	s = s.At(learned)
	s.Learned = true
	return s
}

// Public returns the settings without credentials, unless the URL is one of the
// endpoints. It is for URLs that others supply.
func (s Settings) Public(base string) Settings {
	if slices.Contains(s.Endpoints, withPort(base)) {
		return s
	}
	s.Username, s.Password = "", ""
	return s.withoutCertificate()
}

// withoutCertificate returns the settings without the client certificate.
func (s Settings) withoutCertificate() Settings {
	if s.TLS != nil {
		s.TLS = s.TLS.Clone()
		s.TLS.Certificates, s.TLS.GetClientCertificate = nil, nil
	}
	return s
}

type trustedKey struct{}

// TrustHosts returns a context in which urls and their hosts count as named. They are
// the URLs that a resource's configuration gives for the member it manages.
// Trust belongs to the call and not to the process, because the order in which
// Terraform visits resources is unknown. Texts that are not URLs are ignored.
func TrustHosts(ctx context.Context, urls ...string) context.Context {
	hosts := slices.Clone(trustedHosts(ctx))
	for _, u := range urls {
		if host := hostnameOf(u); host != "" {
			hosts = append(hosts, host)
		}
	}
	hosts = append(hosts, slices.DeleteFunc(Askable(urls), isHTTPS)...)
	slices.Sort(hosts)
	return context.WithValue(ctx, trustedKey{}, slices.Compact(hosts))
}

func trustedHosts(ctx context.Context) []string {
	hosts, _ := ctx.Value(trustedKey{}).([]string)
	return hosts
}

// Trust returns a key for calls whose answers may differ because of [TrustHosts] in
// ctx. The key is "" if only the settings decide.
func (s Settings) Trust(ctx context.Context) string {
	if s.Username == "" && !s.hasCertificate() {
		return ""
	}
	return strings.Join(slices.DeleteFunc(slices.Clone(trustedHosts(ctx)), s.names), " ")
}

// Untrusted returns what would allow all of the URLs that members list to be asked: URLs to
// name, and http URLs that must become https. Both are sorted.
func (s Settings) Untrusted(urls []string) (unnamed, plain []string) {
	for _, u := range slices.Compact(slices.Sorted(slices.Values(urls))) {
		switch s.Refusal(context.Background(), u) {
		case Unnamed, Unverified:
			unnamed = append(unnamed, u)
		case PlainText:
			plain = append(plain, u)
		}
	}
	return unnamed, plain
}

// allow returns the refusal as an [*Error] of kind [NotAsked], or nil.
func (s Settings) allow(ctx context.Context, endpoint string) error {
	if refusal := s.Refusal(ctx, endpoint); refusal != "" {
		return &Error{Endpoint: endpoint, Kind: NotAsked, Err: errors.New(string(refusal))}
	}
	return nil
}

func isHTTPS(u string) bool { return strings.HasPrefix(u, "https://") }

// hostnameOf returns the host of a URL without its port, a name in lower case
// and an address in normal form. It returns "" for a text that is not a URL.
func hostnameOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	if addr, err := netip.ParseAddr(u.Hostname()); err == nil {
		return addr.Unmap().String()
	}
	return strings.ToLower(u.Hostname())
}

// withPort returns the URL in the form of an endpoint, with the default port of
// its scheme if it has none.
func withPort(base string) string {
	u, err := url.Parse(base)
	if err != nil {
		return ""
	}
	if u.Port() == "" {
		u.Host += map[string]string{"http": ":80", "https": ":443"}[u.Scheme]
	}
	endpoint, err := ParseEndpoint(u.Scheme+"://"+u.Host, false)
	if err != nil {
		return ""
	}
	return endpoint
}
