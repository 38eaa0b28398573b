// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package claim

import (
	"strings"
	"testing"
	"unicode"
)

// Whatever the value of a lock, the text about its holder can be displayed: it
// is one line without control characters.
func FuzzHolderOf(f *testing.F) {
	f.Add(`{"who":"alice@ops1","pid":12,"run":"x","since":"2026-11-21T01:02:03Z","doing":"add member e"}`)
	f.Add(`{"who":"alice\u001b[2J@ops1","doing":"add member e"}`)
	f.Add(`{"who":"alice@ops1","doing":"add\nmember e"}`)
	f.Add("{\"who\":\"alice\u202e@ops1\"}")
	f.Add(`{"pid":-1e999}`)
	f.Add("a UUID of somebody's own")
	f.Fuzz(func(t *testing.T, value string) {
		text := HolderOf(Entry{Value: value}).String()
		if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Fatalf("HolderOf(%q) is %q", value, text)
		}
	})
}
