// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/must"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
)

// TestInputTexts compares the texts about the
// provider's configuration with testdata/input.txt. UPDATE=1 rewrites the file.
func TestInputTexts(t *testing.T) {
	badEndpoint := &membership.URLError{URL: "ftp://infra1", Problem: membership.URLScheme, Client: true}
	texts := []Message{
		NoEndpoints,
		EndpointsUnknown,

		URLIn("endpoints[0]", badEndpoint),

		NotTrusted([]string{"https://10.0.2.11:2379", "https://etcd4.example.com:2379"}, nil),
		NotTrusted([]string{"https://10.0.2.11:2379"}, []string{"http://10.0.1.10:2379"}),
		NotTrusted(nil, []string{"http://10.0.1.10:2379", "http://10.0.1.11:2379"}),
		PasswordInTheClear([]string{"http://10.0.1.10:2379", "http://10.0.1.11:2379"}),

		URLIn("client_urls", &membership.URLError{Problem: membership.URLEmpty}),
		URLIn("peer_urls", &membership.URLError{URL: "http://10.0.0.1", Problem: membership.URLNoPort}),
	}
	expiry := time.Date(2026, time.November, 21, 5, 0, 0, 0, time.UTC)
	for _, problem := range []connection.TLSProblem{
		connection.CertWithoutKey, connection.KeyWithoutCert, connection.Unreadable, connection.NoPEM,
		connection.EncryptedKey, connection.KeyMismatch, connection.CertExpired, connection.CertNotYetValid,
	} {
		err := &connection.TLSError{Argument: "cert", Problem: problem, Path: "pki/root.pem", When: expiry, Err: errors.New("no such file or directory")}
		texts = append(texts, TLSMaterial("cert", err))
	}
	mustBeTexts(t, "input.txt", unnamed(texts...))
}

// Test that the tests of this package render each text, and that each guide that a text
// names exists.
func TestEveryTextIsRendered(t *testing.T) {
	guide := regexp.MustCompile(`guides ?\+ ?"([a-z-]+)`)
	made := regexp.MustCompile(`(?m)^func ([A-Z]\w*)\(.*\) Message \{$|^var ([A-Z]\w*) = (?:of[123]|New|filled)\b`)
	files, err := filepath.Glob("*.go")
	must.Succeed(t, err)
	texts, tests := map[string]string{}, ""
	for _, file := range files {
		source := must.Read(t, file)
		if strings.HasSuffix(file, "_test.go") && file != "hostile_test.go" { // which renders them for no user
			tests += source
		}
		for _, found := range guide.FindAllStringSubmatch(source, -1) {
			if pages, err := filepath.Glob("../../templates/guides/" + found[1] + ".md*"); err != nil || len(pages) != 1 {
				t.Errorf("%s names the guide %s, which is %d pages, %v", file, found[1], len(pages), err)
			}
		}
		for _, found := range made.FindAllStringSubmatch(source, -1) {
			texts[found[1]+found[2]] = file
		}
	}
	delete(texts, "New")
	if len(texts) < 20 {
		t.Fatalf("only %d texts were found", len(texts))
	}
	for name, file := range texts {
		if !regexp.MustCompile(`\b` + name + `\b`).MatchString(tests) {
			t.Errorf("%s: no test renders %s", file, name)
		}
	}
}

// Test that the texts that stand next to their rule follow the pattern too, whatever their
// facts are.
func TestTextsBesideTheirRules(t *testing.T) {
	verb := regexp.MustCompile(`%[-.\[\]0-9]*[a-z]`)
	found := 0
	for _, pattern := range []string{"../provider/*.go", "../provider/*/*.go"} {
		files, err := filepath.Glob(pattern)
		must.Succeed(t, err)
		for _, file := range files {
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
			must.Succeed(t, err)
			ast.Inspect(parsed, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok || len(call.Args) < 2 {
					return true
				}
				args := call.Args
				switch f, _ := call.Fun.(*ast.SelectorExpr); {
				case f == nil:
					return true
				case f.Sel.Name == "Fits" && len(args) == 4:
					args = args[2:]
				case f.Sel.Name != "New" || types.ExprString(f.X) != "text":
					return true
				}
				found++
				detail := strings.TrimSpace(strings.TrimSuffix(literal(args[1], "Words."), "%s"))
				mustFollowPattern(t, Message{literal(args[0], "Words"), verb.ReplaceAllString(detail, "words")})
				return true
			})
		}
	}
	if found < 50 {
		t.Errorf("only %d texts", found)
	}
}

