// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package environment

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"
)

// A value that is not one line for every reader of user data does not pass Map.
func TestGate(t *testing.T) {
	for value, fits := range map[string]bool{
		"": true, "a b": true, `$(id) "'\`: true, "é": true, "\u00a0": true, "\ufffd": true,
		"\x00": false, "\t": false, "a\n": false, "a\r": false, "\x1b[2J": false, "\x7f": false, "\u0085": false, "\u009b": false, "\u2028": false, "\u2029": false, "\xff": false,
	} {
		var diags diag.Diagnostics
		made := Map(t.Context(), map[string]string{"ETCD_A": value}, &diags)
		if diags.HasError() == fits || made.IsNull() == fits {
			t.Errorf("%q: %v, %v", value, made, diags)
		}
		for _, d := range diags {
			if !strings.Contains(d.Detail(), "ETCD_A") || strings.TrimSpace(value) != "" && strings.Contains(d.Detail(), value) {
				t.Errorf("%q: %s", value, d.Detail())
			}
		}
	}
	for _, name := range []string{"", "1A", "A B", "A\nB", "A=B", "é"} {
		if Problem(map[string]string{name: ""}) == nil {
			t.Errorf("a variable bears the name %q", name)
		}
	}
}

// Every value with ETCD_* variables for a machine is made by Map: no other code of
// the resources writes a literal with such a variable and turns it into a value.
func TestEveryEnvironmentPassesTheGate(t *testing.T) {
	var seen, gates int
	err := filepath.WalkDir("..", func(file string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") || filepath.Dir(file) == "../environment" || file == "environment.go" {
			return err
		}
		seen++
		set := token.NewFileSet()
		parsed, err := parser.ParseFile(set, file, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			name := ""
			if f, ok := call.Fun.(*ast.SelectorExpr); ok {
				name = f.Sel.Name
			}
			if name == "Map" {
				gates++
			}
			if name == "MapValueFrom" || name == "MapValueMust" || name == "MapValue" {
				ast.Inspect(call, func(n ast.Node) bool {
					switch n := n.(type) {
					case *ast.BasicLit:
						if strings.HasPrefix(n.Value, `"ETCD_`) {
							t.Errorf("%s makes an environment that has not passed the gate", set.Position(n.Pos()))
						}
					case *ast.Ident:
						if n.Name == "environment" || n.Name == "variables" {
							t.Errorf("%s makes an environment that has not passed the gate", set.Position(n.Pos()))
						}
					}
					return true
				})
			}
			return true
		})
		return nil
	})
	if err != nil || seen < 38 || gates < 3 {
		t.Fatalf("%d files with %d gates, %v", seen, gates, err)
	}
}
