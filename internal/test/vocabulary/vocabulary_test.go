// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package vocabulary contains the words that the project does not use, and the
// test that finds them in texts for readers: the documentation, the
// diagnostics, the messages of the join script, and the comments of exported
// identifiers. Code and quoted output do not count.
package vocabulary

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/must"
)

// rule is a phrase and its replacement.
type rule struct {
	phrase  *regexp.Regexp
	instead string
	// comments reports whether the rule also applies to comments.
	comments bool
}

// rules parses vocabulary.txt: on each line a phrase, a tab, and its replacement.
// The rules after the line [documentation] do not apply to comments.
func rules(t *testing.T) []rule {
	t.Helper()
	var out []rule
	comments := true
	for line := range strings.Lines(must.Read(t, "vocabulary.txt")) {
		line = strings.TrimSuffix(line, "\n")
		switch phrase, instead, ok := strings.Cut(line, "\t"); {
		case line == "" || strings.HasPrefix(line, "#"):
		case line == "[documentation]":
			comments = false
		case !ok || instead == "":
			t.Fatalf("%q has no tab, or nothing behind it", line)
		default:
			out = append(out, rule{regexp.MustCompile(`(?i)\b(?:` + strings.ReplaceAll(phrase, " ", `\s+`) + `)\b`), instead, comments})
		}
	}
	return out
}

var (
	// notProse matches code, link targets and quotations in Markdown.
	notProse = regexp.MustCompile("(?ms)^ *```.*?^ *```|`[^`]*`|\\]\\([^)]*\\)|<!--.*?-->|^>.*?$|^---\n.*?^---$|\\{\\{.*?\\}\\}")
	// said matches the messages of the join script.
	said = regexp.MustCompile(`(?m)\b(?:say|later|never) "([^"]*)"`)
	// argument matches an argument with its value in a text.
	argument = regexp.MustCompile(`\b\w+ = "\w+"`)
)

// blank replaces code by its line breaks, so that line numbers do not change.
func blank(code string) string { return "·" + strings.Repeat("\n", strings.Count(code, "\n")) }

// passages returns the texts for readers in a file, by the number of their
// first line, and whether they are Go comments.
func passages(t *testing.T, path, text string) (out map[int]string, comments bool) {
	t.Helper()
	switch {
	case strings.HasSuffix(path, ".md") || strings.HasSuffix(path, ".md.tmpl"):
		return map[int]string{1: notProse.ReplaceAllStringFunc(text, blank)}, false
	case strings.HasPrefix(path, "internal/joinscript/") && strings.HasSuffix(path, ".sh"):
		out = map[int]string{}
		for _, at := range said.FindAllStringSubmatchIndex(text, -1) {
			out[1+strings.Count(text[:at[2]], "\n")] = text[at[2]:at[3]]
		}
		return out, false
	case strings.HasPrefix(path, "internal/text/"):
		return literals(t, path, text), false
	default:
		return exported(t, path, text), true
	}
}

func parse(t *testing.T, path, text string) (*token.FileSet, *ast.File) {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, text, parser.ParseComments)
	must.Succeed(t, err)
	return set, file
}

// literals returns the string literals of a Go file.
func literals(t *testing.T, path, text string) map[int]string {
	set, file := parse(t, path, text)
	out := map[int]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if value, err := strconv.Unquote(lit.Value); err == nil {
				out[set.Position(lit.Pos()).Line] += " · " + argument.ReplaceAllString(value, "·")
			}
		}
		return true
	})
	return out
}

// exported returns the comments of the package and of exported identifiers.
func exported(t *testing.T, path, text string) map[int]string {
	set, file := parse(t, path, text)
	out := map[int]string{}
	add := func(doc *ast.CommentGroup) {
		if doc != nil {
			out[set.Position(doc.Pos()).Line] = doc.Text()
		}
	}
	add(file.Doc)
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Name.IsExported() {
				add(d.Doc)
			}
		case *ast.GenDecl:
			add(d.Doc)
		}
	}
	return out
}

// checked returns the files that people read, by their paths from the root.
func checked(t *testing.T) []string {
	t.Helper()
	list := exec.Command("git", "ls-files", "-co", "--exclude-standard", "--", "*.md", "*.md.tmpl", "*.go", "internal/joinscript/*.sh", ":!templates/*.md.tmpl")
	list.Dir = filepath.Join("..", "..", "..")
	names, err := list.Output()
	if err != nil {
		t.Skipf("the files of the project are not known without git: %v", err)
	}
	var out []string
	for name := range strings.FieldsSeq(string(names)) {
		if !strings.HasSuffix(name, "_test.go") {
			out = append(out, name)
		}
	}
	return out
}

// Texts for readers do not contain phrases of the vocabulary.
func TestVocabulary(t *testing.T) {
	t.Parallel()
	list, files := rules(t), checked(t)
	if len(files) < 200 || len(list) < 20 {
		t.Fatalf("%d files and %d rules", len(files), len(list))
	}
	for _, path := range files {
		text, err := os.ReadFile(filepath.Join("..", "..", "..", path))
		if os.IsNotExist(err) {
			continue // deleted but not committed yet
		}
		must.Succeed(t, err)
		parts, comment := passages(t, path, string(text))
		for line, part := range parts {
			for _, r := range list {
				if comment && !r.comments {
					continue
				}
				for _, at := range r.phrase.FindAllStringIndex(part, -1) {
					t.Errorf("%s:%d: %q; write: %s", path, line+strings.Count(part[:at[0]], "\n"), part[at[0]:at[1]], r.instead)
				}
			}
		}
	}
}
