// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package connection

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/must"
)

// TestInput runs the stanzas of testdata/endpoints.txt. -rewrite rewrites the file.
func TestInput(t *testing.T) {
	datadriven.RunTest(t, filepath.Join("testdata", "endpoints.txt"), func(t *testing.T, d *datadriven.TestData) string {
		var out strings.Builder
		for line := range strings.Lines(d.Input) {
			var typed []string
			for line = strings.TrimSpace(line); line != ""; line = strings.TrimSpace(line) {
				quoted, err := strconv.QuotedPrefix(line)
				must.Succeed(t, err)
				text, _ := strconv.Unquote(quoted)
				typed, line = append(typed, text), line[len(quoted):]
			}
			got, err := parsed(t, d.Cmd, d.HasArg("tls"), typed)
			if err != nil {
				got = err
			}
			fmt.Fprintln(&out, got)
		}
		return out.String()
	})
}

// parsed is what becomes of what is typed.
func parsed(t *testing.T, what string, withTLS bool, typed []string) (any, error) {
	switch what {
	case "endpoints":
		return ParseEndpoints(typed, withTLS)
	case "metrics":
		return ParseMetricsURL(typed[0])
	case "map":
		pairs := map[string]string{}
		for i := 0; i < len(typed); i += 2 {
			pairs[typed[i]] = typed[i+1]
		}
		return ParseAddressMap(pairs, withTLS)
	}
	got, err := ParseEndpoint(typed[0], withTLS)
	if again, _ := ParseEndpoint(got, !withTLS); err == nil && again != got {
		t.Errorf("the normal form %q is not stable: %q", got, again)
	}
	return got, err
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
			if !errors.As(err, &refused) || !masks.MatchString(refused.URL) || strings.Contains(string(refused.Problem), "@") {
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
