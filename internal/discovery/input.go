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

// MaxSize is the greatest number of founders that is accepted. etcd itself has
// no limit, but a token for more would never be completed.
const MaxSize = 99

// What is wrong with an input is told as the end of a sentence whose subject is
// the input; "" is nothing.

// NewToken makes a token from 16 bytes of random: 32 hexadecimal digits, as
// the public service gives them.
func NewToken(random io.Reader) (string, error) {
	var b [16]byte
	if _, err := io.ReadFull(random, b[:]); err != nil {
		return "", fmt.Errorf("reading 16 random bytes: %w", err)
	}
	return hex.EncodeToString(b[:]), nil
}

// TokenProblem says why token cannot name a bootstrap. Members put it into a
// key (and into a URL with v2) by path.Join, so a "/" or ".." in it would lead
// to another key.
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

// PrefixProblem says why prefix cannot hold tokens: it must be an absolute and
// clean path.
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

// parseSize reads the value of a size key as a member does: plain digits, with
// neither space nor line break.
func parseSize(value string) (int, error) {
	n, err := strconv.ParseInt(value, 10, 0)
	if err != nil || n <= 0 {
		return 0, &BadSizeError{Value: value[:min(len(value), 64)]}
	}
	return int(n), nil
}

// maxRegistered is how many peer URLs a registration has at most.
const maxRegistered = 8

// parseMember reads one registration, its URLs in their normal form. Like a
// member, the caller leaves out what cannot be read.
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
