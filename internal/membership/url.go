// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

import (
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// URLProblem says what is wrong with a peer URL; package text words it.
type URLProblem string

// The problems.
const (
	URLEmpty      URLProblem = "empty"
	URLUnreadable URLProblem = "unreadable"
	URLNoScheme   URLProblem = "no scheme"
	URLScheme     URLProblem = "scheme"   // neither http nor https
	URLUserinfo   URLProblem = "userinfo" // a user name or password
	URLNoHost     URLProblem = "no host"  // nothing to dial
	URLHost       URLProblem = "host"     // neither an IP address nor a host name
	URLWildcard   URLProblem = "wildcard" // 0.0.0.0 or ::, which cannot be dialled
	URLNoPort     URLProblem = "no port"  // etcd has no default port for peers
	URLPort       URLProblem = "port"     // not in 1 to 65535
	URLPath       URLProblem = "path"     // a path other than "/"
	URLQuery      URLProblem = "query"    // a query or a fragment
)

// maxNameLen is the maximum length of a host name, and of a member name accepted
// here.
const maxNameLen = 253

// URLError reports a peer URL that cannot be used. URL is the URL as given,
// without any user name and password.
type URLError struct {
	URL     string
	Problem URLProblem
}

// Error returns a short text for logs; package text words the diagnostics.
func (e *URLError) Error() string {
	return "peer URL " + strconv.Quote(e.URL) + ": " + string(e.Problem)
}

// NormalizeURL returns an advertised peer URL in the single form in which URLs
// can be compared: scheme and host in lower case, IPv6 addresses in brackets and
// in their canonical form, no trailing slash. It refuses, with a [*URLError],
// what etcd refuses (a missing port, a path), what other members cannot dial (a
// wildcard address), and what does not belong there (a user, a query, a Unix
// socket).
func NormalizeURL(raw string) (string, error) { return normalize(raw, false) }

// ListedURL is [NormalizeURL] for a URL in a member list, in which etcd also
// accepts the wildcard address, although it cannot be dialled.
func ListedURL(raw string) (string, error) { return normalize(raw, true) }

func normalize(raw string, wildcard bool) (string, error) {
	trimmed := strings.TrimSpace(raw)
	bad := func(p URLProblem) (string, error) { return "", &URLError{URL: Masked(trimmed), Problem: p} }
	if trimmed == "" {
		return bad(URLEmpty)
	}
	if !strings.Contains(trimmed, "://") {
		return bad(URLNoScheme)
	}
	u, err := url.Parse(trimmed)
	if err != nil {
		return bad(URLUnreadable)
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return bad(URLScheme)
	case u.User != nil:
		return bad(URLUserinfo)
	case u.Hostname() == "":
		return bad(URLNoHost)
	case u.Path != "" && u.Path != "/":
		return bad(URLPath)
	case u.RawQuery != "" || u.ForceQuery || strings.Contains(trimmed, "#"):
		return bad(URLQuery)
	case u.Port() == "":
		return bad(URLNoPort)
	}
	port, err := strconv.ParseUint(u.Port(), 10, 16)
	if err != nil || port == 0 {
		return bad(URLPort)
	}
	host, problem := normalizeHost(u.Hostname(), wildcard)
	if problem != "" {
		return bad(problem)
	}
	return u.Scheme + "://" + host + ":" + strconv.FormatUint(port, 10), nil
}

// hostCharacters are the characters of host names, in lower case.
const hostCharacters = "abcdefghijklmnopqrstuvwxyz0123456789.-_"

// normalizeHost returns the host as it is written in a URL. wildcard permits the
// wildcard address.
func normalizeHost(host string, wildcard bool) (string, URLProblem) {
	if ip, err := netip.ParseAddr(host); err == nil {
		switch {
		case ip.Zone() != "": // means nothing on another machine
			return "", URLHost
		case ip.Unmap().IsUnspecified() && !wildcard:
			return "", URLWildcard
		case ip.Is6():
			return "[" + ip.String() + "]", ""
		default:
			return ip.String(), ""
		}
	}
	host = strings.ToLower(host)
	if len(host) > maxNameLen || strings.Trim(host, hostCharacters) != "" {
		return "", URLHost
	}
	return host, ""
}

// ValidHost reports whether the host of a URL is an IP address, for IPv6 also
// with a zone, or consists of host name characters.
func ValidHost(host string) bool {
	address, zone, _ := strings.Cut(host, "%")
	if ip, err := netip.ParseAddr(address); err == nil && (zone == "" || ip.Is6()) {
		return strings.Trim(zone, hostCharacters) == ""
	}
	return host != "" && len(host) <= maxNameLen && strings.Trim(strings.ToLower(host), hostCharacters) == ""
}

// Masked returns what may be a URL without a user name and password, wherever
// they are in it. Everything before the last @ may belong to them, except the
// scheme of a client or peer URL.
func Masked(raw string) string {
	at := strings.LastIndex(raw, "@")
	if at < 0 {
		return raw
	}
	scheme, _, found := strings.Cut(raw[:at], "://")
	if found && (strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https")) {
		return scheme + "://***" + raw[at:]
	}
	return "***" + raw[at:]
}

// IsLoopback reports whether the host of the URL can be reached only on its own
// machine: localhost, or an address such as 127.0.0.1 or ::1.
func IsLoopback(raw string) bool {
	u, err := url.Parse(strings.TrimSpace(raw))
	if err != nil {
		return false
	}
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// SameURLs reports whether two lists hold the same peer URLs, in any order and
// spelling. A URL that cannot be normalised is compared as it is.
func SameURLs(a, b []string) bool { return slices.Equal(urlSet(a), urlSet(b)) }

// sharedURLs returns the peer URLs that two lists have in common, in any spelling.
func sharedURLs(a, b []string) []string { return in(urlSet(a), urlSet(b)) }

// shareURL reports whether two lists have a peer URL in common, in any spelling.
func shareURL(a, b []string) bool { return len(sharedURLs(a, b)) > 0 }

func urlSet(urls []string) []string {
	out := make([]string, 0, len(urls))
	for _, raw := range urls {
		n, err := NormalizeURL(raw)
		if err != nil {
			n = strings.TrimSpace(raw)
		}
		out = append(out, n)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// The standard ports of etcd, for clients and for peers.
const (
	ClientPort = 2379
	PeerPort   = 2380
)

// URLAt returns the URL at an address, in the form of [NormalizeURL]. The address
// is a host name or an IP address without scheme, port and brackets. Anything
// else is refused with a [*URLError], whose URL is the address.
func URLAt(scheme, address string, port int) (string, error) {
	trimmed := strings.TrimSpace(address)
	if trimmed == "" {
		return "", &URLError{URL: trimmed, Problem: URLEmpty}
	}
	host, problem := normalizeHost(trimmed, false)
	if problem != "" {
		return "", &URLError{URL: Masked(trimmed), Problem: problem}
	}
	return scheme + "://" + host + ":" + strconv.Itoa(port), nil
}

// WithPort returns a URL with another port, in the form of [NormalizeURL].
func WithPort(raw string, port int) (string, error) {
	normal, err := NormalizeURL(raw)
	if err != nil {
		return "", err
	}
	return normal[:strings.LastIndex(normal, ":")+1] + strconv.Itoa(port), nil
}
