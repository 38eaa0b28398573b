// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discovery

import (
	"errors"
	"net/url"
	"path"
	"regexp"
	"strings"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// servicePath is the path of a service's token.
var servicePath = regexp.MustCompile(`^(/[A-Za-z0-9._~-]+)*/[0-9a-f]{32}$`)

// Location is what a discovery URL says.
type Location struct {
	// Base is the URL of the v2 registry's server, or of the service.
	Base string
	// Prefix is the key that holds a v2 registry's tokens; empty with a service.
	Prefix string
	// Token is the token's name.
	Token string
}

// ParseURL reads a URL that members take as --discovery: of the v2 API, which
// shows by /v2/keys/ in it, or else of a service. URLs that mean the same give
// the same location: with slashes at the end, doubled slashes, capitals in
// scheme and host, or the port that the scheme has anyway. Its errors complete
// the sentence "The URL …".
func ParseURL(raw string) (Location, error) {
	u, err := parseHTTP(raw)
	if err != nil {
		return Location{}, err
	}
	key, isV2 := strings.CutPrefix(u.Path, "/v2/keys/")
	if !isV2 {
		return serviceLocation(u)
	}
	prefix, token := path.Dir("/"+key), path.Base(key)
	if problem := PrefixProblem(prefix); problem != "" {
		return Location{}, errors.New("has a prefix that " + problem)
	}
	if problem := TokenProblem(token); problem != "" {
		return Location{}, errors.New("has a token that " + problem)
	}
	return Location{Base: u.Scheme + "://" + u.Host, Prefix: prefix, Token: token}, nil
}

// ParseServiceURL reads the URL that a service gives for a token: http or
// https, a host, and a path that ends with 32 hexadecimal digits. It reads as
// many ways to write it as [ParseURL] does, with the same errors.
func ParseServiceURL(raw string) (Location, error) {
	u, err := parseHTTP(raw)
	if err != nil {
		return Location{}, err
	}
	return serviceLocation(u)
}

func serviceLocation(u *url.URL) (Location, error) {
	dir, token := path.Split(u.Path)
	if !serviceToken.MatchString(token) {
		return Location{}, errors.New("does not end with a token of 32 hexadecimal digits")
	}
	if !servicePath.MatchString(u.Path) {
		return Location{}, errors.New("has a path with characters other than letters, digits and \"-\", \".\", \"_\", \"~\"")
	}
	return Location{Base: u.Scheme + "://" + u.Host + strings.TrimSuffix(dir, "/"), Token: token}, nil
}

// URL is the location of a service's token, written again: in ASCII, without a
// character that means anything to YAML, a shell or systemd.
func (l Location) URL() string { return l.Base + "/" + l.Token }

// sameOrigin reports whether two URLs have scheme, host and port in common.
func sameOrigin(a, b string) bool {
	x, err1 := parseHTTP(a)
	y, err2 := parseHTTP(b)
	return err1 == nil && err2 == nil && x.Scheme == y.Scheme && x.Host == y.Host
}

// SameServiceURL reports whether two URLs of services are two ways to write one.
func SameServiceURL(a, b string) bool {
	x, err1 := parseHTTP(a)
	y, err2 := parseHTTP(b)
	if err1 != nil || err2 != nil {
		return a == b
	}
	return x.String() == y.String()
}

// parseHTTP reads a URL of scheme, host and path, and writes it in one way of
// all that mean the same. The path has no slash at its end.
func parseHTTP(raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		return nil, errors.New("is not a URL")
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, errors.New("is not an http or https URL")
	case u.Hostname() == "":
		return nil, errors.New("has no host")
	case !membership.ValidHost(u.Hostname()):
		return nil, errors.New("has a host that is neither an IP address nor a host name")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("holds more than scheme, host and path")
	}
	host := strings.ToLower(u.Host)
	if u.Port() == map[string]string{"http": "80", "https": "443"}[u.Scheme] || u.Port() == "" {
		host = strings.TrimSuffix(host, ":"+u.Port())
	}
	out := &url.URL{Scheme: u.Scheme, Host: host}
	if clean := path.Clean("/" + u.Path); clean != "/" {
		out.Path = clean
	}
	return out, nil
}
