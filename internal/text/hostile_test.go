// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
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
	"Advice":             Advice,
	"ClusterUnreachable": ClusterUnreachable,
	"DiscoveryFailed":    DiscoveryFailed,
	"Explain":            Explain,
	"FailureEvidence":    FailureEvidence,
	"Maintenance":        Maintenance,
	"MemberAnswer":       MemberAnswer,
	"NotRefreshed":       NotRefreshed,
	"Progress":           Progress,
	"SnapshotFile":       snapshotFile,
	"WarningText":        WarningText,
}

// Test that with hostile words a composed text has the same lines as with harmless
// words, and only printable characters. A diagnostic is tested as the provider
// sends it: its summary is one line (cleanAll in package provider). A text for
// the state is tested as it is.
func TestHostileTexts(t *testing.T) {
	codes := constants(t, "../membership", "Code")
	for name, f := range composed {
		t.Run(name, func(t *testing.T) {
			shape := reflect.TypeOf(f)
			choices := []choice{{code: codes[0]}}
			if holds(shape, reflect.TypeFor[membership.Code](), 0) {
				for _, code := range codes {
					choices = append(choices, choice{code: code})
				}
			}
			if holds(shape, reflect.TypeFor[error](), 0) {
				for kind, e := range errorShapes() {
					choices = append(choices, choice{code: codes[0], err: kind})
					if e == nil || !holds(e, reflect.TypeFor[membership.Code](), 0) {
						continue
					}
					for _, code := range codes {
						choices = append(choices, choice{code: code, err: kind})
					}
				}
			}
			for _, c := range choices {
				for n := range 2 {
					c.n = n
					got, ok := rendered(f, c, hostile)
					want, sane := rendered(f, c, benign)
					if ok != sane {
						t.Fatalf("%+v: panics: %v, with harmless words: %v", c, !ok, !sane)
					}
					if ok && !mustBeHarmless(t, name, c, got, want) {
						return
					}
				}
			}
		})
	}
}

func mustBeHarmless(t *testing.T, name string, c choice, got, want []string) bool {
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
			t.Errorf("%s with %+v %s:\n%q\nwant the lines of\n%q", name, c, problem, got[i], want[i])
			return false
		}
	}
	return true
}

// choice selects how the arguments of a text are filled.
type choice struct {
	code string // a membership.Code
	err  int    // the kind of error
	n    int    // lists, numbers and enumerations
}

// errorShapes are the errors that the texts distinguish.
func errorShapes() []reflect.Type {
	return []reflect.Type{
		nil, // a plain error
		reflect.TypeFor[*connection.Error](), reflect.TypeFor[*connection.EndpointError](), reflect.TypeFor[*connection.TLSError](),
		reflect.TypeFor[*connection.Unreachable](), reflect.TypeFor[*cluster.Malformed](), reflect.TypeFor[*cluster.NotDeleted](),
		reflect.TypeFor[*claim.BusyError](), reflect.TypeFor[*claim.LostError](), reflect.TypeFor[*claim.HeldError](), reflect.TypeFor[*claim.AlarmError](),
		reflect.TypeFor[*reconfigure.Refusal](), reflect.TypeFor[*reconfigure.Unidentified](), reflect.TypeFor[*reconfigure.OtherCluster](), reflect.TypeFor[*reconfigure.NoCluster](),
		reflect.TypeFor[*reconfigure.Incomplete](), reflect.TypeFor[*reconfigure.LockLost](), reflect.TypeFor[*reconfigure.Queued](), reflect.TypeFor[*reconfigure.HeldUp](),
		reflect.TypeFor[*reconfigure.Unfinished](), reflect.TypeFor[*reconfigure.NotGivenUp](), reflect.TypeFor[*reconfigure.BadSnapshot](), reflect.TypeFor[*reconfigure.NoDirectory](), reflect.TypeFor[*reconfigure.IsDirectory](),
		reflect.TypeFor[*discovery.ServiceError](),
	}
}

