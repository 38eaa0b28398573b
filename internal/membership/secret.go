// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// A key, a password or a signature can be in the value of any argument. So the
// same rule decides for every value and every text what of it is shown.

// longestShown is the length of the longest value that is shown, in characters.
const longestShown = 200

var (
	// pem matches PEM text up to its end, also without its first dashes, and its
	// beginning in base64.
	pem = regexp.MustCompile(`(?s)-*BEGIN [A-Z0-9 ]+-+.*?(-+END [A-Z0-9 ]+-+|$)|\bLS0tL[A-Za-z0-9+/_-]{16,}=*`)
	// userinfo matches the user and the password of a URL, query its query.
	userinfo = regexp.MustCompile(`://[^\s"]*@`)
	query    = regexp.MustCompile(`(://[^\s"?]*)\?[^\s"]+`)
)

// Shown returns a value as it may be shown: without the user, the password and the
// query of a URL. ok is false if it must not be shown because it may be a key: it
// has a line break, PEM text or more than 200 characters.
func Shown(value string) (shown string, ok bool) {
	if strings.ContainsAny(value, "\n\r") || utf8.RuneCountInString(value) > longestShown || pem.MatchString(value) {
		return "", false
	}
	if !strings.Contains(value, "://") {
		return value, true
	}
	value, _, cut := strings.Cut(Masked(value), "?")
	if cut {
		value += "?***"
	}
	return value, true
}

// IsPEM reports whether an argument that takes a path or PEM text holds PEM text.
func IsPEM(value string) bool { return strings.HasPrefix(value, "-----BEGIN ") }

// Hidden returns what is shown of a value that must not be shown.
func Hidden(value string) string {
	return fmt.Sprintf("(%d characters, not shown)", utf8.RuneCountInString(value))
}

// Redacted returns a text of several words without PEM text, and without users,
// passwords and queries in URLs.
func Redacted(text string) string {
	text = pem.ReplaceAllString(text, "***")
	return query.ReplaceAllString(userinfo.ReplaceAllString(text, "://***@"), "$1?***")
}
