// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

import (
	"errors"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

func TestValidateName(t *testing.T) {
	for name, want := range map[string]NameProblem{
		"infra1":                 "",
		"a.b-c_d":                "",
		"node:1@rack%2+~":        "",
		strings.Repeat("a", 253): "",
		"":                       NameEmpty,
		"a=b":                    NameSeparator,
		"a,b":                    NameSeparator,
		"a b":                    NameCharacter,
		"a\nb":                   NameCharacter,
		"a\u0085b":               NameCharacter,
		"a\x00":                  NameCharacter,
		"a\xff":                  NameCharacter,
		strings.Repeat("a", 254): NameLong,
		"Zürich":                 NameAlphabet,
		`a"b`:                    NameAlphabet,
		`a'b`:                    NameAlphabet,
		"$(id)":                  NameAlphabet,
		"`id`":                   NameAlphabet,
		`a\`:                     NameAlphabet,
		"node(1)":                NameAlphabet,
		"../../x":                NameAlphabet,
	} {
		problem := func(err error) NameProblem {
			var e *NameError
			if !errors.As(err, &e) && err != nil {
				t.Errorf("%q: %v is no NameError", name, err)
			}
			if e == nil {
				return ""
			}
			return e.Problem
		}
		if got := problem(ValidateName(name)); got != want {
			t.Errorf("ValidateName(%q) = %q, want %q", name, got, want)
		}
		if want == NameAlphabet {
			want = "" // an existing member may have it
		}
		if got := problem(ValidateListedName(name)); got != want {
			t.Errorf("ValidateListedName(%q) = %q, want %q", name, got, want)
		}
	}
}

// The join script refuses a name permanently, on the machine, although the
// provider could have refused it in the plan. So both must have the same alphabet.
func TestNameAlphabetOfTheJoinScript(t *testing.T) {
	script, err := os.ReadFile("../joinscript/join.sh")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`case \$name in\n'.*\n\*\[!(\S+)\]\*\) never`).FindStringSubmatch(string(script))
	if found == nil {
		t.Fatal("join.sh does not check the name of the member")
	}
	class, err := regexp.Compile("^[" + found[1] + "]$")
	if err != nil {
		t.Fatal(err)
	}
	for c := rune(0); c <= unicode.MaxLatin1; c++ {
		if theirs, ours := class.MatchString(string(c)), ValidateName(string(c)) == nil; theirs != ours {
			t.Errorf("%q: the join script takes it: %v, the provider takes it: %v", c, theirs, ours)
		}
	}
}

func TestInitialCluster(t *testing.T) {
	members := []Member{
		{ID: 3, Name: "b", PeerURLs: []string{"http://10.0.0.2:2380", "http://10.1.0.2:2380"}},
		{ID: 0xab, PeerURLs: []string{"http://10.0.0.3:2380"}},
		{ID: 1, Name: "a", PeerURLs: []string{"http://10.0.0.1:2380"}},
	}
	want := "a=http://10.0.0.1:2380,b=http://10.0.0.2:2380,b=http://10.1.0.2:2380,mab=http://10.0.0.3:2380"
	if got := FormatInitialCluster(members); got != want {
		t.Errorf("FormatInitialCluster = %s\nwant %s", got, want)
	}
	parsed, err := ParseInitialCluster(want)
	if err != nil || !reflect.DeepEqual(parsed, map[string][]string{
		"a":   {"http://10.0.0.1:2380"},
		"b":   {"http://10.0.0.2:2380", "http://10.1.0.2:2380"},
		"mab": {"http://10.0.0.3:2380"},
	}) {
		t.Errorf("ParseInitialCluster = %v, %v", parsed, err)
	}
}

// Two members that share a name, or a name that is the placeholder of another
// member, must not be merged: the new member would count too few members and exit.
func TestInitialClusterKeepsMembersApart(t *testing.T) {
	members := []Member{
		{ID: 1, Name: "a", PeerURLs: []string{"http://10.0.0.1:2380"}},
		{ID: 2, Name: "a", PeerURLs: []string{"http://10.0.0.2:2380"}},
		{ID: 3, Name: "m2", PeerURLs: []string{"http://10.0.0.3:2380"}},
		{ID: 4, Name: "x,y", PeerURLs: []string{"http://10.0.0.4:2380"}},
	}
	got := FormatInitialCluster(members)
	want := "a=http://10.0.0.1:2380,m2=http://10.0.0.3:2380,m2_=http://10.0.0.2:2380,m4=http://10.0.0.4:2380"
	if got != want {
		t.Errorf("FormatInitialCluster = %s\nwant %s", got, want)
	}
	if parsed, err := ParseInitialCluster(got); err != nil || len(parsed) != len(members) {
		t.Errorf("ParseInitialCluster = %v, %v", parsed, err)
	}
}

func TestParseInitialClusterErrors(t *testing.T) {
	tests := []struct{ text, entry, want string }{
		{"", "", "no entries"},
		{" ", "", "no entries"},
		{"a=http://h:1,", "", "want name=url"},
		{"http://h:1", "http://h:1", "want name=url"},
		{"=http://h:1", "=http://h:1", `member name "": empty`},
		{"a=http://h:1,b=h:2", "b=h:2", `peer URL "h:2": no scheme`},
		{"a=http://u:secret@h:1", "***@h:1", `peer URL "http://***@h:1": userinfo`},
		{"a=http://h:1,b=HTTP://H:1/", "b=HTTP://H:1/", "the peer URL is in the list twice"},
	}
	for _, tt := range tests {
		_, err := ParseInitialCluster(tt.text)
		var e *EntryError
		if !errors.As(err, &e) || e.Entry != tt.entry || e.Err.Error() != tt.want {
			t.Errorf("ParseInitialCluster(%q) = %v, want %q for entry %q", tt.text, err, tt.want, tt.entry)
		}
	}
}
