// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

import (
	"encoding/base64"
	"strings"
	"testing"
)

const key = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIB\n-----END PRIVATE KEY-----\n"

func TestShown(t *testing.T) {
	t.Parallel()
	const hidden = "(hidden)"
	for value, want := range map[string]string{
		"":                                  "",
		"pki/root-key.pem":                  "pki/root-key.pem",
		"a@b":                               "a@b",
		strings.Repeat("é", 200):            strings.Repeat("é", 200),
		strings.Repeat("é", 201):            hidden,
		"a\nb":                              hidden,
		"a\rb":                              hidden,
		key:                                 hidden,
		key[1:]:                             hidden,
		strings.ReplaceAll(key, "\n", ""):   hidden,
		strings.ReplaceAll(key, "\n", `\n`): hidden,
		base64.StdEncoding.EncodeToString([]byte(key)):     hidden,
		base64.StdEncoding.EncodeToString([]byte(key[1:])): hidden,
		"https://h/b.db?sig=1 2\"3":                        "https://h/b.db?***",
		"https://root:a,b;c d\"e@h:1":                      "https://***@h:1",
	} {
		got, ok := Shown(value)
		if !ok {
			got += hidden
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", value, got, want)
		}
	}
}

func TestRedacted(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a\nb":                       "a\nb",
		"key: " + key + "is no path": "key: ***\nis no path",
		"key: " + key[1:] + "x":      "key: ***\nx",
		"key: " + key[:40]:           "key: ***",
		"begins with -----BEGIN and": "begins with -----BEGIN and",
		`key is "` + base64.StdEncoding.EncodeToString([]byte(key)) + `".`: `key is "***".`,
		`Get "https://h/b.db?a=1,2;b=3": refused`:                          `Get "https://h/b.db?***": refused`,
		"Is it https://h/? No: a@b":                                        "Is it https://h/? No: a@b",
		"http://a:1, http://root:p,w;d@b:2 x":                              "http://a:1, http://***@b:2 x",
	} {
		got := Redacted(text)
		if got != want || Redacted(got) != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
