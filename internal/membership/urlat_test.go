// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership_test

import (
	"errors"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

func TestURLAt(t *testing.T) {
	for address, want := range map[string]string{
		"10.0.1.10":          "https://10.0.1.10:2380",
		" 10.0.1.10 ":        "https://10.0.1.10:2380",
		"fd00:0::1":          "https://[fd00::1]:2380",
		"FD00::A":            "https://[fd00::a]:2380",
		"etcd-1.Example.com": "https://etcd-1.example.com:2380",
		"localhost":          "https://localhost:2380",
	} {
		got, err := membership.URLAt("https", address, membership.PeerPort)
		if err != nil || got != want {
			t.Errorf("%q: got %q, %v, want %q", address, got, err, want)
		}
		if normal, err := membership.NormalizeURL(got); err != nil || normal != got {
			t.Errorf("%q: NormalizeURL(%q) is %q, %v", address, got, normal, err)
		}
	}
	for address, want := range map[string]membership.URLProblem{
		"":                       membership.URLEmpty,
		" ":                      membership.URLEmpty,
		"0.0.0.0":                membership.URLWildcard,
		"::":                     membership.URLWildcard,
		"10.0.1.10:2380":         membership.URLHost,
		"a:2380":                 membership.URLHost,
		"https://10.0.1.10":      membership.URLHost,
		"https://10.0.1.10:2380": membership.URLHost,
		"[fd00::1]":              membership.URLHost,
		"fe80::1%eth0":           membership.URLHost,
		"a/b":                    membership.URLHost,
		"a,b":                    membership.URLHost,
		"10.0.1.10/24":           membership.URLHost,
		"user:secret@a":          membership.URLHost,
	} {
		got, err := membership.URLAt("https", address, membership.PeerPort)
		var bad *membership.URLError
		if !errors.As(err, &bad) || bad.Problem != want {
			t.Errorf("%q: got %q, %v, want the problem %q", address, got, err, want)
		}
	}
}

func TestWithPort(t *testing.T) {
	for raw, want := range map[string]string{
		"https://10.0.1.10:2380":      "https://10.0.1.10:2379",
		"http://A.example.com:12380/": "http://a.example.com:2379",
		"https://[FD00::1]:2380":      "https://[fd00::1]:2379",
	} {
		if got, err := membership.WithPort(raw, membership.ClientPort); err != nil || got != want {
			t.Errorf("%s: got %q, %v, want %q", raw, got, err, want)
		}
	}
	if got, err := membership.WithPort("https://10.0.1.10", membership.ClientPort); err == nil {
		t.Errorf("a URL without a port gives %q", got)
	}
}
