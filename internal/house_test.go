// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package internal_test tests rules that concern several packages.
package internal_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/must"
)

const module = "github.com/terraform-provider-etcd/terraform-provider-etcd"

// support is where the packages for tests and tools are. Their calls count, their exports do
// not.
const support = module + "/internal/test/"

// Failed actions are named by constants of package reconfigure, not by texts,
// because the summary of a diagnostic is made from them.
func TestNoOtherActions(t *testing.T) {
	t.Parallel()
	h, actions := load(t), 0
	for _, room := range h.rooms {
		for e, tv := range room.TypesInfo.Types {
			if tv.Value == nil || tv.Type.String() != module+"/internal/reconfigure.Action" || room.Name == "reconfigure" {
				continue
			}
			if actions++; !isName(e) {
				t.Errorf("%s: %s is no name of an action", room.Fset.Position(e.Pos()), tv.Value)
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
	for _, found := range load(t).uncalled() {
		t.Error(found)
	}
}

// house contains the packages of the module, each checked from its source, and for each name
// the directories whose tests use it.
type house struct {
	rooms []*packages.Package
	names map[string]map[string]bool
}

func load(t *testing.T) house {
	t.Helper()
	root, err := filepath.Abs("..")
	must.Succeed(t, err)
	h := house{names: map[string]map[string]bool{}}
	h.rooms, err = packages.Load(&packages.Config{Mode: packages.LoadSyntax, Dir: root}, "./...")
	must.Succeed(t, err)
	h.rooms = slices.DeleteFunc(h.rooms, func(p *packages.Package) bool { return len(p.GoFiles) == 0 })
	for _, room := range h.rooms {
		for _, err := range room.Errors {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{"internal", "examples", "main_test.go"} {
		must.Succeed(t, filepath.WalkDir(filepath.Join(root, dir), func(path string, _ fs.DirEntry, err error) error {
			if strings.HasSuffix(path, "_test.go") {
				h.uses(t, path)
			}
			return err
		}))
	}
	return h
}

// uses adds the names that a file of tests selects, or has as keys.
func (h house) uses(t *testing.T, path string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	must.Succeed(t, err)
	for n := range ast.Preorder(file) {
		id := new(ast.Ident)
		switch n := n.(type) {
		case *ast.SelectorExpr:
			id = n.Sel
		case *ast.KeyValueExpr:
			id, _ = n.Key.(*ast.Ident)
		}
		if id != nil && h.names[id.Name] == nil {
			h.names[id.Name] = map[string]bool{}
		}
		if id != nil {
			h.names[id.Name][filepath.Dir(path)] = true
		}
	}
}

// exported returns the exported identifiers of a package, with the fields without a tag and
// the methods of each type.
func exported(room *types.Package) (out []types.Object) {
	add := func(o types.Object) {
		if o.Exported() {
			out = append(out, o)
		}
	}
	for _, name := range room.Scope().Names() {
		o := room.Scope().Lookup(name)
		add(o)
		named, ok := o.Type().(*types.Named)
		if _, is := o.(*types.TypeName); !ok || !is {
			continue
		}
		for m := range named.Methods() {
			add(m)
		}
		if s, ok := named.Underlying().(*types.Struct); ok {
			for i := range s.NumFields() {
				if f := s.Field(i); s.Tag(i) == "" && !f.Embedded() {
					add(f)
				}
			}
		}
	}
	return out
}

// uncalled returns the exported identifiers that no other package uses.
func (h house) uncalled() (out []string) {
	called, known := h.calls(), h.interfaces()
	for _, room := range h.rooms {
		if room.Name == "main" || strings.HasPrefix(room.PkgPath, support) {
			continue
		}
		for _, o := range exported(room.Types) {
			if !called[o] && !called[enumeration(o)] && !fulfils(o, known) {
				out = append(out, fmt.Sprintf("%s %s.%s", room.Fset.Position(o.Pos()), room.Name, o.Name()))
			}
		}
	}
	return out
}

// enumeration is the type of a constant, if it is of its package. Such constants are
// exported together.
func enumeration(o types.Object) types.Object {
	_, constant := o.(*types.Const)
	if named, ok := o.Type().(*types.Named); constant && ok && named.Obj().Pkg() == o.Pkg() {
		return named.Obj()
	}
	return nil
}

// calls returns the objects that are used outside their packages, and the types that a
// caller gets without using their names.
func (h house) calls() map[types.Object]bool {
	called := map[types.Object]bool{}
	var mark func(o types.Object)
	var reach func(t types.Type)
	mark = func(o types.Object) {
		if o.Pkg() != nil && strings.HasPrefix(o.Pkg().Path(), module) && !called[o] {
			called[o] = true
			reach(o.Type())
		}
	}
	reach = func(t types.Type) {
		switch t := t.(type) {
		case *types.Named:
			mark(t.Obj())
			for arg := range t.TypeArgs().Types() {
				reach(arg)
			}
		case *types.Signature:
			for _, tuple := range []*types.Tuple{t.Results(), t.Params()} {
				for v := range tuple.Variables() {
					reach(v.Type())
				}
			}
		case *types.Map:
			reach(t.Key())
			reach(t.Elem())
		case interface{ Elem() types.Type }:
			reach(t.Elem())
		}
	}
	for _, p := range h.rooms {
		for _, o := range p.TypesInfo.Uses {
			if o.Pkg() != nil && o.Pkg() != p.Types {
				mark(origin(o))
			}
		}
	}
	for _, room := range h.rooms {
		for _, o := range exported(room.Types) {
			if users := h.names[o.Name()]; len(users) > 1 || len(users) == 1 && !users[filepath.Dir(room.GoFiles[0])] {
				mark(o)
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

// interfaces returns all visible interfaces, by the names of their methods.
func (h house) interfaces() map[string][]*types.Interface {
	out, seen := map[string][]*types.Interface{}, map[*types.Package]bool{}
	add := func(t types.Type) {
		if i, ok := t.Underlying().(*types.Interface); ok {
			for m := range i.Methods() {
				out[m.Name()] = append(out[m.Name()], i)
			}
		}
	}
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
	for _, room := range h.rooms {
		visit(room.Types)
		for e, tv := range room.TypesInfo.Types {
			if _, ok := e.(*ast.InterfaceType); ok {
				add(tv.Type)
			}
		}
	}
	add(types.Universe.Lookup("error").Type())
	return out
}

// fulfils reports whether a method of a type belongs to an interface that the type
// implements, or is one that packages errors, fmt and encoding/json use.
func fulfils(o types.Object, known map[string][]*types.Interface) bool {
	method, ok := o.(*types.Func)
	if !ok || method.Signature().Recv() == nil {
		return false
	}
	if slices.Contains([]string{"Unwrap", "Is", "String", "MarshalText"}, o.Name()) {
		return true
	}
	receiver := method.Signature().Recv().Type()
	if p, ok := receiver.(*types.Pointer); ok {
		receiver = p.Elem()
	}
	return slices.ContainsFunc(known[o.Name()], func(i *types.Interface) bool { return types.Implements(types.NewPointer(receiver), i) })
}

// decisions are the rules that DESIGN.md names.
var decisions = regexp.MustCompile("`((?:Decide|Judge|Plan|Identify|[cC]heck)[A-Za-z]*)`")

// The rules that DESIGN.md names exist.
func TestDesignNamesRules(t *testing.T) {
	t.Parallel()
	rules, err := exec.CommandContext(t.Context(), "go", "doc", "-all", "-u", "./membership").Output()
	must.Succeed(t, err)
	named := decisions.FindAllStringSubmatch(must.Read(t, "../DESIGN.md"), -1)
	for _, n := range named {
		if !strings.Contains(string(rules), "func "+n[1]+"(") {
			t.Errorf("DESIGN.md names %s, and package membership does not have it", n[1])
		}
	}
	if len(named) == 0 {
		t.Error("DESIGN.md names no rule")
	}
}

// README.md names the commands that try the provider and test it. Every target that it or
// CONTRIBUTING.md names exists.
func TestMakeTargets(t *testing.T) {
	t.Parallel()
	targets := must.Read(t, "../GNUmakefile")
	command := regexp.MustCompile("(?m)(?:^|[`$ ])make ([a-z][a-z-]*)")
	code := regexp.MustCompile("(?ms)^```[a-z]+$.*?^```$|`[^`\n]+`")
	pages := map[string][]string{"README.md": {"demo", "test", "install"}, "CONTRIBUTING.md": {"test", "lint"}}
	for page, wanted := range pages {
		named := map[string]bool{}
		for _, block := range code.FindAllString(must.Read(t, filepath.Join("..", page)), -1) {
			for _, m := range command.FindAllStringSubmatch(block, -1) {
				named[m[1]] = true
				if !strings.Contains(targets, "\n"+m[1]+":") {
					t.Errorf("%s names make %s, which is no target", page, m[1])
				}
			}
		}
		for _, target := range wanted {
			if !named[target] {
				t.Errorf("%s does not name make %s", page, target)
			}
		}
	}
}
