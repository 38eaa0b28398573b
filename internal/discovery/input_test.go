// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discovery

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/cockroachdb/datadriven"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
)

// TestInput runs the stanzas of testdata/input.txt: what a user types, quoted, and the problem
// with it, the location that a URL names, or whether two URLs are the same service.
func TestInput(t *testing.T) {
	datadriven.RunTest(t, filepath.Join("testdata", "input.txt"), func(t *testing.T, d *datadriven.TestData) string {
		var out []string
		for line := range strings.Lines(d.Input) {
			text, err := strconv.Unquote(strings.TrimSpace(line))
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			switch d.Cmd {
			case "token":
				out = append(out, cmp.Or(TokenProblem(text), "ok"))
			case "prefix":
				out = append(out, cmp.Or(PrefixProblem(text), "ok"))
			case "service":
				out = append(out, cmp.Or(ServiceURLProblem(text), "ok"))
			case "same":
				a, b, _ := strings.Cut(text, " ")
				out = append(out, fmt.Sprint(SameServiceURL(a, b)))
			default:
				out = append(out, located(t, text))
			}
		}
		return strings.Join(append(out, ""), "\n")
	})
}

func located(t *testing.T, url string) string {
	at, err := ParseURL(url)
	if err != nil {
		return err.Error()
	}
	if (at.Protocol == ByService) != (at.Prefix == "") {
		t.Errorf("%s: got %+v", url, at)
	}
	return fmt.Sprintf("%s | %s | %s", at.Base, at.Prefix, at.Token)
}

// Test that revisions have 64 bits even if an int has 32 (386, arm).
func TestOrderOfDistantRevisions(t *testing.T) {
	s, err := statusOf(t.Context(), []registration{{"1", "c=http://h:1", 5 + 1<<33}, {"2", "b=http://h:1", 5 + 1<<32}, {"3", "a=http://h:1", 5}, {"4", "late=http://h:1", 6 + 1<<33}}, new("3"))
	if err != nil || len(s.Members) != 3 || s.Members[0].Name != "a" || s.Members[1].Name != "b" || s.Members[2].Name != "c" {
		t.Errorf("got %+v, %v", s, err)
	}
}

// Test every answer of a [Registry] against an independent implementation of
// the rule: a cluster is unformed only if the answer shows fewer members of the
// token than any size requires.
func TestJudge(t *testing.T) {
	failures := []error{nil, ErrNotFound, ErrNoToken, &connection.Unreachable{}, &connection.Error{Kind: connection.PermissionDenied}, &UnsureError{errors.New("no")}, &BadSizeError{Value: "x"}, errors.New("other")}
	for _, err := range failures {
		for size := range 5 {
			for members := range 6 {
				for least := range 5 {
					s := Status{Size: size, Members: make([]Member, members)}
					shown := err == nil || is[*BadSizeError](err)
					full := err == nil && size > 0 && members >= size
					want := Unknown
					if full {
						want = Formed
					}
					if shown && !full && members < least {
						want = Unformed
					}
					if got := Judge(s, err, least); got != want {
						t.Errorf("%d of %d, least %d, %v: got %v, want %v", members, size, least, err, got, want)
					}
				}
			}
		}
	}
	if Verdict(0) != Unknown {
		t.Error("the zero value is evidence")
	}
}

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
		if l.Protocol == V2 && PrefixProblem(l.Prefix) != "" {
			t.Fatalf("ParseURL(%q) = %+v", raw, l)
		}
		if back, err := ParseURL(l.URL()); err != nil || back != l {
			t.Fatalf("ParseURL(%q) = %+v; written as %q and read as %+v, %v", raw, l, l.URL(), back, err)
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
		m, err1 := keyIn("", members)
		n, err2 := keyIn("", size)
		if err1 != nil || err2 != nil {
			return
		}
		status, err := statusOf(t.Context(), registrationsV2(m), &n.Value)
		if err == nil && (status.Size < 1 || len(status.Members) > status.Size) {
			t.Fatalf("%q and %q are %+v", members, size, status)
		}
	})
}
