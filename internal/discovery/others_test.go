// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discovery

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

// Test that no delete in the product affects more than one key: none uses a
// range, a prefix or a whole directory. Created keys are deleted individually,
// here and elsewhere (claims, ownership records, turns).
func TestNoDeleteTakesMoreThanOneKey(t *testing.T) {
	deletes := 0
	err := filepath.WalkDir("..", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			f, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || f.Sel.Name != "Delete" && f.Sel.Name != "OpDelete" {
				return true
			}
			deletes++
			for _, arg := range call.Args {
				ast.Inspect(arg, func(n ast.Node) bool {
					if id, ok := n.(*ast.Ident); ok && slices.Contains([]string{"WithPrefix", "WithRange", "WithFromKey", "Recursive"}, id.Name) {
						t.Errorf("%s: a delete with %s", name, id.Name)
					}
					return true
				})
			}
			return true
		})
		return nil
	})
	if err != nil || deletes < 8 {
		t.Errorf("%d deletes found, %v", deletes, err)
	}
}
