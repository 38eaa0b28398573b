// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package log_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestEventsAreDocumented checks that the guide for operators names every event, and
// that every event is a constant text, so that no line holds more than its facts.
func TestEventsAreDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "templates", "guides", "logs.md"))
	if err != nil {
		t.Fatal(err)
	}
	lines := 0
	err = filepath.WalkDir("..", func(file string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") || filepath.Dir(file) == filepath.Join("..", "log") {
			return err
		}
		set := token.NewFileSet()
		parsed, err := parser.ParseFile(set, file, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) < 3 {
				return true
			}
			if f, ok := call.Fun.(*ast.SelectorExpr); !ok || f.Sel.Name != "Debug" {
				return true
			}
			lines++
			event, ok := call.Args[2].(*ast.BasicLit)
			if !ok {
				t.Errorf("%s: the event is no constant text", set.Position(call.Pos()))
				return true
			}
			if text, err := strconv.Unquote(event.Value); err != nil || !strings.Contains(string(page), "`"+text+"`") {
				t.Errorf("%s: the guide on logs does not have %s", set.Position(call.Pos()), event.Value)
			}
			return true
		})
		return nil
	})
	if err != nil || lines == 0 {
		t.Fatalf("%d lines, %v", lines, err)
	}
}
