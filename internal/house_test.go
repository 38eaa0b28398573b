// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package internal_test tests rules that concern several packages.
package internal_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/terraform-provider-etcd/terraform-provider-etcd"

// support are packages for tests and tools. Their calls count, their exports do
// not.
var support = []string{"acctest", "bench", "driver", "etcdsim", "etcdtest", "model", "release"}

// Failed actions are named by constants of package reconfigure, not by texts,
// because the summary of a diagnostic is made from them.
func TestNoOtherActions(t *testing.T) {
	t.Parallel()
	h, actions := load(t, "..", "./..."), 0
	for room, info := range h.info {
		for e, tv := range info.Types {
			if tv.Value == nil || tv.Type.String() != module+"/internal/reconfigure.Action" || room.Name() == "reconfigure" {
				continue
			}
			if actions++; !isName(e) {
				t.Errorf("%s: %s is no name of an action", h.set.Position(e.Pos()), tv.Value)
			}
		}
	}
	if actions < 20 {
		t.Errorf("found %d actions only", actions)
	}
}

func isName(e ast.Expr) bool {
	switch e.(type) {
	case *ast.Ident, *ast.SelectorExpr:
		return true
	}
	return false
}

// An exported identifier has a caller in another package.
func TestExportedHasACaller(t *testing.T) {
	t.Parallel()
	for _, found := range uncalled(t, load(t, "..", "./...")) {
		t.Error(found)
	}
}

// uncalled finds each kind of identifier without a caller, and nothing else.
func TestUncalledIsFound(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module " + module + "\n\ngo 1.26\n",
		"internal/a/a.go": `package a
type (
	Used struct { Read, Unread int; Tagged int ` + "`json:\"tagged\"`" + ` }
	Unused struct{}
	Returned struct{}
	Kind int
	Generic[T any] struct { Item, Other T }
)
const (
	One Kind = iota
	Two
)
const Alone = 1
func (Used) String() string { return "" }
func (Used) Called() {}
func (Used) Uncalled() {}
func (Generic[T]) Get() (t T) { return }
func Make() (u Used) { return }
func Give() Returned { return Returned{} }
func Idle() {}
func ByATest() {}
var Shown, Hidden = 1, 2
`,
		"internal/b/b.go": `package b
import "` + module + `/internal/a"
func f() {
	u := a.Make()
	u.Called()
	_ = u.Read + a.Shown
	_ = a.Give()
	_ = a.One
	g := a.Generic[int]{Item: 1}
	g.Get()
}
var _ = f
`,
		"internal/b/b_test.go": `package b
import "` + module + `/internal/a"
func init() { a.ByATest() }
`,
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for _, found := range uncalled(t, load(t, dir, "./...")) {
		got = append(got, found[strings.LastIndexByte(found, ' ')+1:])
	}
	slices.Sort(got)
	want := []string{"a.Alone", "a.Hidden", "a.Idle", "a.Other", "a.Uncalled", "a.Unread", "a.Unused"}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// house contains the packages of a module, each parsed from its source.
type house struct {
	set    *token.FileSet
	rooms  []*types.Package
	info   map[*types.Package]*types.Info
	tests  map[string][]*ast.File // by the path of the package under test
	shared map[string]*types.Package
}

// load parses the packages that match. Their imports come from the build cache.
func load(t *testing.T, dir, pattern string) house {
	t.Helper()
	list := exec.CommandContext(t.Context(), "go", "list", "-export", "-deps", "-json=ImportPath,Export,Dir,GoFiles,TestGoFiles,XTestGoFiles,Module", pattern)
	list.Dir = dir
	out, err := list.Output()
	if err != nil {
		t.Fatalf("%v: %v", list, err)
	}
	h := house{set: token.NewFileSet(), info: map[*types.Package]*types.Info{}, tests: map[string][]*ast.File{}, shared: map[string]*types.Package{}}
	exports := map[string]string{}
	shared := importer.ForCompiler(h.set, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	config := types.Config{Importer: importing(func(path string) (*types.Package, error) {
		p, err := shared.Import(path)
		h.shared[path] = p
		return p, err
	})}
	for lines := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			ImportPath, Export, Dir            string
			GoFiles, TestGoFiles, XTestGoFiles []string
			Module                             *struct{ Path string }
		}
		if err := lines.Decode(&p); errors.Is(err, io.EOF) {
			return h
		} else if err != nil {
			t.Fatal(err)
		}
		exports[p.ImportPath] = p.Export
		if p.Module == nil || p.Module.Path != module {
			continue
		}
		h.tests[p.ImportPath] = h.parse(t, p.Dir, slices.Concat(p.TestGoFiles, p.XTestGoFiles))
		files := h.parse(t, p.Dir, p.GoFiles)
		if len(files) == 0 {
			continue
		}
		info := &types.Info{Uses: map[*ast.Ident]types.Object{}, Types: map[ast.Expr]types.TypeAndValue{}}
		room, err := config.Check(p.ImportPath, h.set, files, info)
		if err != nil {
			t.Fatal(err)
		}
		h.rooms, h.info[room] = append(h.rooms, room), info
	}
}

