// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

import (
	"errors"
	"maps"
	"regexp"
	"strings"
	"testing"
)

// masks matches what may be shown of a text that contains an @.
var masks = regexp.MustCompile(`(?is)^((https?://)?\*\*\*@)?[^@]*$`)

func FuzzNormalizeURL(f *testing.F) {
	for _, s := range []string{"http://10.0.0.1:2380", "HTTPS://[2001:db8::1]:2380/", "http://root:secret@a:1", "root:secret@http://a:1", "http://root:s/ecret@a:1", "http://a:b", "unix://a:1", "http://[::ffff:1.2.3.4%25a]:1", "://", "http://a\x00:1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		n, err := NormalizeURL(raw)
		if err != nil {
			if bad, ok := errors.AsType[*URLError](err); !ok || n != "" || !masks.MatchString(bad.URL) {
				t.Fatalf("NormalizeURL(%q) = %q, %v", raw, n, err)
			}
			return
		}
		again, err := NormalizeURL(n)
		if err != nil || again != n {
			t.Fatalf("NormalizeURL(%q) = %q, and of that %q, %v", raw, n, again, err)
		}
		if strings.ContainsAny(n, ",=@?# \n") || strings.Count(n, "/") != 2 || !SameURLs([]string{raw}, []string{n}) || IsLoopback(raw) != IsLoopback(n) {
			t.Fatalf("NormalizeURL(%q) = %q", raw, n)
		}
	})
}

func FuzzParseInitialCluster(f *testing.F) {
	for _, s := range []string{"a=http://h:1", "a=http://h:1,b=http://h:2,a=http://h:3", "a", "=,=", " a = http://h:1 ", "a=http://h:1,", "é=http://h:1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		parsed, err := ParseInitialCluster(s)
		if err != nil {
			return
		}
		if written, err := InitialClusterOf(parsed); err == nil { // what names of new members have
			again, err := ParseInitialCluster(written)
			if twice, err2 := InitialClusterOf(again); err != nil || err2 != nil || twice != written || !maps.EqualFunc(again, parsed, SameURLs) {
				t.Fatalf("ParseInitialCluster(%q) = %q; written as %q, %q, %v, %v", s, parsed, written, twice, err, err2)
			}
		}
		var members []Member
		for name, urls := range parsed {
			if ValidateListedName(name) != nil || len(urls) == 0 {
				t.Fatalf("ParseInitialCluster(%q) = %q", s, parsed)
			}
			if ValidateName(name) != nil {
				return // parsed, but never written: it gets a placeholder
			}
			members = append(members, Member{ID: MemberID(len(members) + 1), Name: name, PeerURLs: urls})
		}
		text := FormatInitialCluster(members)
		back, err := ParseInitialCluster(text)
		if err != nil || len(back) != len(parsed) {
			t.Fatalf("ParseInitialCluster(%q) = %q; written as %q and read as %q, %v", s, parsed, text, back, err)
		}
		for name, urls := range parsed {
			if !SameURLs(back[name], urls) {
				t.Fatalf("%s has %q in %q, and %q in %q", name, urls, s, back[name], text)
			}
		}
	})
}

func FuzzParseRelease(f *testing.F) {
	for _, s := range []string{"3.6.16", "3.7.0-rc.1", "3.5.0+git", "", "3", "3.6.-1", "3.6.99999999"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, ok := parseRelease(s)
		if !ok && r != (release{}) {
			t.Fatalf("parseRelease(%q) = %v, %v", s, r, ok)
		}
		if !ok && (!wantsEveryVoter(s) || lacksLearners(s) || cannotPromoteAlone(s) || promotionBug(s) != "") {
			t.Fatalf("%q cannot be read, and was taken for some release", s)
		}
		if ok && (r[0] < 0 || r[1] < 0 || r[2] < 0) {
			t.Fatalf("parseRelease(%q) = %v", s, r)
		}
	})
}
