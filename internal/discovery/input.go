// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discovery

import (
	"encoding/hex"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// MaxSize is the maximum number of initial members. etcd itself has no limit,
// but a token for more members would never be completed.
const MaxSize = 99

// The functions below describe a problem as the end of a sentence whose subject
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
