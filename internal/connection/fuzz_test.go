// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package connection

import (
	"errors"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

// masks matches what may be shown of a text that contains an @.
var masks = regexp.MustCompile(`(?is)^((https?://)?\*\*\*@)?[^@]*$`)

func FuzzParseEndpoint(f *testing.F) {
	for _, s := range []string{"10.0.0.1", "https://H:2379/", "::1", "http://[::1%eth0]", "http://u:secret@h", "u:secret@://", "u:secret@http://h", "h:0", "h:65536", "a,b", "unix:///x", " h ", "http://h?x", "//h"} {
		f.Add(s, true)
		f.Add(s, false)
	}
	f.Fuzz(func(t *testing.T, raw string, withTLS bool) {
		got, err := ParseEndpoint(raw, withTLS)
		if err != nil {
			var refused *EndpointError
			if !errors.As(err, &refused) || !masks.MatchString(refused.Endpoint) || strings.Contains(refused.Reason, "@") {
				t.Fatalf("ParseEndpoint(%q) tells the password: %v", raw, err)
			}
			return
		}
		again, err := ParseEndpoint(got, !withTLS)
		if err != nil || again != got {
			t.Fatalf("ParseEndpoint(%q) = %q, and of that %q, %v", raw, got, again, err)
		}
		u, err := url.Parse(got)
		if err != nil || u.Host == "" || u.Port() == "" || u.User != nil || u.Path != "" || u.RawQuery != "" || (u.Scheme != "http" && u.Scheme != "https") {
			t.Fatalf("ParseEndpoint(%q) = %q: %+v, %v", raw, got, u, err)
		}
	})
}

func FuzzParseAddressMap(f *testing.F) {
	f.Add("https://a:2379", "127.0.0.1:1", "https://A:2379/", "127.0.0.1:2")
	f.Add("a", "http://b", "c", "https://d")
	f.Fuzz(func(t *testing.T, from1, to1, from2, to2 string) {
		raw := map[string]string{from1: to1, from2: to2}
		got, err := ParseAddressMap(raw, false)
		if err != nil {
			return
		}
		if again, err := ParseAddressMap(got, true); err != nil || len(again) != len(got) {
			t.Fatalf("ParseAddressMap(%q) = %q, and of that %q, %v", raw, got, again, err)
		}
		for from, to := range got {
			if a, b, _ := strings.Cut(from, ":"); !strings.HasPrefix(to, a+":") || b == "" {
				t.Fatalf("ParseAddressMap(%q) = %q", raw, got)
			}
		}
	})
}
