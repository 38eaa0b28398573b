// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package diag

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
)

// Whatever failed, the summary says what it was, of which member, and the detail
// holds the cause.
func TestEveryActionHasASummary(t *testing.T) {
	seen := map[string]reconfigure.Action{}
	for _, action := range reconfigure.Actions() {
		got := Explain(action, "d", errors.New("the cause"))
		if before, ok := seen[got.Summary]; ok {
			t.Errorf("%s and %s have the same summary", before, action)
		}
		seen[got.Summary] = action
		if words := strings.Fields(got.Summary); len(words) < 4 || words[0] != "Cannot" || words[len(words)-1] != "d" || !strings.Contains(got.Detail, "the cause") {
			t.Errorf("%s: %q, %q", action, got.Summary, got.Detail)
		}
		mustFollowPattern(t, got)
	}
}

// A refusal is worded as what was asked for: the promotion of a member is one
// also where the join that it is part of calls it an addition.
func TestRefusalAgreesWithTheAction(t *testing.T) {
	for _, action := range []reconfigure.Action{reconfigure.ActionAdd, reconfigure.ActionPromote, reconfigure.ActionRemove, reconfigure.ActionUpdate} {
		refused := []reconfigure.Action{action}
		if action == reconfigure.ActionPromote {
			refused = append(refused, reconfigure.ActionAdd)
		}
		for _, r := range refused {
			err := &reconfigure.Refusal{Action: r, Name: "d", Decision: membership.Decision{Code: membership.NotMember}}
			if got, want := Explain(action, "d", err).Summary, Explain(action, "d", errors.New("x")).Summary; got != want {
				t.Errorf("%s, refused as %s: %q, want %q", action, r, got, want)
			}
		}
	}
}

// An action that is written as a text is one of those that exist.
func TestNoOtherActions(t *testing.T) {
	calls := 0
	err := filepath.WalkDir("..", func(name string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, ".go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) < 2 {
				return true
			}
			var called string
			switch f := call.Fun.(type) {
			case *ast.Ident:
				called = f.Name
			case *ast.SelectorExpr:
				called = f.Sel.Name
			}
			if !slices.Contains([]string{"Explain", "WarningText", "Refused"}, called) {
				return true
			}
			calls++
			if text, ok := call.Args[0].(*ast.BasicLit); ok {
				action, err := strconv.Unquote(text.Value)
				if err != nil || !slices.Contains(reconfigure.Actions(), reconfigure.Action(action)) {
					t.Errorf("%s: %s(%s, …): there is no such action", name, called, text.Value)
				}
			}
			return true
		})
		return nil
	})
	if err != nil || calls < 20 {
		t.Errorf("looked at %d calls, %v", calls, err)
	}
}
