// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/cockroachdb/datadriven"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/must"
)

// texts are the commands about texts. They print what becomes of each line of their input.
var texts = map[string]func(t *testing.T, f []string) (any, error){
	"url": func(t *testing.T, f []string) (any, error) { u, err := NormalizeURL(f[0]); return stable(t, u, err) },
	"at": func(t *testing.T, f []string) (any, error) {
		u, err := URLAt("https", f[0], PeerPort)
		return stable(t, u, err)
	},
	"with-port": func(t *testing.T, f []string) (any, error) {
		u, err := WithPort(f[0], ClientPort)
		return stable(t, u, err)
	},
	"loopback": func(_ *testing.T, f []string) (any, error) { return IsLoopback(f[0]), nil },
	"same": func(t *testing.T, f []string) (any, error) { // two sets, separated by a bar
		i := slices.Index(f, "|")
		same := SameURLs(f[:i], f[i+1:])
		if SameURLs(f[i+1:], f[:i]) != same {
			t.Errorf("%q: another answer for the sets in another order", f)
		}
		return same, nil
	},
	"name": func(t *testing.T, f []string) (any, error) {
		err, listed := ValidateName(f[0]), ValidateListedName(f[0])
		if problem, ok := errors.AsType[*NameError](err); ok && problem.Problem == NameAlphabet && listed == nil {
			return problem.Error() + ", and a member may have it", nil
		}
		if fmt.Sprint(err) != fmt.Sprint(listed) || err != nil && !errors.As(err, new(*NameError)) {
			t.Errorf("%q: %v, and of a member: %v", f, err, listed)
		}
		return "ok", err
	},
	"shown": func(_ *testing.T, f []string) (any, error) {
		value, ok := Shown(f[0])
		return map[bool]string{true: strconv.Quote(value), false: "hidden"}[ok], nil
	},
	"redacted": func(t *testing.T, f []string) (any, error) {
		got := Redacted(f[0])
		if again := Redacted(got); again != got {
			t.Errorf("%q is redacted again: %q", got, again)
		}
		return strconv.Quote(got), nil
	},
	"give-up":         givenUp,
	"initial-cluster": func(_ *testing.T, f []string) (any, error) { return ParseInitialCluster(f[0]) },
	"id": func(t *testing.T, f []string) (any, error) {
		m, err := ParseMemberID(f[0])
		if c, cerr := ParseClusterID(f[0]); uint64(c) != uint64(m) || (err == nil) != (cerr == nil) {
			t.Errorf("%q: as the ID of a member %s, %v, and of a cluster %s, %v", f, m, err, c, cerr)
		}
		if back, _ := ParseMemberID(m.String()); back != m {
			t.Errorf("%q is printed as %s", f, m)
		}
		return m, err
	},
	"defects": func(_ *testing.T, f []string) (any, error) {
		harm, _ := DefectsOf(f[0], false)
		bypasses, _ := DefectsOf(f[0], true)
		source := func(d Defect) string { return d.Source }
		return fmt.Sprint(f[0], ": ", each(harm, source), ", and of clients ", each(bypasses, source)), nil
	},
	"release": func(_ *testing.T, f []string) (any, error) {
		out := ""
		for _, is := range []struct {
			so   bool
			what string
		}{
			{lacksLearners(f[0]), " lacks-learners"}, {cannotPromoteAlone(f[0]), " cannot-promote-alone"}, {wantsEveryVoter(f[0]), " wants-every-voter"},
		} {
			if is.so {
				out += is.what
			}
		}
		for _, bug := range bugs(f[0]) {
			out += " bug=" + bug.Facts.Detail
		}
		return f[0] + ":" + out, nil
	},
}

func bugs(version string) []Warning {
	return Snapshot{Members: []Member{{ID: 1}}, Answers: map[MemberID]Answer{1: {State: Answered, MemberID: 1, Version: version}}}.badReleases(0)
}

// stable fails the test if the normal form of a URL has another normal form.
func stable(t *testing.T, u string, err error) (any, error) {
	if again, _ := NormalizeURL(u); again != u {
		t.Errorf("the normal form of %s is %s", u, again)
	}
	if err != nil && (u != "" || !errors.As(err, new(*URLError))) {
		t.Errorf("%q with the error %#v", u, err)
	}
	return u, err
}

// eachLine calls a command for each line: values between spaces, or in quotes.
func eachLine(t *testing.T, td *datadriven.TestData, f func(t *testing.T, fields []string) (any, error)) string {
	var out []string
	for line := range strings.Lines(td.Input) {
		got, err := f(t, fields(t, line))
		if err != nil {
			got = err
		}
		out = append(out, fmt.Sprint(got))
	}
	return strings.Join(out, "\n")
}