// literal is the text of an expression, in which other stands for what is no literal.
func literal(e ast.Expr, other string) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, _ := strconv.Unquote(e.Value) // the parser has read it
		return text
	case *ast.BinaryExpr:
		return literal(e.X, other) + literal(e.Y, other)
	default:
		return other
	}
}

// Test that a shell parses any key as one word.
func TestShellWord(t *testing.T) {
	bash, err := exec.LookPath("bash")
	must.Succeed(t, err)
	for _, key := range []string{
		"/_terraform/etcd/1/members/name:a", "/a b", "/it's", "/$(touch x)`touch x`;&|<>\"\\*?[]{}~#!", "/a\nb\x1b", "/é", "/\xff", "/\u202e",
	} {
		out, err := exec.CommandContext(t.Context(), bash, "-c", "printf %s "+shellWord(key)).Output()
		if err != nil || string(out) != key {
			t.Errorf("%q as %s: %q, %v", key, shellWord(key), out, err)
		}
	}
}

// Test that the summary names the requested action, even if a refusal of a promotion is
// part of a join that calls it an addition.
func TestEveryActionHasASummary(t *testing.T) {
	var all []named
	for _, action := range []reconfigure.Action{
		reconfigure.ActionAdd, reconfigure.ActionPromote, reconfigure.ActionRemove, reconfigure.ActionReplace, reconfigure.ActionUpdate, reconfigure.ActionRead,
		reconfigure.ActionRecord, reconfigure.ActionImport, reconfigure.ActionReach, reconfigure.ActionForget, reconfigure.ActionSave,
	} {
		all = append(all, named{string(action), Explain(action, "d", errors.New("the cause"))})
	}
	for _, refused := range []reconfigure.Action{reconfigure.ActionAdd, reconfigure.ActionPromote} {
		err := &reconfigure.Refusal{Action: refused, Name: "d", Decision: membership.Decision{Code: membership.NotMember}}
		all = append(all, named{"a promotion, refused as " + string(refused), Explain(reconfigure.ActionPromote, "d", err)})
	}
	mustBeTexts(t, "actions.txt", all)
}

// named is a text and the situation in which it is shown.
type named struct {
	name string
	text Message
}

// unnamed are texts that need no name.
func unnamed(texts ...Message) (all []named) {
	for _, text := range texts {
		all = append(all, named{text: text})
	}
	return all
}

// mustBeTexts compares texts with a file under testdata, where they can be read like a
// user sees them.
func mustBeTexts(t *testing.T, file string, texts []named) {
	t.Helper()
	var b strings.Builder
	for _, c := range texts {
		mustFollowPattern(t, c.text)
		if n := len(strings.Fields(c.text.Summary)); n > 8 {
			t.Errorf("a summary has at most eight words, this one %d: %q", n, c.text.Summary)
		}
		b.WriteString(strings.TrimSpace("== "+c.name) + "\n" + c.text.Summary + "\n\n" + c.text.Detail + "\n\n")
	}
	must.BeGolden(t, "testdata/"+file, b.String())
}

var (
	// summaries are one line that begins with a capital or an argument.
	summaries = regexp.MustCompile(`^([A-Z]|size\b|desired\b)\S*( \S+)*$`)
	// unfilled is what no text holds, apart from the characters of names.
	unfilled = regexp.MustCompile(`%!|  |\.\.| \.|\(\)|<nil>|secret|` + inBraces.String())
)

// mustFollowPattern fails the test unless the detail of a text is whole sentences, in which
// nothing is left to fill.
func mustFollowPattern(t *testing.T, text Message) {
	t.Helper()
	first, _, _ := strings.Cut(text.Detail, "\n\n")
	line, _, _ := strings.Cut(first, "\n") // before a list
	odd := unfilled.FindString(strings.ReplaceAll(text.Summary+" · "+line, "and . _", "and _"))
	if !summaries.MatchString(text.Summary) || strings.HasSuffix(text.Summary, ".") || !strings.HasSuffix(first, ".") && !strings.HasSuffix(first, ":") || odd != "" {
		t.Errorf("not a summary and whole sentences, or it has %q in it: %q: %q", odd, text.Summary, first)
	}
}
