// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discovery

import (
	"strings"
	"testing"
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

func TestProblems(t *testing.T) {
	for _, test := range []struct {
		of    func(string) string
		input string
		want  string
	}{
		{TokenProblem, token3, ""},
		{TokenProblem, "my-cluster_1.prod", ""},
		{TokenProblem, "", "is empty"},
		{TokenProblem, "a/b", `contains "/"`},
		{TokenProblem, "a..b", `contains ".."`},
		{TokenProblem, "..", `contains ".."`},
		{TokenProblem, ".", `is ".", which names no key of its own`},
		{TokenProblem, "a b", "contains a space"},
		{TokenProblem, "a\n", "contains a line break"},
		{TokenProblem, "a?b", `contains '?'`},
		{TokenProblem, "a%2fb", `contains '%'`},
		{TokenProblem, "ä", `contains 'ä'`},
		{PrefixProblem, "/_etcd/registry", ""},
		{PrefixProblem, "", "is empty"},
		{PrefixProblem, "_etcd/registry", `does not begin with "/"`},
		{PrefixProblem, "/", "is the root of the key space"},
		{PrefixProblem, "/a/", `ends with "/"`},
		{PrefixProblem, "/a//b", `contains "//", "." or ".." as a part of the path`},
		{PrefixProblem, "/a/../b", `contains "//", "." or ".." as a part of the path`},
		{PrefixProblem, "/a b", "contains a space"},
		{PrefixProblem, "/_terraform", "shares keys with /_terraform/etcd/, which are the provider's own"},
		{PrefixProblem, "/_terraform/etcd", "shares keys with /_terraform/etcd/, which are the provider's own"},
		{PrefixProblem, "/_terraform/etcd/8e9e05c52164694d", "shares keys with /_terraform/etcd/, which are the provider's own"},
		{PrefixProblem, "/_terraform/etcdctl", ""},
	} {
		if got := test.of(test.input); got != test.want {
			t.Errorf("%q: got %q, want %q", test.input, got, test.want)
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
