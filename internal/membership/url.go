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

// URLProblem says what is wrong with a URL of a member; package text words it.
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
	URLSeveral    URLProblem = "several"  // a list in one text
	URLPort       URLProblem = "port"     // not in 1 to 65535
	URLPath       URLProblem = "path"     // a path other than "/"
	URLQuery      URLProblem = "query"    // a query or a fragment
)

// maxNameLen is the maximum length of a host name, and of a member name accepted
// here.
const maxNameLen = 253

// URLError reports a URL that cannot be used. URL is the URL as given,
// without any user name and password. Client is true for a client URL.
type URLError struct {
	URL     string
	Problem URLProblem
	Client  bool
}

// Error returns a short text for logs; package text words the diagnostics.
func (e *URLError) Error() string {
	return "URL " + strconv.Quote(e.URL) + ": " + string(e.Problem)
}

// NormalizeURL returns an advertised peer URL in the single form in which URLs
// can be compared: scheme and host in lower case, IPv6 addresses in brackets and
// in their canonical form, no trailing slash. It refuses, with a [*URLError],
// what etcd refuses (a missing port, a path), what other members cannot dial (a
// wildcard address), and what does not belong there (a user, a query, a Unix
// socket).
func NormalizeURL(raw string) (string, error) { return normalize(raw, false, false) }

// ListedURL is [NormalizeURL] for a URL in a member list, in which etcd also
// accepts the wildcard address, although it cannot be dialled.
func ListedURL(raw string) (string, error) { return normalize(raw, true, false) }

// ClientURL is [ListedURL] for a client URL that is dialled from here: its default port is
// [ClientPort], and an IPv6 address may have a zone.
func ClientURL(raw string) (string, error) { return normalize(raw, true, true) }

func normalize(raw string, wildcard, client bool) (string, error) {
	trimmed := strings.TrimSpace(raw)
	bad := func(p URLProblem) (string, error) {
		return "", &URLError{URL: Masked(trimmed), Problem: p, Client: client}
	}
	switch {
	case trimmed == "":
		return bad(URLEmpty)
	case !strings.Contains(trimmed, "://"):
		return bad(URLNoScheme)
	case strings.Contains(trimmed, "@"):
		return bad(URLUserinfo)
	case strings.ContainsAny(trimmed, ", \t"):
		return bad(URLSeveral)
	}
	u, err := url.Parse(trimmed)
	if err != nil {
		return bad(URLUnreadable)
	}
	given := u.Port()
	if client && given == "" {
		given = strconv.Itoa(ClientPort)
	}
	port, err := strconv.ParseUint(given, 10, 16)
	host, problem := normalizeHost(u.Hostname(), wildcard, client)
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return bad(URLScheme)
	case u.Hostname() == "":
		return bad(URLNoHost)
	case u.Path != "" && u.Path != "/":
		return bad(URLPath)
	case u.RawQuery != "" || u.ForceQuery || strings.Contains(trimmed, "#"):
		return bad(URLQuery)
	case given == "":
		return bad(URLNoPort)
	case err != nil || port == 0:
		return bad(URLPort)
	case problem != "":
		return bad(problem)
	}
	return u.Scheme + "://" + host + ":" + strconv.FormatUint(port, 10), nil
}

// hostCharacters are the characters of host names, in lower case.
const hostCharacters = "abcdefghijklmnopqrstuvwxyz0123456789.-_"

// normalizeHost returns the host as it is written in a URL. wildcard permits the
// wildcard address, zone an IPv6 address with a zone, which means nothing elsewhere.
func normalizeHost(host string, wildcard, zone bool) (string, URLProblem) {
	host = strings.ToLower(host)
	if ip, err := netip.ParseAddr(host); err == nil {
		switch {
		case ip.Zone() != "" && !zone, strings.Trim(ip.Zone(), hostCharacters) != "":
			return "", URLHost
		case ip.Unmap().IsUnspecified() && !wildcard:
			return "", URLWildcard
		case ip.Is6(): // a URL must escape the % before a zone
			return "[" + strings.Replace(ip.String(), "%", "%25", 1) + "]", ""
		default:
			return ip.String(), ""
		}
	}
	if len(host) > maxNameLen || strings.Trim(host, hostCharacters) != "" {
		return "", URLHost
	}
	return host, ""
}

// ValidHost reports whether the host of a URL is an IP address, for IPv6 also
// with a zone, or consists of host name characters.
func ValidHost(host string) bool {
	_, problem := normalizeHost(host, true, true)
	return host != "" && problem == ""
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
func SameURLs(a, b []string) bool { return slices.Equal(NormalURLs(a), NormalURLs(b)) }

// sharedURLs returns the peer URLs that two lists have in common, in any spelling.
func sharedURLs(a, b []string) []string { return in(NormalURLs(a), NormalURLs(b)) }

// shareURL reports whether two lists have a peer URL in common, in any spelling.
func shareURL(a, b []string) bool { return len(sharedURLs(a, b)) > 0 }

// NormalURLs returns the URLs in the form of [ListedURL], sorted and each once, nil for none. A
// URL that cannot be normalised stays as it is, without white space around it.
func NormalURLs(urls []string) (out []string) {
	for _, raw := range urls {
		n, err := ListedURL(raw)
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
	host, problem := normalizeHost(trimmed, false, false)
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
