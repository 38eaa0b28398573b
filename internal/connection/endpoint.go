// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package connection

import (
	"fmt"
	"maps"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// defaultPort is etcd's client port, for an endpoint without a port.
const defaultPort = "2379"

// EndpointError says why a text is not an endpoint. It never contains the user
// information of a URL, which may include a password.
type EndpointError struct {
	// Endpoint is the text, without user information.
	Endpoint string
	// Reason completes the sentence "The endpoint ...".
	Reason string
}

// Error implements error.
func (e *EndpointError) Error() string { return fmt.Sprintf("endpoint %q %s", e.Endpoint, e.Reason) }

// ParseEndpoint returns the normal form of a client URL: scheme, host in lower
// case and port, with IPv6 addresses in brackets. A text without a scheme gets
// https if withTLS is set (TLS material is configured), otherwise http. A text
// without a port gets [defaultPort]. The normal form is idempotent.
//
// Errors are of type [*EndpointError].
func ParseEndpoint(raw string, withTLS bool) (string, error) {
	text := strings.TrimSpace(raw)
	fail := func(shown, reason string) (string, error) {
		return "", &EndpointError{Endpoint: shown, Reason: reason}
	}
	if text == "" {
		return fail(raw, "is empty")
	}
	if strings.Contains(text, "@") {
		return fail(membership.Masked(text), "contains user information; use username and password instead")
	}
	scheme, rest, found := strings.Cut(text, "://")
	if !found {
		scheme, rest = "http", text
		if withTLS {
			scheme = "https"
		}
		// An IPv6 address may omit the brackets if no port follows.
		if ip := net.ParseIP(rest); ip != nil && strings.Contains(rest, ":") {
			rest = "[" + rest + "]"
		}
	}
	scheme = strings.ToLower(scheme)
	if scheme != "http" && scheme != "https" {
		return fail(text, fmt.Sprintf("has the scheme %q; etcd clients speak http or https", scheme))
	}
	u, err := url.Parse(scheme + "://" + rest)
	if err != nil {
		return fail(text, "is not a URL such as https://10.0.1.10:2379")
	}
	host, port := strings.ToLower(u.Hostname()), u.Port()
	switch {
	case host == "":
		return fail(text, "has no host")
	case u.Path != "" && u.Path != "/":
		return fail(text, fmt.Sprintf("has the path %q; it must end after the port", u.Path))
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return fail(text, "has a query or a fragment; it must end after the port")
	case strings.ContainsAny(host, " \t,"):
		return fail(text, "is not one URL; give each endpoint as a list element of its own")
	case !membership.ValidHost(host):
		return fail(text, "has a host that is neither an IP address nor a host name (letters, digits, dots, hyphens)")
	}
	if port == "" {
		port = defaultPort
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return fail(text, fmt.Sprintf("has the port %q; a port is a number from 1 to 65535", port))
	}
	// A URL must escape the % before the zone of an IPv6 address.
	return scheme + "://" + strings.ReplaceAll(net.JoinHostPort(host, port), "%", "%25"), nil
}

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
// Errors are of type [*EndpointError].
func ParseMetricsURL(raw string) (string, error) {
	parsed, err := ParseEndpoint(raw, false)
	if err != nil {
		return "", err
	}
	given, err := url.Parse(strings.TrimSpace(raw))
	switch ip, _ := netip.ParseAddr(hostnameOf(parsed)); {
	case err != nil || given.Host == "":
		return "", &EndpointError{Endpoint: raw, Reason: "has no scheme"}
	case given.Port() == "":
		return "", &EndpointError{Endpoint: raw, Reason: "has no port"}
	case !ip.IsUnspecified():
		return "", &EndpointError{Endpoint: raw, Reason: "has the host of one member, and it is the URL of all"}
	}
	return parsed, nil
}

// Askable returns client URLs that members publish, with a scheme, in the form in which
// endpoints are compared. A URL that does not parse cannot be asked and is left out.
func Askable(clientURLs []string) []string {
	var out []string
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
// Errors are of type [*EndpointError].
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
			return nil, &EndpointError{Endpoint: to, Reason: fmt.Sprintf(
				"has another scheme than the advertised URL it stands for (%s)", advertised)}
		}
		if other, ok := parsed[advertised]; ok && other != dialled {
			return nil, &EndpointError{Endpoint: from, Reason: "is mapped twice, to different addresses"}
		}
		parsed[advertised] = dialled
	}
	return parsed, nil
}