// rendered calls a text with arguments made of words. ok is false if it panics.
func rendered(f any, c choice, words string) (out []string, ok bool) {
	defer func() { ok = recover() == nil }()
	call := reflect.ValueOf(f)
	args := make([]reflect.Value, call.Type().NumIn())
	for i := range args {
		args[i] = reflect.New(call.Type().In(i)).Elem()
		fill(args[i], c, words, 0)
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

// fill makes a value of words. IDs are 1 to 3, so references to a member match.
func fill(v reflect.Value, c choice, words string, depth int) {
	if depth > 6 || !v.CanSet() {
		return
	}
	t := v.Type()
	switch {
	case t == reflect.TypeFor[membership.Code]():
		v.SetString(c.code)
		return
	case t == reflect.TypeFor[time.Time]():
		v.Set(reflect.ValueOf(time.Unix(1e9, 0).UTC()))
		return
	case t == reflect.TypeFor[error]():
		shapes := errorShapes()
		if shape := shapes[c.err%len(shapes)]; shape != nil && depth < 3 {
			e := reflect.New(shape.Elem())
			fill(e.Elem(), c, words, depth+1)
			v.Set(e)
			return
		}
		v.Set(reflect.ValueOf(errors.New(words)))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(words)
	case reflect.Bool:
		v.SetBool(c.n == 1)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(int64(c.n + 1))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(uint64(c.n + 1))
	case reflect.Slice:
		list := reflect.MakeSlice(t, c.n+1, c.n+1)
		for i := range list.Len() {
			fill(list.Index(i), choice{c.code, c.err, i}, words, depth+1)
		}
		v.Set(list)
	case reflect.Map:
		table := reflect.MakeMap(t)
		for i := range c.n + 1 {
			key, value := reflect.New(t.Key()).Elem(), reflect.New(t.Elem()).Elem()
			fill(key, choice{c.code, c.err, i}, words, depth+1)
			fill(value, choice{c.code, c.err, i}, words, depth+1)
			table.SetMapIndex(key, value)
		}
		v.Set(table)
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), c, words, depth+1)
		}
	case reflect.Pointer:
		p := reflect.New(t.Elem())
		fill(p.Elem(), c, words, depth+1)
		v.Set(p)
	case reflect.Interface:
		if reflect.TypeFor[time.Duration]().Implements(t) && t.NumMethod() > 0 {
			v.Set(reflect.ValueOf(time.Second))
		}
	}
}

// holds reports whether the arguments can contain values of a type.
func holds(t, wanted reflect.Type, depth int) bool {
	if t == wanted {
		return true
	}
	if depth > 6 {
		return false
	}
	switch t.Kind() {
	case reflect.Func:
		return slices.ContainsFunc(slices.Collect(t.Ins()), func(in reflect.Type) bool { return holds(in, wanted, depth+1) })
	case reflect.Slice, reflect.Pointer, reflect.Map:
		return holds(t.Elem(), wanted, depth+1)
	case reflect.Struct:
		for i := range t.NumField() {
			if holds(t.Field(i).Type, wanted, depth+1) {
				return true
			}
		}
	}
	return false
}

// Test that every text is formatted by sprintf, which cleans what comes from outside.
func TestTextsAreFormattedBySprintf(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") || file == "clean.go" {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range parsed.Imports {
			if i.Path.Value == `"fmt"` {
				t.Errorf("%s imports fmt", file)
			}
		}
	}
}

// constants returns the values of all constants of a type in a package.
func constants(t *testing.T, dir, typ string) (out []string) {
	t.Helper()
	files, err := filepath.Glob(dir + "/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || len(spec.Values) != 1 {
				return true
			}
			name, ok := spec.Type.(*ast.Ident)
			if value, is := spec.Values[0].(*ast.BasicLit); ok && is && name.Name == typ {
				s, err := strconv.Unquote(value.Value)
				if err != nil {
					t.Fatal(err)
				}
				out = append(out, s)
			}
			return true
		})
	}
	if len(out) < 10 {
		t.Fatalf("only %d constants of type %s", len(out), typ)
	}
	return out
}