type importing func(string) (*types.Package, error)

// Import implements [types.Importer].
func (f importing) Import(path string) (*types.Package, error) { return f(path) }

func (h house) parse(t *testing.T, dir string, names []string) (files []*ast.File) {
	t.Helper()
	for _, name := range names {
		file, err := parser.ParseFile(h.set, filepath.Join(dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	return files
}

// key identifies an object across packages: an object that was parsed and the
// same object that was imported are different values.
func (h house) key(o types.Object) string {
	p := h.set.Position(o.Pos())
	return fmt.Sprintf("%s:%d %s.%s", p.Filename, p.Line, o.Pkg().Name(), o.Name())
}

// uncalled returns the exported identifiers that no other package uses.
func uncalled(t *testing.T, h house) (out []string) {
	t.Helper()
	called := h.calls()
	satisfied := h.interfaces()
	for _, room := range h.rooms {
		if room.Name() == "main" || slices.Contains(support, room.Name()) {
			continue
		}
		for _, name := range room.Scope().Names() {
			o := room.Scope().Lookup(name)
			for _, member := range slices.Concat([]types.Object{o}, members(o)) {
				counts := called[h.key(member)] || enumerated(member) && called[h.key(member.Type().(*types.Named).Obj())]
				if member.Exported() && !counts && !fulfils(o, member, satisfied) {
					out = append(out, h.key(member))
				}
			}
		}
	}
	slices.Sort(out)
	return out
}

// members returns the fields without a tag and the methods of a type.
func members(o types.Object) (out []types.Object) {
	named, ok := o.Type().(*types.Named)
	if _, is := o.(*types.TypeName); !ok || !is {
		return nil
	}
	for m := range named.Methods() {
		out = append(out, m)
	}
	if s, ok := named.Underlying().(*types.Struct); ok {
		for i := range s.NumFields() {
			if f := s.Field(i); s.Tag(i) == "" && !f.Embedded() {
				out = append(out, f)
			}
		}
	}
	return out
}

// enumerated reports whether an object is a constant of a type of its package.
// Such constants are exported together.
func enumerated(o types.Object) bool {
	_, constant := o.(*types.Const)
	named, ok := o.Type().(*types.Named)
	return constant && ok && named.Obj().Pkg() == o.Pkg()
}

// calls returns the keys of objects that are used outside their packages, and
// of types that a caller gets without using their names.
func (h house) calls() map[string]bool {
	called := map[string]bool{}
	var mark func(o types.Object)
	var reach func(t types.Type, depth int)
	mark = func(o types.Object) {
		if o.Pkg() == nil || !strings.HasPrefix(o.Pkg().Path(), module) {
			return
		}
		if k := h.key(o); !called[k] {
			called[k] = true
			reach(o.Type(), 0)
		}
	}
	reach = func(t types.Type, depth int) {
		switch t := t.(type) {
		case *types.Named:
			mark(t.Obj())
			for arg := range t.TypeArgs().Types() {
				reach(arg, depth)
			}
		case *types.Signature:
			for v := range t.Results().Variables() {
				reach(v.Type(), depth)
			}
			for v := range t.Params().Variables() {
				reach(v.Type(), depth)
			}
		case *types.Map:
			reach(t.Key(), depth)
			reach(t.Elem(), depth)
		case interface{ Elem() types.Type }:
			reach(t.Elem(), depth)
		}
	}
	for room, info := range h.info {
		for _, o := range info.Uses {
			if o.Pkg() != nil && o.Pkg().Path() != room.Path() {
				mark(origin(o))
			}
		}
	}
	names := map[string]map[string]bool{} // names that tests select, by the package under test
	for path, files := range h.tests {
		names[path] = map[string]bool{}
		for _, file := range files {
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.SelectorExpr:
					names[path][n.Sel.Name] = true
				case *ast.KeyValueExpr:
					if k, ok := n.Key.(*ast.Ident); ok {
						names[path][k.Name] = true
					}
				}
				return true
			})
		}
	}
	for _, room := range h.rooms {
		for _, name := range room.Scope().Names() {
			o := room.Scope().Lookup(name)
			for _, member := range slices.Concat([]types.Object{o}, members(o)) {
				for path := range names {
					if path != room.Path() && names[path][member.Name()] {
						mark(member)
					}
				}
			}
		}
	}
	return called
}

