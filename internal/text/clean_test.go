// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

import (
	"strings"
	"testing"
	"unicode"
)

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"infra1":             "infra1",
		"https://[::1]:2379": "https://[::1]:2379",
		"a\x1b[2Jb\x00\x7f\u0085\u202e\U000e0001\xff": `a\x1b[2Jb\x00\x7f\x85\u202e\U000e0001\xff`,
		"a\r\nb\tc":                  "a  b c",
		"::error::a ::b::":           `\x3a:error::a \x3a:b::`,
		"::1 a::b":                   "::1 a::b",
		"##[x] ###":                  `\x23#[x] \x23\x23#`,
		hostileToken:                 "5a3c7d0e…",
		hostileToken + "0":           hostileToken + "0",
		"https://a:b@h/x":            "https://***@h/x",
		strings.Repeat("é", 201):     "(201 characters, not shown)",
		strings.Repeat("é b, ", 201): strings.TrimSpace(strings.Repeat("é b, ", 201)),
		"日本語 \ufffd":                 "日本語 \ufffd",
	} {
		got := Clean(in)
		if got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
		if again := Clean(got); again != got {
			t.Errorf("%q: cleaned again it is %q", got, again)
		}
	}
	if got := Lines("a\n  b\x1b\n\n::c"); got != "a\n  b\\x1b\n\n\\x3a:c" {
		t.Errorf("lines: got %q", got)
	}
}

func FuzzClean(f *testing.F) {
	f.Add(hostile)
	f.Add("a\n::b##[c")
	f.Fuzz(func(t *testing.T, s string) {
		got := Clean(s)
		if strings.ContainsFunc(got, func(r rune) bool { return !unicode.IsPrint(r) }) || commandLine.MatchString(got) {
			t.Fatalf("%q: %q", s, got)
		}
		if again := Clean(got); again != got {
			t.Fatalf("%q: %q, then %q", s, got, again)
		}
	})
}
