// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package connection

import (
	"errors"
	"maps"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

func TestParseEndpoint(t *testing.T) {
	for _, c := range []struct {
		raw     string
		withTLS bool
		want    string
	}{
		{"https://10.0.1.10:2379", false, "https://10.0.1.10:2379"},
		{"http://10.0.1.10:2379", true, "http://10.0.1.10:2379"},
		{"10.0.1.10:2380", false, "http://10.0.1.10:2380"},
		{"10.0.1.10:2380", true, "https://10.0.1.10:2380"},
		{"infra1.Example.COM", true, "https://infra1.example.com:2379"},
		{" HTTPS://Infra1:2379/ ", false, "https://infra1:2379"},
		{"::1", false, "http://[::1]:2379"},
		{"https://[FE80::1%25eth0]", false, "https://[fe80::1%25eth0]:2379"},
		{"[FD00::A]:4001", false, "http://[fd00::a]:4001"},
		{"https://[fd00::a]", false, "https://[fd00::a]:2379"},
		{"localhost", false, "http://localhost:2379"},
	} {
		got, err := ParseEndpoint(c.raw, c.withTLS)
		if err != nil || got != c.want {
			t.Errorf("ParseEndpoint(%q, %v) = %q, %v; want %q", c.raw, c.withTLS, got, err, c.want)
		}
		if again, err := ParseEndpoint(got, !c.withTLS); err != nil || again != got {
			t.Errorf("the normal form %q is not stable: %q, %v", got, again, err)
		}
	}
}

func TestParseEndpointRefuses(t *testing.T) {
	for raw, want := range map[string]string{
		"":                            `URL "": empty`,
		"  ":                          `URL "": empty`,
		"ftp://a:2379":                `URL "ftp://a:2379": scheme`,
		"unix:///run/etcd.sock":       `URL "unix:///run/etcd.sock": scheme`,
		"https://a:2379/v3":           `URL "https://a:2379/v3": path`,
		"https://a:2379?x=1":          `URL "https://a:2379?x=1": query`,
		"https://a:2379#x":            `URL "https://a:2379#x": query`,
		"https://:2379":               `URL "https://:2379": no host`,
		"https://a:0":                 `URL "https://a:0": port`,
		"https://a:65536":             `URL "https://a:65536": port`,
		"https://a:port":              `URL "https://a:port": unreadable`,
		"a:2379,b:2379":               `URL "a:2379,b:2379": several`,
		"a,b":                         `URL "a,b": several`,
		"https://$(id):2379":          `URL "https://$(id):2379": host`,
		"https://a;reboot:2379":       `URL "https://a;reboot:2379": host`,
		"a\u0085b":                    `URL "a\u0085b": host`,
		"https://[fe80::1%25a;b]:23":  `URL "https://[fe80::1%25a;b]:23": host`,
		"https://root:swordfish@a:23": `URL "https://***@a:23": userinfo`,
		"root:sword@fish@a:23":        `URL "***@a:23": userinfo`,
		"sword://fish@https://a":      `URL "***@https://a": userinfo`,
		"root:swordfish@http://a:23":  `URL "***@http://a:23": userinfo`,
		":sword@://":                  `URL "***@://": userinfo`,
	} {
		got, err := ParseEndpoint(raw, false)
		if err == nil || err.Error() != want {
			t.Errorf("ParseEndpoint(%q) = %q, %v; want %s", raw, got, err, want)
		}
	}
}

func TestParseEndpoints(t *testing.T) {
	got, err := ParseEndpoints([]string{"b", "a:2379", "http://A:2379/"}, false)
	if err != nil || strings.Join(got, " ") != "http://b:2379 http://a:2379" {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := ParseEndpoints([]string{"a", "x://b"}, false); err == nil {
		t.Error("a bad endpoint passed")
	}
}

func TestParseMetricsURL(t *testing.T) {
	for raw, want := range map[string]string{
		"http://0.0.0.0:2381": "http://0.0.0.0:2381", " HTTPS://[::]:2381/ ": "https://[::]:2381",
		"http://0.0.0.0": "no port", "0.0.0.0:2381": "no scheme", "http://10.0.0.1:2381": "of one member", "http://:2381": "no host",
		"http://0.0.0.0:2381/metrics": "path", "": "empty", "http://u:p@0.0.0.0:2381": "userinfo",
	} {
		got, err := ParseMetricsURL(raw)
		if got != want && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %q, %v; want %q", raw, got, err, want)
		}
	}
}

func TestParseAddressMap(t *testing.T) {
	got, err := ParseAddressMap(map[string]string{
		"https://10.0.0.1:2379": "bastion:12379",
		"http://10.0.0.2":       "http://127.0.0.1:22379/",
	}, false)
	want := map[string]string{
		"https://10.0.0.1:2379": "https://bastion:12379",
		"http://10.0.0.2:2379":  "http://127.0.0.1:22379",
	}
	if err != nil || !maps.Equal(got, want) {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
	for want, raw := range map[string]map[string]string{
		`URL "http://b": another scheme`:    {"https://a": "http://b"},
		`URL "https://b": another scheme`:   {"http://a": "https://b"},
		`URL "http://a:2379": mapped twice`: {"http://a": "b", "http://a:2379": "c"},
		`URL "x://a": scheme`:               {"x://a": "b"},
		`URL "b/c": path`:                   {"a": "b/c"},
	} {
		if got, err := ParseAddressMap(raw, false); err == nil || err.Error() != want {
			t.Errorf("ParseAddressMap(%q) = %q, %v; want %s", raw, got, err, want)
		}
	}
}

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
			var refused *membership.URLError
			if !errors.As(err, &refused) || !masks.MatchString(refused.URL) {
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
