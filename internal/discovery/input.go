// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discovery

import (
	"cmp"
	"errors"
	"fmt"
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
	const letters = "abcdefghijklmnopqrstuvwxyz"
	wanted := letters + strings.ToUpper(letters) + "0123456789-_." + also
	for _, r := range s {
		if !strings.ContainsRune(wanted, r) {
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
	m := Member{ID: memberID}
	pairs := strings.SplitN(strings.TrimSpace(value), ",", maxRegistered+1)
	if err != nil || len(pairs) > maxRegistered {
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

// The protocols of a token.
const (
	// V3 is discovery through the v3 keys of an etcd cluster of any version. Members of 3.6 or
	// later register themselves, and the join script registers members of every version.
	V3 = "v3"
	// V2 is discovery through the v2 keys of an etcd up to 3.5, for members up to 3.6.
	V2 = "v2"
	// ByService is discovery through a service with the protocol of discovery.etcd.io, for
	// members up to 3.6.
	ByService = "service"
)

// Location says where a token is.
type Location struct {
	// Protocol is [V3], [V2] or [ByService].
	Protocol string `json:"protocol"`
	// Base is the URL of the service, or with v2 of one endpoint of the discovery cluster.
	Base string `json:"service_url"`
	// Prefix is the key that holds the tokens. It is empty with a service.
	Prefix string `json:"prefix"`
	// Token is the name of the token.
	Token string `json:"token"`
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
	base := u.Scheme + "://" + u.Host
	switch dir, token := path.Split(u.Path); {
	case !isV2 && servicePath.MatchString(u.Path):
		return Location{Protocol: ByService, Base: base + strings.TrimSuffix(dir, "/"), Token: token}, nil
	case !isV2:
		return Location{}, errors.New("does not end with a token of 32 hexadecimal digits after a path of letters, digits and \"-\", \".\", \"_\", \"~\"")
	}
	prefix, token := path.Dir("/"+key), path.Base(key)
	if problem := PrefixProblem(prefix); problem != "" {
		return Location{}, errors.New("has a prefix that " + problem)
	}
	if problem := TokenProblem(token); problem != "" {
		return Location{}, errors.New("has a token that " + problem)
	}
	return Location{Protocol: V2, Base: base, Prefix: prefix, Token: token}, nil
}

// URL returns the --discovery URL of a token of v2 or a service in a normal form: in ASCII,
// without characters that are special to YAML, a shell or systemd.
func (l Location) URL() string {
	if l.Protocol == V2 {
		return l.Base + "/v2/keys" + path.Join(l.Prefix, l.Token)
	}
	return l.Base + "/" + l.Token
}

// origin returns the scheme, host and port of a URL, "" for another text.
func origin(raw string) string {
	u, err := parseHTTP(raw)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// SameServiceURL reports whether two URLs of services are equivalent.
func SameServiceURL(a, b string) bool {
	x, err := parseHTTP(a)
	y, err2 := parseHTTP(b)
	return a == b || cmp.Or(err, err2) == nil && *x == *y
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
