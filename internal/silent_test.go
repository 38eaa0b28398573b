// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package internal_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A test that cannot run calls t.Skip. If it returns instead, it counts as passed.
func TestNoTestPassesInSilence(t *testing.T) {
	t.Parallel()
	set, files := token.NewFileSet(), 0
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && slices.Contains([]string{"bin", "dist", ".git"}, d.Name()) {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		files++
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, at := range silent(file) {
			t.Errorf("%s: this test returns without t.Skip", set.Position(at))
		}
		return nil
	})
	if err != nil || files < 100 {
		t.Errorf("%d files: %v", files, err)
	}
}

// silent returns the ifs of the tests of a file that at most log before they
// return from the test. After t.Failed() that is no pass.
func silent(file *ast.File) (out []token.Pos) {
	for n := range ast.Preorder(file) {
		var kind *ast.FuncType
		var body []ast.Stmt
		switch n := n.(type) {
		case *ast.FuncDecl:
			if strings.HasPrefix(n.Name.Name, "Test") {
				kind, body = n.Type, n.Body.List
			}
		case *ast.FuncLit:
			kind, body = n.Type, n.Body.List
		}
		for _, s := range body {
			if branch, ok := s.(*ast.IfStmt); ok && isTest(kind) && !calls(branch.Cond, "Failed") && onlyReturns(branch.Body.List) {
				out = append(out, branch.Pos())
			}
		}
	}
	return out
}

// isTest reports whether a function has one parameter, a *testing.T, and no result.
func isTest(f *ast.FuncType) bool {
	if f.Results != nil || f.Params.NumFields() != 1 {
		return false
	}
	pointer, ok := f.Params.List[0].Type.(*ast.StarExpr)
	if !ok {
		return false
	}
	name, ok := pointer.X.(*ast.SelectorExpr)
	return ok && name.Sel.Name == "T"
}

func onlyReturns(body []ast.Stmt) bool {
	if len(body) == 0 {
		return false
	}
	last, ok := body[len(body)-1].(*ast.ReturnStmt)
	return ok && len(last.Results) == 0 && !slices.ContainsFunc(body[:len(body)-1], func(s ast.Stmt) bool {
		e, ok := s.(*ast.ExprStmt)
		return !ok || !calls(e.X, "Log", "Logf")
	})
}

// calls reports whether e is a call of a method with one of the names.
func calls(e ast.Expr, names ...string) bool {
	call, ok := e.(*ast.CallExpr)
	if !ok {
		return false
	}
	method, ok := call.Fun.(*ast.SelectorExpr)
	return ok && slices.Contains(names, method.Sel.Name)
}
