// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discovery

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// MaxSize is the maximum number of initial members. etcd itself has no limit,
// but a token for more members would never be completed.
const MaxSize = 99

// The functions named after a problem describe it as the end of a sentence whose subject
// is the input. They return "" for a valid input.

// NewToken returns a token of 32 hexadecimal digits, like those of the public
// service, from 16 random bytes.
func NewToken(random io.Reader) (string, error) {
	var b [16]byte
	if _, err := io.ReadFull(random, b[:]); err != nil {
		return "", fmt.Errorf("reading 16 random bytes: %w", err)
	}
	return hex.EncodeToString(b[:]), nil
}

// TokenProblem says why token cannot name a bootstrap. Members use path.Join to
// put it into a key (with v2 also into a URL), so "/" or ".." would lead to
// another key.
func TokenProblem(token string) string {
	switch {
	case token == "":
		return "is empty"
	case strings.Contains(token, "/"):
		return "contains \"/\""
	case strings.Contains(token, ".."):
		return "contains \"..\""
	case token == ".":
		return "is \".\", which names no key of its own"
	}
	return unwantedCharacter(token, "")
}

// PrefixProblem says why prefix cannot hold tokens or heartbeats. It must be an
// absolute, clean path, apart from the keys of the provider: another value at the key of
// the lock blocks every change.
func PrefixProblem(prefix string) string {
	switch {
	case prefix == "":
		return "is empty"
	case !strings.HasPrefix(prefix, "/"):
		return "does not begin with \"/\""
	case prefix == "/":
		return "is the root of the key space"
	case strings.HasSuffix(prefix, "/"):
		return "ends with \"/\""
	case path.Clean(prefix) != prefix:
		return "contains \"//\", \".\" or \"..\" as a part of the path"
	case strings.HasPrefix(prefix+"/", membership.MetadataPrefix), strings.HasPrefix(membership.MetadataPrefix, prefix+"/"):
		return "shares keys with " + membership.MetadataPrefix + ", which are the provider's own"
	}
	return unwantedCharacter(prefix, "/")
}

func unwantedCharacter(s, also string) string {
	for _, r := range s {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9':
		case strings.ContainsRune("-_."+also, r):
		case r == ' ':
			return "contains a space"
		case r == '\n':
			return "contains a line break"
		default:
			return fmt.Sprintf("contains %q", r)
		}
	}
	return ""
}

// parseSize parses the value of a size key as a member does: a decimal number
// above 0, without spaces or line breaks.
func parseSize(value string) (int, error) {
	n, err := strconv.ParseInt(value, 10, 0)
	if err != nil || n <= 0 {
		return 0, &BadSizeError{Value: value[:min(len(value), 64)]}
	}
	return int(n), nil
}

// maxRegistered is the maximum number of peer URLs of a registration.
const maxRegistered = 8

// parseMember parses one registration and normalises its URLs. The caller
// ignores registrations that cannot be parsed, as members do.
func parseMember(id, value string) (Member, bool) {
	memberID, err := membership.ParseMemberID(id)
	if err != nil {
		return Member{}, false
	}
	m := Member{ID: memberID}
	pairs := strings.SplitN(strings.TrimSpace(value), ",", maxRegistered+1)
	if len(pairs) > maxRegistered {
		return Member{}, false
	}
	for _, pair := range pairs {
		name, raw, _ := strings.Cut(pair, "=")
		u, err := membership.ListedURL(raw)
		if err != nil || connection.PlainName(name) != nil {
			return Member{}, false
		}
		m.Name = name
		m.PeerURLs = append(m.PeerURLs, u)
	}
	return m, true
}

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
