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

// servicePath matches the path of a service's token.
var servicePath = regexp.MustCompile(`^(/[A-Za-z0-9._~-]+)*/[0-9a-f]{32}$`)

// Location is the content of a discovery URL.
type Location struct {
	// Base is the URL of the v2 discovery cluster or of the service.
	Base string
	// Prefix is the key that holds the tokens with v2. It is empty with a service.
	Prefix string
	// Token is the name of the token.
	Token string
}

// ParseURL parses a URL that members take as --discovery: one of the v2 API,
// which contains /v2/keys/, or one of a service. Equivalent URLs give the same
// location: trailing or doubled slashes, capitals in scheme and host, and the
// default port do not matter. Its errors complete the sentence "The URL …".
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

// ParseServiceURL parses a service's URL of a token: http or https, a host, and
// a path that ends with 32 hexadecimal digits. It accepts the same variants and
// returns the same errors as [ParseURL].
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

// URL returns the URL of a service's token in a normal form: in ASCII, without
// characters that are special to YAML, a shell or systemd.
func (l Location) URL() string { return l.Base + "/" + l.Token }

// sameOrigin reports whether two URLs have the same scheme, host and port.
func sameOrigin(a, b string) bool {
	x, err1 := parseHTTP(a)
	y, err2 := parseHTTP(b)
	return err1 == nil && err2 == nil && x.Scheme == y.Scheme && x.Host == y.Host
}

// SameServiceURL reports whether two URLs of services are equivalent.
func SameServiceURL(a, b string) bool {
	x, err1 := parseHTTP(a)
	y, err2 := parseHTTP(b)
	if err1 != nil || err2 != nil {
		return a == b
	}
	return x.String() == y.String()
}

// parseHTTP parses a URL of scheme, host and path, and normalises it. The path
// has no trailing slash.
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
