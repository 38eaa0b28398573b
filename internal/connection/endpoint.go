// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package connection

import (
	"errors"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

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
