// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

import (
	"errors"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/claim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/discovery"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/must"
)

// hostile simulates a malicious or accidental name, URL, record or error: it
// clears the screen, begins lines, contains commands for a pipeline, reverses
// the text, and contains a password and a discovery token.
const (
	hostileToken = "5a3c7d0e4b1f4c52a9e86b1d0f7c2e93"
	hostile      = "evil\x1b[2J\x1b[1;1H\u0085\r\n::error::Apply complete! \t::set-env name=A::b\n##[add-mask]x ##vso[task]y\u202e\u2028\x9b\xff\x00" +
		" https://joe:hunter2@h/" + hostileToken
	benign = "evil"
)

var commandLine = regexp.MustCompile(`(^|\s)::[a-z]|##`)

// composed are texts of facts, errors and other texts.
var composed = map[string]any{
	"Advice":          Advice,
	"Cause":           Cause,
	"Explain":         Explain,
	"Failed":          Failed,
	"FailureEvidence": FailureEvidence,
	"Maintenance":     Maintenance,
	"MemberAnswer":    MemberAnswer,
	"NotRefreshed":    NotRefreshed,
	"Progress":        Progress,
	"SnapshotFile":    snapshotFile,
	"WarningText":     WarningText,
}

// hostileRounds is how often each text is filled, each time with another code and other
// errors, enumerations and lengths of lists.
const hostileRounds = 1200

// Test that with hostile words a composed text has the same lines as with harmless
// words, and only printable characters. A diagnostic is tested as the provider
// sends it: its summary is one line (cleanAll in package provider). A text for
// the state is tested as it is.
func TestHostileTexts(t *testing.T) {
	codes := constants(t, "../membership/*.go", "Code")
	for name, f := range composed {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			made := 0
			for seed := range uint64(hostileRounds) {
				got, ok := rendered(f, &filler{rand.New(rand.NewPCG(seed, 1)), codes[int(seed)%len(codes)], hostile})
				want, sane := rendered(f, &filler{rand.New(rand.NewPCG(seed, 1)), codes[int(seed)%len(codes)], benign})
				if ok != sane {
					t.Fatalf("%d: panics: %v, with harmless words: %v", seed, !ok, !sane)
				}
				if ok {
					made++
					mustBeHarmless(t, seed, got, want)
				}
				if t.Failed() {
					return
				}
			}
			if made < hostileRounds/2 {
				t.Errorf("only %d texts", made)
			}
		})
	}
}

func mustBeHarmless(t *testing.T, seed uint64, got, want []string) {
	t.Helper()
	for i := range got {
		problem := ""
		switch {
		case strings.Count(got[i], "\n") != strings.Count(want[i], "\n"):
			problem = "has other lines"
		case strings.ContainsFunc(got[i], func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) || r == unicode.ReplacementChar }):
			problem = "holds what cannot be printed"
		case commandLine.MatchString(got[i]):
			problem = "holds a command"
		case strings.Contains(got[i], "hunter2"):
			problem = "shows a password"
		case strings.Contains(got[i], hostileToken):
			problem = "shows a discovery token"
		case got[i] != Lines(got[i]):
			problem = "changes where it leaves the provider"
		}
		if problem != "" {
			t.Errorf("%d %s:\n%q\nwant the lines of\n%q", seed, problem, got[i], want[i])
		}
	}
}

// errorShapes are the errors that the texts distinguish, and none, for a plain error.
var errorShapes = []any{
	nil,
	&connection.Error{}, &connection.TLSError{}, &connection.Unreachable{}, &cluster.Malformed{}, &cluster.NotDeleted{},
	&claim.BusyError{}, &claim.LostError{}, &claim.HeldError{}, &claim.AlarmError{},
	&reconfigure.Refusal{}, &reconfigure.Unidentified{}, &reconfigure.OtherCluster{}, &reconfigure.NoCluster{}, &reconfigure.Incomplete{}, &reconfigure.LockLost{},
	&reconfigure.Queued{}, &reconfigure.HeldUp{}, &reconfigure.Unfinished{}, &reconfigure.NotGivenUp{}, &reconfigure.BadSnapshot{}, &reconfigure.NoDirectory{},
	&reconfigure.IsDirectory{}, &discovery.ServiceError{},
}

// rendered calls a text with arguments made of words. ok is false if it panics.
func rendered(f any, fill *filler) (out []string, ok bool) {
	defer func() { ok = recover() == nil }()
	call := reflect.ValueOf(f)
	args := make([]reflect.Value, call.Type().NumIn())
	for i := range args {
		args[i] = reflect.New(call.Type().In(i)).Elem()
		fill.value(args[i], 0)
	}
	results := call.Call
	if call.Type().IsVariadic() {
		results = call.CallSlice
	}
	for _, r := range results(args) {
		switch v := r.Interface().(type) {
		case Message:
			out = append(out, Clean(v.Summary), Lines(v.Detail))
		case string:
			out = append(out, v)
		case *Message:
			if v != nil {
				out = append(out, Clean(v.Summary), Lines(v.Detail))
			}
		}
	}
	return out, true
}

