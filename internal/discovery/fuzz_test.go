// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discovery

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"

	clientv2 "go.etcd.io/etcd/client/v2"
)

func FuzzParseURL(f *testing.F) {
	for _, s := range []string{
		"https://r.example.com:2379/v2/keys/_etcd/registry/5a3c7d0e4b1f4c52a9e86b1d0f7c2e93", "https://d.example.com/5a3c7d0e4b1f4c52a9e86b1d0f7c2e93",
		"http://u:p@h/v2/keys/a/b", "http://h/v2/keys/", "http://h/v2/keys/../b", "http://h/v2/keys/a//b", "h", "http://h/%2e%2e/v2/keys/a/b",
		"http://h/x\u0085bootcmd:\u0085- [ sh, -c, id ]\u0085/5a3c7d0e4b1f4c52a9e86b1d0f7c2e93", "http://h/$(id)/5a3c7d0e4b1f4c52a9e86b1d0f7c2e93",
		"http://h/%0aa/5a3c7d0e4b1f4c52a9e86b1d0f7c2e93", "http://a b/5a3c7d0e4b1f4c52a9e86b1d0f7c2e93",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		l, err := ParseURL(raw)
		if err != nil {
			return
		}
		if TokenProblem(l.Token) != "" && l.Prefix != "" || l.Token == "" || strings.Contains(l.Base, "@") || !strings.HasPrefix(l.Base, "http") {
			t.Fatalf("ParseURL(%q) = %+v", raw, l)
		}
		if !regexp.MustCompile(`^https?://[][A-Za-z0-9.:%_-]+(/[A-Za-z0-9._~-]+)*$`).MatchString(l.Base) {
			t.Fatalf("ParseURL(%q) = %+v", raw, l)
		}
		if l.Prefix == "" {
			if back, err := ParseURL(l.URL()); err != nil || back != l {
				t.Fatalf("ParseURL(%q) = %+v, which is read as %+v, %v", raw, l, back, err)
			}
			return
		}
		if PrefixProblem(l.Prefix) != "" {
			t.Fatalf("ParseURL(%q) = %+v", raw, l)
		}
		text := l.Base + "/v2/keys" + strings.TrimSuffix(l.Prefix, "/") + "/" + l.Token
		if back, err := ParseURL(text); err != nil || back != l {
			t.Fatalf("ParseURL(%q) = %+v; written as %q and read as %+v, %v", raw, l, text, back, err)
		}
	})
}

func FuzzRegistration(f *testing.F) {
	f.Add("8e9e05c52164694d", "a=http://10.0.0.1:2380,a=http://10.0.0.2:2380")
	f.Add("0", "=")
	f.Add("a1", "a=http://a\u0085b:2380")
	f.Add("a1", "a\x1b[2J=http://10.0.0.1:2380")
	f.Add("x", "a")
	f.Fuzz(func(t *testing.T, id, value string) {
		m, ok := parseMember(id, value)
		if ok && (m.ID.String() == "" || len(m.PeerURLs) == 0 || len(m.PeerURLs) > 8 || strings.Contains(m.Name, "=") || len(m.Name) > 253 ||
			strings.ContainsFunc(m.Name, func(r rune) bool { return !unicode.IsPrint(r) })) {
			t.Fatalf("parseMember(%q, %q) = %+v", id, value, m)
		}
		for _, u := range m.PeerURLs {
			if strings.Trim(u, "abcdefghijklmnopqrstuvwxyz0123456789.-_:/[]") != "" {
				t.Fatalf("parseMember(%q, %q) = %+v", id, value, m)
			}
		}
		if n, err := parseSize(value); err == nil && (n <= 0 || strings.TrimLeft(strings.TrimPrefix(value, "+"), "0") != strconv.Itoa(n)) {
			t.Fatalf("parseSize(%q) = %d", value, n)
		}
	})
}

// FuzzServiceStatus parses what a discovery service may send as the state of a
// token.
func FuzzServiceStatus(f *testing.F) {
	f.Add([]byte(`{"node":{"nodes":[{"key":"/_etcd/registry/x/8e9e05c52164694d","value":"a=http://10.0.0.1:2380","createdIndex":7}]}}`), []byte(`{"node":{"value":"3"}}`))
	f.Add([]byte(`{"node":{"nodes":[null,{"nodes":[{}]}]}}`), []byte(`[]`))
	f.Fuzz(func(t *testing.T, members, size []byte) {
		var m, n clientv2.Response
		if json.Unmarshal(members, &m) != nil || json.Unmarshal(size, &n) != nil {
			return
		}
		status, err := statusOfService(m, n)
		if err == nil && (status.Size < 1 || len(status.Members) > status.Size) {
			t.Fatalf("%q and %q are %+v", members, size, status)
		}
	})
}
