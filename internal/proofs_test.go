// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package internal_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/must"
)

// numbers are the numbers of rules in comments, names of tests and cases.
var numbers = regexp.MustCompile(`\b[CFN][0-9]{1,2}\b`)

// proof is a line of proofs.txt: which test of which directory proves a rule.
type proof struct{ group, rule, layer, dir, test string }

// suite is what the test files of a directory contain.
type suite struct {
	tests map[string][]string // the imports of the file, by the name of the test
	cases []string            // what may be the name of a case, as go test -run has it
}

// planted is a mistake in package simulated: its name, and the tests that find it.
type planted struct{ name, by string }

// The map of the proofs agrees with the code: its tests exist, each in its layer, and it
// has each rule that the code names by a number or DESIGN.md by its function, and what
// finds each mistake against one.
func TestProofs(t *testing.T) {
	t.Parallel()
	text := must.Read(t, "proofs.txt")
	suites, named := map[string]suite{}, map[string]string{}
	mistakes := plantedIn(must.Read(t, "test/simulated/testdata/mistakes.txt"))
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || file == "proofs.txt" || !slices.Contains([]string{".go", ".txt", ".sh"}, path.Ext(file)) {
			return err
		}
		source, err := os.ReadFile(file)
		for _, n := range numbers.FindAllString(string(source), -1) {
			named[n] = file
		}
		if err == nil {
			err = collect(suites, file, source)
		}
		return err
	})
	must.Succeed(t, err)
	design := must.Read(t, "../DESIGN.md")
	for _, rule := range decisions.FindAllStringSubmatch(design, -1) {
		named[rule[1]] = "DESIGN.md"
	}
	proofs := proofsIn(text)
	if len(proofs) < 80 || len(named) < 20 || len(mistakes) < 50 {
		t.Errorf("found only %d proofs, %d rules and %d mistakes", len(proofs), len(named), len(mistakes))
	}
	for _, p := range slices.Concat(wrong(proofs, suites), unproven(proofs, named), unseen(proofs, mistakes, suites)) {
		t.Error(p)
	}
}

func proofsIn(text string) (out []proof) {
	for line := range strings.Lines(text) {
		f := strings.Split(strings.TrimSpace(line), " | ")
		if line[0] == '#' || len(f) == 1 {
			continue
		}
		f = append(f, "", "", "")
		dir, test, _ := strings.Cut(f[3], " ")
		out = append(out, proof{f[0], f[1], f[2], dir, test})
	}
	return out
}

// collect adds the tests and cases of a file to the suite of its directory.
func collect(suites map[string]suite, file string, source []byte) error {
	dir := strings.TrimSuffix(path.Dir(file), "/testdata")
	s := suites[dir]
	if s.tests == nil {
		s.tests = map[string][]string{}
	}
	defer func() { suites[dir] = s }()
	if path.Ext(file) == ".txt" {
		s.cases = append(s.cases, strings.TrimSuffix(path.Base(file), ".txt"))
		for line := range strings.Lines(string(source)) {
			if name, is := strings.CutPrefix(strings.TrimSpace(line), "== "); is { // a script of package simulated
				s.cases = append(s.cases, strings.ReplaceAll(name, " ", "_"))
			}
		}
	}
	if !strings.HasSuffix(file, "_test.go") {
		return nil
	}
	parsed, err := parser.ParseFile(token.NewFileSet(), file, source, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	var imports []string
	for _, i := range parsed.Imports {
		imports = append(imports, path.Base(strings.Trim(i.Path.Value, `"`)))
	}
	for _, d := range parsed.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") {
			s.tests[f.Name.Name] = imports
		}
	}
	for _, name := range literals(parsed) {
		s.cases = append(s.cases, strings.ReplaceAll(name, " ", "_"))
	}
	return nil
}

// literals returns the texts in a part of a file.
func literals(node ast.Node) (out []string) {
	for n := range ast.Preorder(node) {
		if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
			text, _ := strconv.Unquote(l.Value) // the parser has read it
			out = append(out, text)
		}
	}
	return out
}

