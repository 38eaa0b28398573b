// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package connection

import (
	"fmt"
	"io"
	"strconv"
	"unicode"
	"unicode/utf8"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// Limits of texts that came over the wire, in bytes: of the part that is shown,
// of a text shown unchanged, and of a name or a version.
const (
	shown = 200
	long  = 1024
	name  = 253
)

// Quote returns a text that came over the wire in a form safe to display: quoted and
// in ASCII, if it may be shown; see [membership.Shown].
func Quote(s string) string {
	if shown, ok := membership.Shown(s); ok {
		return strconv.QuoteToASCII(shown)
	}
	return membership.Hidden(s)
}

// Cut returns at most the first 200 bytes of a text. It does not split a character.
func Cut(s string) string {
	if len(s) <= shown {
		return s
	}
	n := shown
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// Plain returns an error if a text that came over the wire must not be shown
// unchanged: it is longer than 1024 bytes or contains unprintable characters.
func Plain(s string) error { return plain(s, long) }

// PlainName is like [Plain] for a name or a version, with a limit of 253 bytes.
func PlainName(s string) error { return plain(s, name) }

func plain(s string, limit int) error {
	if len(s) > limit {
		return fmt.Errorf("it is longer than %d bytes", limit)
	}
	for i, r := range s {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return fmt.Errorf("the character at %d cannot be printed", i)
		}
	}
	return nil
}

// Secret is a text that must not be printed. All formatting yields "***", or ""
// if it is empty. Only [Secret.Reveal] returns the text.
type Secret string

// String implements fmt.Stringer.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return "***"
}

// Format implements fmt.Formatter. No verb, not even a wrong one such as %d,
// prints the text.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// MarshalText implements encoding.TextMarshaler, which JSON encoders and
// loggers use.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Reveal returns the secret for the one call that needs it.
func (s Secret) Reveal() string { return string(s) }
