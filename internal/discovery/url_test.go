// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discovery

import "testing"

// Test that equivalent URLs give the same location.
func TestSameURL(t *testing.T) {
	for want, ways := range map[Location][]string{
		{Base: "https://d.example", Token: token3}: {
			"https://d.example/" + token3, "https://d.example/" + token3 + "/", "https://d.example/" + token3 + "///", "HTTPS://D.Example/" + token3,
			"https://d.example:443/" + token3, "https://d.example//" + token3, "https://d.example/./" + token3 + "?", "https://d.example:/" + token3 + "#",
		},
		{Base: "http://d.example:8087/of/mine", Token: token3}: {
			"http://d.example:8087/of/mine/" + token3, "http://d.example:8087/of//mine/" + token3 + "//", "http://D.EXAMPLE:8087/of/%6dine/" + token3 + "/",
		},
		{Base: "http://[::1]", Token: token3}: {"http://[::1]/" + token3 + "/", "http://[::1]:80/" + token3},
		{Base: "http://r:2379", Prefix: "/_etcd/registry", Token: "mine"}: {
			"http://r:2379/v2/keys/_etcd/registry/mine", "http://r:2379/v2/keys/_etcd/registry/mine/", "http://R:2379//v2/keys//_etcd/registry/mine//",
		},
	} {
		for _, raw := range ways {
			if got, err := ParseURL(raw); got != want || err != nil {
				t.Errorf("%s: got %+v, %v; want %+v", raw, got, err, want)
			}
			if got, err := ParseServiceURL(raw); want.Prefix == "" && (got != want || err != nil) {
				t.Errorf("%s, of a service: got %+v, %v; want %+v", raw, got, err, want)
			}
		}
	}
	for raw, want := range map[string]string{
		"https://d.example/":                                                "does not end with a token of 32 hexadecimal digits",
		"https://d.example/" + token3 + "/x":                                "does not end with a token of 32 hexadecimal digits",
		"https://u:p@d.example/" + token3:                                   "holds more than scheme, host and path",
		"https:///" + token3:                                                "has no host",
		"ftp://d.example/" + token3:                                         "is not an http or https URL",
		"http://r:2379/v2/keys/_etcd/registry/a b":                          "has a token that contains a space",
		"https://d.example/x\u0085bootcmd:\u0085- [ sh, -c, id ]/" + token3: "has a path with characters other than letters, digits and \"-\", \".\", \"_\", \"~\"",
		"https://d.example/x%0abootcmd:/" + token3:                          "has a path with characters other than letters, digits and \"-\", \".\", \"_\", \"~\"",
		"https://d.example/$(id)/" + token3:                                 "has a path with characters other than letters, digits and \"-\", \".\", \"_\", \"~\"",
		"https://$(id)/" + token3:                                           "has a host that is neither an IP address nor a host name",
		"http://r\u0085x:2379/v2/keys/_etcd/registry/a":                     "has a host that is neither an IP address nor a host name",
		"http://r\n/": "is not a URL",
	} {
		if _, err := ParseURL(raw); err == nil || err.Error() != want {
			t.Errorf("%q: got %v, want %s", raw, err, want)
		}
	}
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"https://d.example", "HTTPS://D.example:443", true},
		{"https://d.example", "http://d.example", false},
		{"https://d.example", "https://d.example/x", false},
		{"", "", true},
		{"", "https://d.example", false},
	} {
		if got := SameServiceURL(c.a, c.b); got != c.want {
			t.Errorf("%q and %q: %v", c.a, c.b, got)
		}
	}
}