// filler makes values of words. Numbers and IDs are 1 to 3, so references to a member
// match.
type filler struct {
	*rand.Rand
	code  string // every membership.Code
	words string
}

func (f *filler) value(v reflect.Value, depth int) {
	if depth > 6 || !v.CanSet() {
		return
	}
	t := v.Type()
	switch {
	case t == reflect.TypeFor[membership.Code]():
		v.SetString(f.code)
		return
	case t == reflect.TypeFor[time.Time]():
		v.Set(reflect.ValueOf(time.Unix(1e9, 0).UTC()))
		return
	case t == reflect.TypeFor[error]():
		if shape := errorShapes[f.IntN(len(errorShapes))]; shape != nil && depth < 3 {
			e := reflect.New(reflect.TypeOf(shape).Elem())
			f.value(e.Elem(), depth+1)
			v.Set(e)
			return
		}
		v.Set(reflect.ValueOf(errors.New(f.words)))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(f.words)
	case reflect.Bool:
		v.SetBool(f.IntN(2) == 1)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(f.Int64N(3) + 1)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(f.Uint64N(3) + 1)
	case reflect.Slice:
		n := f.IntN(2) + 1
		v.Set(reflect.MakeSlice(t, n, n))
		for i := range n {
			f.value(v.Index(i), depth+1)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(t))
		for range f.IntN(2) + 1 {
			key, value := reflect.New(t.Key()).Elem(), reflect.New(t.Elem()).Elem()
			f.value(key, depth+1)
			f.value(value, depth+1)
			v.SetMapIndex(key, value)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f.value(v.Field(i), depth+1)
		}
	case reflect.Pointer:
		v.Set(reflect.New(t.Elem()))
		f.value(v.Elem(), depth+1)
	case reflect.Interface:
		if reflect.TypeFor[time.Duration]().Implements(t) && t.NumMethod() > 0 {
			v.Set(reflect.ValueOf(time.Second))
		}
	}
}

// constants returns the values of all constants of a type in files.
func constants(t *testing.T, pattern, typ string) (out []string) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	must.Succeed(t, err)
	constant := regexp.MustCompile(`(?m)^(?:const|\t)\s*\w+\s+` + typ + `\s+= "([^"]+)"`)
	for _, file := range files {
		source := must.Read(t, file)
		for _, found := range constant.FindAllStringSubmatch(source, -1) {
			out = append(out, found[1])
		}
	}
	if len(out) < 10 {
		t.Fatalf("only %d constants of type %s", len(out), typ)
	}
	return out
}

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"infra1":             "infra1",
		"https://[::1]:2379": "https://[::1]:2379",
		"a\x1b[2Jb\x00\x7f\u0085\u202e\U000e0001\xff": `a\x1b[2Jb\x00\x7f\x85\u202e\U000e0001\xff`,
		"a\r\nb\tc":                  "a  b c",
		"::error::a ::b::":           `\x3a:error::a \x3a:b::`,
		"::1 a::b":                   "::1 a::b",
		"##[x] ###":                  `\x23#[x] \x23\x23#`,
		hostileToken:                 "5a3c7d0e…",
		hostileToken + "0":           hostileToken + "0",
		"https://a:b@h/x":            "https://***@h/x",
		strings.Repeat("é", 201):     "(201 characters, not shown)",
		strings.Repeat("é b, ", 201): strings.TrimSpace(strings.Repeat("é b, ", 201)),
		"日本語 \ufffd":                 "日本語 \ufffd",
	} {
		got := Clean(in)
		if got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
		if again := Clean(got); again != got {
			t.Errorf("%q: cleaned again it is %q", got, again)
		}
	}
	if got := Lines("a\n  b\x1b\n\n::c"); got != "a\n  b\\x1b\n\n\\x3a:c" {
		t.Errorf("lines: got %q", got)
	}
}

func FuzzClean(f *testing.F) {
	f.Add(hostile)
	f.Add("a\n::b##[c")
	f.Fuzz(func(t *testing.T, s string) {
		got := Clean(s)
		if strings.ContainsFunc(got, func(r rune) bool { return !unicode.IsPrint(r) }) || commandLine.MatchString(got) {
			t.Fatalf("%q: %q", s, got)
		}
		if again := Clean(got); again != got {
			t.Fatalf("%q: %q, then %q", s, got, again)
		}
	})
}
