// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

import (
	"errors"
	"strings"
	"testing"
)

func TestNormalizeURL(t *testing.T) {
	good := map[string]string{
		"http://10.0.0.1:2380":                 "http://10.0.0.1:2380",
		" HTTPS://Infra1.Example.COM:2380/ ":   "https://infra1.example.com:2380",
		"http://[2001:DB8:0:0::1]:2380":        "http://[2001:db8::1]:2380",
		"http://localhost:02380":               "http://localhost:2380",
		"https://etcd-0.etcd_headless.ns:2380": "https://etcd-0.etcd_headless.ns:2380",
	}
	for raw, want := range good {
		if got, err := NormalizeURL(raw); err != nil || got != want {
			t.Errorf("NormalizeURL(%q) = %q, %v, want %q", raw, got, err, want)
		}
	}
	bad := map[string]URLProblem{
		"":                              URLEmpty,
		"  ":                            URLEmpty,
		"10.0.0.1:2380":                 URLNoScheme,
		"infra1:2380":                   URLNoScheme,
		"http:/10.0.0.1:2380":           URLNoScheme,
		"http://10.0.0.1 :2380":         URLUnreadable,
		"http://[::1:2380":              URLUnreadable,
		"http://10.0.0.1:port":          URLUnreadable,
		"unix://10.0.0.1:2380":          URLScheme,
		"ftp://10.0.0.1:2380":           URLScheme,
		"http://root:secret@a:2380":     URLUserinfo,
		"http://:2380":                  URLNoHost,
		"http://a,b:2380":               URLHost,
		"http://[fe80::1%25eth0]:2380":  URLHost,
		"http://0.0.0.0:2380":           URLWildcard,
		"https://[::]:2380":             URLWildcard,
		"https://[::ffff:0.0.0.0]:2380": URLWildcard,
		"http://10.0.0.1":               URLNoPort,
		"http://10.0.0.1:":              URLNoPort,
		"http://10.0.0.1:0":             URLPort,
		"http://10.0.0.1:65536":         URLPort,
		"http://10.0.0.1:2380/members":  URLPath,
		"http://10.0.0.1:2380?x=1":      URLQuery,
		"http://10.0.0.1:2380#x":        URLQuery,
		"http://" + strings.Repeat("a", 254) + ":2380": URLHost,
	}
	for raw, want := range bad {
		got, err := NormalizeURL(raw)
		var e *URLError
		if !errors.As(err, &e) || e.Problem != want || got != "" {
			t.Errorf("NormalizeURL(%q) = %q, %v, want problem %q", raw, got, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("the error shows a password: %v", err)
		}
	}
}

func TestSameURLs(t *testing.T) {
	tests := []struct {
		a, b []string
		want bool
	}{
		{nil, nil, true},
		{nil, []string{"http://a:1"}, false},
		{[]string{"http://a:1", "http://b:2"}, []string{"http://B:2/", "HTTP://a:1", "http://a:1"}, true},
		{[]string{"http://a:1"}, []string{"https://a:1"}, false},
		{[]string{"http://a:1"}, []string{"http://a:2"}, false},
		{[]string{"garbage"}, []string{" garbage "}, true},
		{[]string{"garbage"}, []string{"rubbish"}, false},
	}
	for _, tt := range tests {
		if got := SameURLs(tt.a, tt.b); got != tt.want {
			t.Errorf("SameURLs(%q, %q) = %v", tt.a, tt.b, got)
		}
		if got := SameURLs(tt.b, tt.a); got != tt.want {
			t.Errorf("SameURLs(%q, %q) = %v", tt.b, tt.a, got)
		}
	}
}

func TestIsLoopback(t *testing.T) {
	for raw, want := range map[string]bool{
		"http://127.0.0.1:2380":          true,
		"http://127.8.8.8:2380":          true,
		"http://[::1]:2380":              true,
		"http://[::ffff:127.0.0.1]:2380": true,
		"http://LOCALHOST:2380":          true,
		"http://localhost.:2380":         true,
		"http://a.localhost:2380":        true,
		"http://10.0.0.1:2380":           false,
		"http://localhost.example:2380":  false,
		"http://0.0.0.0:2380":            false,
		"http://[::1:2380":               false,
		"":                               false,
	} {
		if got := IsLoopback(raw); got != want {
			t.Errorf("IsLoopback(%q) = %v", raw, got)
		}
	}
}
