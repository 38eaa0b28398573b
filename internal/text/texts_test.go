// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

import (
	"cmp"
	"errors"
	"fmt"
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

	"github.com/cockroachdb/datadriven"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/must"
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

// Test that no text advises to destroy a cluster, but for the one that a removal leads to. See
// the comment above [DestroyInstead].
func TestAdviceThatDestroys(t *testing.T) {
	t.Parallel()
	allowed := map[string]string{
		"forgetting":   "a removal was requested, and nothing answers",
		"destroyFirst": "one member whose process stays, which the plan removes anyway",
	}
	found := map[string]bool{}
	advice := regexp.MustCompile(`terraform (?:apply )?-?destroy|destroy (?:everything|all|it and)`)
	for _, pattern := range []string{"*.go", "../provider/*.go", "../provider/*/*.go"} {
		files, err := filepath.Glob(pattern)
		must.Succeed(t, err)
		for _, file := range files {
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
			must.Succeed(t, err)
			for _, d := range parsed.Decls {
				name := ""
				ast.Inspect(d, func(n ast.Node) bool {
					switch n := n.(type) {
					case *ast.FuncDecl:
						name = n.Name.Name
					case *ast.ValueSpec:
						name = n.Names[0].Name
					case *ast.BasicLit:
						if advice.MatchString(n.Value) && !strings.HasSuffix(file, "_test.go") {
							if allowed[name] == "" {
								t.Errorf("%s: %s advises to destroy: %s", file, name, n.Value)
							}
							found[name] = true
						}
					}
					return true
				})
			}
		}
	}
	for name := range allowed {
		if !found[name] {
			t.Errorf("no text of %s advises to destroy any more", name)
		}
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

// seen returns a snapshot of voters infra1, infra2, … that are healthy except for the words
// about each. infra1 leads in term 7.
func seen(t *testing.T, members ...string) membership.Snapshot {
	t.Helper()
	s := membership.Snapshot{ClusterID: 0xc1, Linearizable: true, Answers: map[membership.MemberID]membership.Answer{}}
	for i, words := range members {
		id := infra1 + membership.MemberID(i)
		host := fmt.Sprintf("https://10.0.1.%d", 11+i)
		m := membership.Member{ID: id, Name: fmt.Sprintf("infra%d", i+1), PeerURLs: []string{host + ":2380"}, ClientURLs: []string{host + ":2379"}}
		a := membership.Answer{
			State: membership.Answered, Endpoint: host + ":2379", MemberID: id, ClusterID: s.ClusterID,
			Leader: infra1, Term: 7, Index: 500, Applied: 500, ReadOK: true, Version: "3.6.16",
		}
		for word := range strings.FieldsSeq(words) {
			sees(t, &m, &a, word)
		}
		s.Members = append(s.Members, m)
		s.Answers[id] = a
	}
	return s
}

// sees makes of a healthy member what a word says.
func sees(t *testing.T, m *membership.Member, a *membership.Answer, word string) {
	t.Helper()
	key, value, _ := strings.Cut(word, "=")
	n, _ := strconv.ParseUint(value, 10, 64)
	switch key {
	case "ok":
	case "silent":
		*a = membership.Answer{State: membership.Silent, Endpoint: a.Endpoint, Detail: "connection refused"}
	case "unprobed":
		*a = membership.Answer{}
	case "untrusted":
		*a = membership.Answer{State: membership.Unprobed, Endpoint: a.Endpoint, Detail: "not asked: it is not in endpoints or address_map"}
	case "unstarted":
		m.Name, m.ClientURLs, *a = "", nil, membership.Answer{}
	case "wrong-cluster":
		*a = membership.Answer{State: membership.WrongCluster, Endpoint: a.Endpoint, ClusterID: 0xc2}
	case "learner":
		m.Learner, a.Learner, a.ReadOK = true, true, false
	case "calls-itself-voter", "calls-itself-learner":
		a.Learner = key == "calls-itself-learner"
	case "candidate":
		a.ReadOK, a.Leader = false, 0
	case "no-leader":
		a.Leader = 0
	case "survives":
		a.Leader, a.ReadOK, a.Applied, a.DBSize = 0, false, 42, 3<<20
	case "answers-as":
		a.MemberID = infra1 - 1 + membership.MemberID(n)
	case "term":
		a.Term = n
	case "index":
		a.Index = n
	case "version":
		a.Version = value
	case "no-space":
		a.Alarms = append(a.Alarms, membership.Alarm{Member: a.MemberID, Kind: membership.AlarmNoSpace})
	case "corrupt": // raised for infra2, even if it is not in the list
		a.Alarms = append(a.Alarms, membership.Alarm{Member: infra2, Kind: membership.AlarmCorrupt})
	default:
		t.Fatalf("there is no word %q", word)
	}
}

// stanza is a stanza of a file: a command with its arguments, and the members.
type stanza struct {
	*testing.T
	*datadriven.TestData
}

func (d stanza) args(key string) []string {
	for _, arg := range d.CmdArgs {
		if arg.Key == key {
			return arg.Vals
		}
	}
	return nil
}

// arg is the first value of an argument, or else the other text.
func (d stanza) arg(key, otherwise string) string {
	return cmp.Or(append(d.args(key), otherwise)[0], otherwise)
}

func (d stanza) numbers(key string) (all []uint64) {
	for _, arg := range d.args(key) {
		n, err := strconv.ParseUint(arg, 10, 64)
		if err != nil {
			d.T.Fatalf("%s: %v", d.Pos, err)
		}
		all = append(all, n)
	}
	return all
}

// ids are the members with these numbers.
func (d stanza) ids(key string) (ids []membership.MemberID) {
	for _, n := range d.numbers(key) {
		ids = append(ids, infra1-1+membership.MemberID(n))
	}
	return ids
}

// facts are those of a code.
func (d stanza) facts() membership.Facts {
	f := membership.Facts{Subject: append(d.ids("subject"), 0)[0], Others: d.ids("others"), Detail: d.arg("detail", "")}
	if votes := d.numbers("votes"); votes != nil {
		f.Votes = membership.Votes{Voters: int(votes[0]), Quorum: int(votes[1]), Alive: int(votes[2])}
	}
	return f
}

// snapshot is what the stanza says of the cluster.
func (d stanza) snapshot() membership.Snapshot {
	var members []string
	for line := range strings.Lines(d.Input) {
		members = append(members, line)
	}
	s := seen(d.T, members...)
	s.Dissent = d.ids("dissent")
	s.Linearizable = !d.HasArg("unconfirmed") && len(s.Dissent) == 0
	s.Others = map[membership.ClusterID][]string{}
	for i, n := range d.numbers("clusters") { // that answer
		other := s.ClusterID - 1 + membership.ClusterID(n)
		s.Others[other] = append(s.Others[other], fmt.Sprintf("https://10.0.1.%d:2379", 12+i))
	}
	for _, id := range d.ids("pending") { // a change of its peer URLs is not proven
		m, _ := s.Member(id)
		state := map[string]membership.URLState{"not-restarted": membership.URLsNotRestarted, "not-connected": membership.URLsNotConnected, "not-seen": membership.URLsNotSeen}[d.arg("is", "not-restarted")]
		c := membership.URLChange{ID: id, PeerURLs: m.PeerURLs, Since: time.Date(2026, 11, 25, 1, 30, 57, 0, time.UTC), By: "alice@ops1", Revision: 57}
		if state == membership.URLsNotRestarted {
			c.Before = []string{"https://10.0.9.12:2380"}
		}
		s.Pending = map[membership.MemberID]membership.Pending{id: {URLChange: c, State: state}}
	}
	return s
}

// inProgress are replacements that are in progress.
var inProgress = []membership.Turn{
	{Name: "infra3", Voters: 4, Since: time.Date(2026, 11, 21, 1, 30, 57, 0, time.UTC), By: "alice@ops1"},
	{Name: "infra4", Voters: 4, Since: time.Date(2026, 11, 21, 1, 31, 9, 0, time.UTC), By: "bob@ops2"},
}

// decided is what is decided about the change of a stanza.
func (d stanza) decided(s membership.Snapshot) membership.Decision {
	id := append(d.ids("n"), 0)[0]
	if d.HasArg("gone") {
		id = 0xabc
	}
	m, _ := s.Member(id)
	elsewhere := []string{"https://10.0.1.99:2380"}
	switch d.Cmd {
	case "add":
		r := membership.AddRequest{Name: d.arg("name", ""), PeerURLs: elsewhere}
		if d.HasArg("urls") {
			r.PeerURLs = d.args("urls")
		}
		return membership.DecideAdd(s, r)
	case "promote":
		before := s.Answer(id)
		before.Applied-- // it has advanced since
		if d.HasArg("first") {
			before = membership.Answer{}
		}
		return membership.DecidePromote(s, id, before)
	case "remove", "replace":
		open := inProgress[:append(d.numbers("turns"), 0)[0]]
		return membership.DecideRemove(s, membership.RemoveRequest{ID: id, Name: d.arg("name", ""), Leaving: d.ids("leaving"), Replacement: d.Cmd == "replace", Turns: open})
	case "update":
		return membership.DecideUpdate(s, membership.Member{ID: id, PeerURLs: elsewhere})
	case "clean-up": // the backstop. recorded is the name in the member's record
		return membership.DecideCleanUp(s, membership.CleanUpRequest{
			Name: "infra" + d.arg("n", ""), RecordName: d.arg("recorded", ""), Replacement: d.HasArg("replacement"),
			Ownership: membership.Ownership{Recorded: true, ID: id, PeerURLs: m.PeerURLs},
		})
	}
	d.T.Fatalf("%s: there is no change %q", d.Pos, d.Cmd)
	return membership.Decision{}
}

// TestMembershipTexts runs the stanzas of testdata/membership_texts.txt: a change of the
// member with the number n, what is seen of each member, and the refusal, or else the warning
// that is named. Each code has a text. -rewrite rewrites the file.
func TestMembershipTexts(t *testing.T) {
	shown := map[string]bool{}
	datadriven.RunTest(t, "testdata/membership_texts.txt", func(t *testing.T, td *datadriven.TestData) string {
		d := stanza{t, td}
		s := d.snapshot()
		decided := d.decided(s)
		action := reconfigure.Action(d.arg("as", strings.ReplaceAll(d.Cmd, "clean-up", "remove")))
		name := "infra" + d.arg("n", "9")
		if d.HasArg("unnamed") {
			name = ""
		}
		text, warning := refused(action, name, decided, s), d.arg("warning", "")
		shown[cmp.Or(warning, string(decided.Code))] = true
		for _, w := range decided.Warnings {
			if string(w.Code) == warning {
				text = WarningText(action, name, w, s)
				warning = ""
			}
		}
		if warning != "" {
			t.Errorf("%s: the decision %v has no such warning", d.Pos, decided)
		}
		mustFollowPattern(t, text)
		return text.Summary + "\n\n" + text.Detail + "\n"
	})
	for _, code := range constants(t, "../membership/decision.go", "Code") {
		if !shown[code] {
			t.Errorf("%s has no text", code)
		}
	}
}