func fields(t *testing.T, line string) (out []string) {
	for line = strings.TrimSpace(line); line != ""; line = strings.TrimSpace(line) {
		one, rest, _ := strings.Cut(line, " ")
		if line[0] == '"' {
			quoted, err := strconv.QuotedPrefix(line)
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			one, _ = strconv.Unquote(quoted)
			rest = line[len(quoted):]
		}
		out, line = append(out, one), rest
	}
	return out
}

// formed shows the cluster that initial members form: a name and its peer URLs on each line.
func formed(t *testing.T, td *datadriven.TestData) string {
	initial := map[string][]string{}
	for line := range strings.Lines(td.Input) {
		f := fields(t, line)
		initial[f[0]] = f[1:]
	}
	text, err := InitialClusterOf(initial)
	ids, cluster, idErr := InitialMemberIDs(initial, argument(t, td, "token"))
	if err != nil {
		if idErr == nil || !errors.As(err, new(*EntryError)) {
			t.Errorf("%s: %v, and they form a cluster: %v", td.Pos, err, idErr)
		}
		return err.Error()
	}
	text += "\ncluster " + cluster.String()
	for _, name := range slices.Sorted(maps.Keys(ids)) {
		if one, err := InitialMemberID(initial[name], argument(t, td, "token")); one != ids[name] || err != nil {
			t.Errorf("%s: %s, %v, and among the others %s", td.Pos, one, err, ids[name])
		}
		text += "\n" + name + " " + ids[name].String()
	}
	return text
}

// formatted shows the initial cluster of the members. No two of them may be merged: a new
// member would count too few members and exit.
func formatted(t *testing.T, members []Member) string {
	text := FormatInitialCluster(members)
	if parsed, err := ParseInitialCluster(text); err != nil || len(parsed) != len(members) {
		t.Errorf("%s is read as %v, %v", text, parsed, err)
	}
	return text
}

// The ID of an added member, which a server of 3.7.3 gave.
func TestComputeIDOfALaterMember(t *testing.T) {
	added := ComputeMemberID([]string{"http://127.0.0.1:23805", "http://127.0.0.1:23804"}, "1795221436")
	if got, want := added.String(), "84d8648d181217eb"; got != want {
		t.Errorf("the added member is %s, want %s", got, want)
	}
	if a, b := ComputeClusterID([]MemberID{1, 2}), ComputeClusterID([]MemberID{2, 1}); a != b {
		t.Errorf("the order of the members counts: %s and %s", a, b)
	}
	for _, urls := range [][]string{nil, {""}, {"http://h"}} {
		if id, err := InitialMemberID(urls, "t"); !errors.As(err, new(*URLError)) {
			t.Errorf("InitialMemberID(%q) = %s, %v", urls, id, err)
		}
	}
}

// The join script refuses a name permanently, on the machine, although the
// provider could have refused it in the plan. So both must have the same alphabet.
func TestNameAlphabetOfTheJoinScript(t *testing.T) {
	script := must.Read(t, "../joinscript/main.sh")
	found := regexp.MustCompile(`case \$name in\n'.*\n\*\[!(\S+)\]\*\) never`).FindStringSubmatch(script)
	if found == nil {
		t.Fatal("main.sh does not check the name of the member")
	}
	class, err := regexp.Compile("^[" + found[1] + "]$")
	must.Succeed(t, err)
	for c := rune(0); c <= unicode.MaxLatin1; c++ {
		if theirs, ours := class.MatchString(string(c)), ValidateName(string(c)) == nil; theirs != ours {
			t.Errorf("%q: the join script takes it: %v, the provider takes it: %v", c, theirs, ours)
		}
	}
}

// The URLs that etcd gets have no white space around them, wildcards included.
func TestNormalURLs(t *testing.T) {
	got := NormalURLs([]string{"http://0.0.0.0:2380\n", " HTTPS://Infra1:2380/ ", "https://[::]:2379\u0085"})
	if want := []string{"http://0.0.0.0:2380", "https://[::]:2379", "https://infra1:2380"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

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
		if !ok && (!wantsEveryVoter(s) || lacksLearners(s) || cannotPromoteAlone(s) || len(bugs(s)) > 0) {
			t.Fatalf("%q cannot be read, and was taken for some release", s)
		}
		if ok && (r[0] < 0 || r[1] < 0 || r[2] < 0) {
			t.Fatalf("parseRelease(%q) = %v", s, r)
		}
	})
}
