// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discovery

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

func TestNewToken(t *testing.T) {
	got, err := NewToken(strings.NewReader("0123456789abcdef"))
	if err != nil || got != "30313233343536373839616263646566" {
		t.Errorf("got %q, %v", got, err)
	}
	if got, err := NewToken(strings.NewReader("short")); err == nil {
		t.Errorf("too little randomness: got %q and no error", got)
	}
}

// TestInput runs the stanzas of testdata/input.txt: what a user types, quoted, and the problem
// with it, or the location that a URL names.
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
	if of, err := ParseServiceURL(url); at.Prefix == "" && (of != at || err != nil) {
		t.Errorf("%s, of a service: got %+v, %v; want %+v", url, of, err, at)
	}
	return fmt.Sprintf("%s | %s | %s", at.Base, at.Prefix, at.Token)
}

func TestSameServiceURL(t *testing.T) {
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

// Test that revisions have 64 bits even if an int has 32 (386, arm).
func TestOrderOfDistantRevisions(t *testing.T) {
	s, err := statusOf([]registration{{"1", "c=http://h:1", 5 + 1<<33}, {"2", "b=http://h:1", 5 + 1<<32}, {"3", "a=http://h:1", 5}, {"4", "late=http://h:1", 6 + 1<<33}}, new("3"))
	if err != nil || len(s.Members) != 3 || s.Members[0].Name != "a" || s.Members[1].Name != "b" || s.Members[2].Name != "c" {
		t.Errorf("got %+v, %v", s, err)
	}
}