// wrong returns what is not so in the proofs themselves.
func wrong(proofs []proof, suites map[string]suite) (out []string) {
	seen := map[string]bool{}
	for _, p := range proofs {
		about := fmt.Sprintf("proofs.txt: %s, %s: ", p.group, p.rule)
		name, sub, _ := strings.Cut(p.test, "/")
		s := suites[p.dir]
		imports, ok := s.tests[name]
		begins := func(c string) bool { return strings.HasPrefix(c, sub) }
		switch {
		case !ok:
			out = append(out, about+"there is no "+name+" in "+p.dir)
		case !slices.ContainsFunc(s.cases, begins) && sub != "":
			out = append(out, about+name+" has no case "+sub)
		case !s.mayBe(p.layer, imports):
			out = append(out, about+name+" is not "+p.layer)
		}
		for _, key := range []string{p.group + p.rule, p.group + p.dir + p.test} {
			if seen[key] {
				out = append(out, about+"it is there twice")
			}
			seen[key] = true
		}
	}
	return out
}

// mayBe reports whether a test whose file has these imports may be of a layer.
func (s suite) mayBe(layer string, imports []string) bool {
	uses := func(imports []string, names ...string) bool {
		return slices.ContainsFunc(imports, func(i string) bool { return slices.Contains(names, i) })
	}
	for _, of := range s.tests { // a helper may be in another file
		switch {
		case layer == "pure" && !uses(imports, "etcdsim", "driver", "etcdtest", "acctest"),
			layer == "simulated" && uses(of, "etcdsim", "driver"), layer == "real" && uses(of, "etcdtest", "acctest"):
			return true
		}
	}
	return false
}

// unproven returns the numbers of rules, each with a file that names it, without a proof.
func unproven(proofs []proof, named map[string]string) (out []string) {
	for n, file := range named {
		if !slices.ContainsFunc(proofs, func(p proof) bool { return slices.Contains(strings.Fields(p.group), n) }) {
			out = append(out, fmt.Sprintf("proofs.txt has no %s, which %s names", n, file))
		}
	}
	return out
}

// unseen returns the mistakes that are found by a test that does not exist, or against a
// rule by a test that is no proof of it.
func unseen(proofs []proof, mistakes []planted, suites map[string]suite) (out []string) {
	for _, m := range mistakes {
		dir, by, elsewhere := strings.Cut(m.by, " ")
		if dir = path.Join("test/simulated", dir); !elsewhere {
			dir, by = "test/simulated", m.by
		}
		of, exists, proven := numbers.FindString(m.name), false, false
		for test := range strings.SplitSeq(strings.Trim(by, "^$"), "|") {
			name, sub, _ := strings.Cut(test, "/")
			for has := range suites[dir].tests {
				exists = exists || strings.HasPrefix(has, name)
			}
			proven = proven || slices.ContainsFunc(proofs, func(p proof) bool {
				proofName, proofSub, _ := strings.Cut(p.test, "/")
				same := strings.HasPrefix(proofSub, sub) || strings.HasPrefix(sub, proofSub)
				return slices.Contains(strings.Fields(p.group), of) && p.dir == dir && proofName == name && same
			})
		}
		switch {
		case !exists:
			out = append(out, fmt.Sprintf("the mistake %q names a test that %s does not have: %s", m.name, dir, by))
		case of != "" && !proven:
			out = append(out, fmt.Sprintf("the mistake %q is found by %s, which proves no %s in proofs.txt", m.name, m.by, of))
		}
	}
	return out
}

// plantedIn returns the mistakes in a file of package simulated.
func plantedIn(text string) (out []planted) {
	for line := range strings.Lines(text) {
		switch sign, text, _ := strings.Cut(strings.TrimSpace(line), ": "); sign {
		case "mistake":
			out = append(out, planted{name: text})
		case "by":
			out[len(out)-1].by = text
		}
	}
	return out
}

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
