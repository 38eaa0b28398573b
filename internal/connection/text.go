// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package connection

import (
	"fmt"
	"strconv"
	"unicode"
	"unicode/utf8"
)

// Bounds of what is shown of a text that came over the wire, and of one that may
// be shown as it is, in bytes.
const (
	shown = 200
	long  = 1024
	name  = 253
)

// Quote returns a text that came over the wire as a person may be shown it:
// quoted, in ASCII, and its first 200 bytes only if it is longer.
func Quote(s string) string {
	cut := Cut(s)
	if len(cut) < len(s) {
		return strconv.QuoteToASCII(cut) + "…"
	}
	return strconv.QuoteToASCII(cut)
}

// Cut returns at most the first 200 bytes of a text, and no part of a character.
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

// Plain reports why a text that came over the wire must not be shown as it is:
// it is longer than 1024 bytes, or holds characters that cannot be printed.
func Plain(s string) error {
	if len(s) > long {
		return fmt.Errorf("it is longer than %d bytes", long)
	}
	for i, r := range s {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return fmt.Errorf("the character at %d cannot be printed", i)
		}
	}
	return nil
}

// PlainName is [Plain] for a name or a version, which has at most 253 bytes.
func PlainName(s string) error {
	if len(s) > name {
		return fmt.Errorf("it is longer than %d bytes", name)
	}
	return Plain(s)
}