// origin returns the declaration of a method or a field of a generic type.
func origin(o types.Object) types.Object {
	switch o := o.(type) {
	case *types.Func:
		return o.Origin()
	case *types.Var:
		return o.Origin()
	}
	return o
}

// signature formats a method with the types of its parameters and results, so
// that methods of types that were parsed twice compare equal.
func signature(m types.Object) string {
	f, ok := m.Type().(*types.Signature)
	if !ok {
		return m.Name()
	}
	out := m.Name()
	for _, tuple := range []*types.Tuple{f.Params(), f.Results()} {
		out += "("
		for v := range tuple.Variables() {
			out += types.TypeString(v.Type(), (*types.Package).Path) + ","
		}
		out += ")"
	}
	return out
}

// interfaces returns the method sets of all visible interfaces, by each of
// their methods.
func (h house) interfaces() map[string][][]string {
	out := map[string][][]string{}
	add := func(t types.Type) {
		i, ok := t.Underlying().(*types.Interface)
		if !ok {
			return
		}
		var all []string
		for m := range i.Methods() {
			all = append(all, signature(m))
		}
		for _, m := range all {
			out[m] = append(out[m], all)
		}
	}
	// Packages errors, fmt and encoding/json use these methods.
	for _, m := range []string{"Unwrap()(error,)", "Unwrap()([]error,)", "Is(error,)(bool,)", "String()(string,)", "MarshalText()([]byte,error,)"} {
		out[m] = append(out[m], []string{m})
	}
	add(types.Universe.Lookup("error").Type())
	seen := map[*types.Package]bool{}
	var visit func(p *types.Package)
	visit = func(p *types.Package) {
		if seen[p] {
			return
		}
		seen[p] = true
		for _, name := range p.Scope().Names() {
			if o, ok := p.Scope().Lookup(name).(*types.TypeName); ok {
				add(o.Type())
			}
		}
		for _, imported := range p.Imports() {
			visit(imported)
		}
	}
	for _, p := range slices.Collect(maps.Values(h.shared)) {
		visit(p)
	}
	for _, info := range h.info {
		for e, tv := range info.Types {
			if _, ok := e.(*ast.InterfaceType); ok {
				add(tv.Type)
			}
		}
	}
	return out
}

// fulfils reports whether a method of a type belongs to an interface that the
// type implements.
func fulfils(o, member types.Object, interfaces map[string][][]string) bool {
	if _, ok := member.(*types.Func); !ok || o == member {
		return false
	}
	has := map[string]bool{}
	for m := range types.NewMethodSet(types.NewPointer(o.Type())).Methods() {
		has[signature(m.Obj())] = true
	}
	return slices.ContainsFunc(interfaces[signature(member)], func(all []string) bool {
		return !slices.ContainsFunc(all, func(m string) bool { return !has[m] })
	})
}
