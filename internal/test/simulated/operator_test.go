// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package simulated

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/driver"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/must"
)

// Every command and every block that an error or a warning prints leads on: the test of
// its situation runs it from there. Then plain applies lead to an empty plan.

// verbs begin what the texts print. Of two that fit, the first one counts. What only reads
// (terraform plan, etcdctl get) is not among them, nor is a plain terraform apply, with
// which every situation ends.
var verbs = regexp.MustCompile(`terraform (?:apply -(?:target|replace|refresh-only)|destroy -(?:refresh=false|target)|destroy|untaint|state rm|import|init)|` +
	`etcdctl (?:member remove|del|alarm disarm|compaction|role grant-permission|user grant-role|downgrade [a-z]+)\b|` +
	`ETCD_CLUSTER_LOST=|import \{|replace_triggered_by|rebuild = |gone = \[|replaces_cluster = |-replace='|removed \{`)

// operator runs what the texts print.
type operator struct {
	*site
	names string          // of the nodes at the end, "" for a destroyed cluster
	ran   map[string]bool // verbs
	place string          // what the texts call ADDRESS, unless it is that of the diagnostic
	user  string          // what they call NAME and ROLE
	via   string          // the member that etcdctl asks, unless it is a
}

// diagnostic returns the one with the words.
func (o *operator) diagnostic(r driver.Result, words string) driver.Diagnostic {
	o.Helper()
	for _, d := range r.Diagnostics {
		if strings.Contains(d.Summary+"\n"+d.Detail, words) {
			return d
		}
	}
	o.Fatalf("nothing says %q: %v", words, r.Diagnostics)
	return driver.Diagnostic{}
}

// follow runs what the text with the words prints with that verb.
func (o *operator) follow(r driver.Result, words, verb string) (out driver.Result) {
	o.Helper()
	d := o.diagnostic(r, words)
	at := regexp.MustCompile(regexp.QuoteMeta(verb)+`[^\n]*`).FindAllString(d.Detail, -1)
	if len(at) == 0 {
		o.Fatalf("%q is not in %q", verb, d.Detail)
	}
	if verb == "import {" {
		at = regexp.MustCompile(`import \{[^}]*\}`).FindAllString(d.Detail, -1)
	}
	for _, line := range at {
		for _, verb := range verbs.FindAllString(line, -1) {
			o.ran[verb] = true
		}
		line = strings.NewReplacer("ADDRESS OF THE MACHINE OF b", machineOf("b"), "ADDRESS OF THAT RESOURCE", o.place,
			"ADDRESS", o.addressOf(d)).Replace(line)
		if strings.HasPrefix(line, "terraform") || strings.HasPrefix(line, "ETCD_CLUSTER_LOST") {
			out = o.terraform(line)
		} else {
			o.does(line)
		}
	}
	return out
}

func (o *operator) addressOf(d driver.Diagnostic) string {
	if o.place != "" {
		return o.place
	}
	if _, name, ok := strings.Cut(d.Detail, "ADDRESS is the address of the resource of "); ok {
		name, _, _ = strings.Cut(name, ":")
		for _, r := range o.ws.Resources {
			if strings.HasPrefix(r.Type, "etcd_") && (r.Name == name || r.Name == `node["`+name+`"]`) {
				return r.Address()
			}
		}
	}
	return d.Address
}

// terraform runs a command. Before it plans a destruction, Terraform makes an ordinary plan.
func (o *operator) terraform(line string) (r driver.Result) {
	o.Helper()
	o.rest(time.Minute)
	if statement, ok := strings.CutPrefix(line, "ETCD_CLUSTER_LOST="); ok {
		o.env["ETCD_CLUSTER_LOST"], line, _ = strings.Cut(statement, " ")
		defer delete(o.env, "ETCD_CLUSTER_LOST")
	}
	words := strings.Fields(strings.ReplaceAll(line, "'", ""))
	var opts []driver.Option
	for _, word := range words[2:] {
		if word[0] == '-' {
			opts = append(opts, driver.Option(strings.TrimRight(word, ".,")))
		}
	}
	switch words[1] = strings.TrimRight(words[1], ".,"); words[1] {
	case "untaint":
		o.ws.Untaint(words[2])
		return r
	case "state":
		o.ws.Forget(words[3])
		return r
	case "apply":
		if slices.Contains(opts, "-refresh-only") {
			return o.ws.Refresh(o.Context(), o.start("refresh"))
		}
	case "import":
		r = o.take(words[2], words[3])
		o.ok(r)
		return r
	case "destroy":
		if !slices.Contains(opts, driver.NoRefresh) {
			_, r = o.ws.Plan(o.Context(), o.start("before the destruction"))
			o.ok(r)
		}
		opts = append(opts, driver.Destroy)
	}
	_, r = o.ws.Up(o.Context(), o.start(words[1]), opts...)
	return r
}

var quoted = regexp.MustCompile(`"([^"]*)"`)

// other does what is no command of Terraform.
func (o *operator) does(line string) {
	o.Helper()
	var texts []any
	for _, m := range quoted.FindAllStringSubmatch(line, -1) {
		texts = append(texts, m[1])
	}
	last := strings.Trim(regexp.MustCompile(`^etcdctl [a-z]+(?: [a-z]+)? ?`).ReplaceAllString(line, ""), "' ).,")
	last, _, _ = strings.Cut(last, ")")
	var err error
	c := o.client("a")
	switch verbs.FindString(line) {
	case "import {":
		to := strings.TrimSpace(strings.Split(strings.Split(line, "to = ")[1], "\n")[0])
		o.ok(o.take(to, fmt.Sprint(texts[len(texts)-1])))
	case "rebuild = ":
		o.set("rebuild", map[string]any{fmt.Sprint(texts[0]): texts[1]})
	case "gone = [":
		o.restoring()["gone"] = texts
	case "replaces_cluster = ":
		o.restoring()["replaces_cluster"] = texts[0]
	case "replace_triggered_by":
		for i, r := range o.ws.Resources {
			if r.Type == "machine" {
				o.ws.Resources[i].ReplacedBy = nodeOfMachine(r)
			}
		}
	case "etcdctl member remove":
		if last == "ID" {
			last = o.place
		}
		id, bad := membership.ParseMemberID(last)
		if err = bad; err == nil {
			_, err = c.MemberRemove(o.Context(), uint64(id))
		}
	case "etcdctl del":
		_, err = c.Delete(o.Context(), last)
	case "etcdctl user grant-role", "etcdctl role grant-permission":
		o.etcdctl(strings.NewReplacer("NAME", o.user, "ROLE", o.user, ").", "").Replace(line))
	case "etcdctl downgrade enable":
		to, _, _ := strings.Cut(last, ",")
		_, err = c.Downgrade(o.Context(), clientv3.DowngradeEnable, to)
	case "etcdctl downgrade cancel":
		_, err = c.Downgrade(o.Context(), clientv3.DowngradeCancel, "")
	case "etcdctl compaction":
		now, bad := c.Get(o.Context(), "x")
		if err = bad; err == nil {
			_, err = c.Compact(o.Context(), now.Header.Revision)
		}
	case "etcdctl alarm disarm":
		_, err = c.AlarmDisarm(o.Context(), &clientv3.AlarmMember{})
	default:
		o.Fatalf("%q is no known command", line)
	}
	if err != nil {
		o.Fatalf("%s: %v", line, err)
	}
}

// finish applies until nothing is to do, and looks for what is left.
func (o *operator) finish() {
	o.Helper()
	var last driver.Result
	done := false
	for i := 0; i < 5 && !done; i++ {
		o.rest(time.Minute)
		var plan *driver.Plan
		plan, last = o.ws.Up(o.Context(), o.start("finish"))
		done = last.Err() == nil && len(plan.Actions()) == 0
	}
	if !done {
		o.Fatalf("it does not end: %v", last)
	}
	o.expect("members", o.list(), o.names)
	ids := ""
	for _, name := range strings.Fields(o.names) {
		ids += " " + driver.Attribute(o.ws.State(thisCluster).Value, "node", name, "id")
	}
	all, err := o.client("a").Get(o.Context(), membership.MetadataPrefix, clientv3.WithPrefix())
	o.must(err)
	for _, kv := range all.Kvs {
		_, owner, is := strings.Cut(string(kv.Key), "/members/")
		lists := slices.ContainsFunc(o.cluster.Members(),
			func(m *pb.Member) bool { return strings.Contains(string(kv.Value), membership.MemberID(m.ID).String()) })
		if is && lists && !strings.Contains(ids, owner) || strings.HasSuffix(string(kv.Key), "/lock") {
			o.Errorf("the key %s is left, and the nodes are%s", kv.Key, ids)
		}
	}
}

func TestWalk(t *testing.T) { runFile(t, "walk.txt") }

// Each text that prints a command has its situation, or its reason in the part "elsewhere".
func TestEverySituationIsWalked(t *testing.T) {
	t.Parallel()
	walked, cases := map[string]string{}, scenariosIn(t, "walk.txt")
	for _, line := range cases[0].Parts["elsewhere"] {
		what, why, _ := strings.Cut(line, " | ")
		walked[whole(what)] = why
	}
	for _, c := range cases {
		for _, line := range c.Steps {
			if p, is := strings.CutPrefix(line, "prints "); is {
				walked[whole(p)] = c.Name
			}
		}
	}
	var all []string
	for _, pattern := range []string{"../../text/*.go", "../../provider/*/*.go"} {
		files, err := filepath.Glob(pattern)
		must.Succeed(t, err)
		for _, file := range files {
			if !strings.HasSuffix(file, "_test.go") {
				all = append(all, printedIn(t, file)...)
			}
		}
	}
	for _, p := range all {
		if walked[p] == "" {
			t.Errorf("no situation prints %q, see testdata/walk.txt", p)
		}
	}
	for p := range walked {
		if !slices.Contains(all, p) {
			t.Errorf("no text prints %q any more", p)
		}
	}
}

// printedIn returns what the texts of a file print: "PACKAGE.DECLARATION: VERB". A part of
// a map is a declaration of its own.
func printedIn(t *testing.T, file string) (out []string) {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	must.Succeed(t, err)
	var in func(name string, n ast.Node)
	in = func(name string, n ast.Node) {
		ast.Inspect(n, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.KeyValueExpr:
				if key, ok := n.Key.(*ast.SelectorExpr); ok {
					in(key.Sel.Name, n.Value)
					return false
				}
			case *ast.BasicLit:
				if text, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING {
					for _, verb := range verbs.FindAllString(text, -1) {
						out = append(out, parsed.Name.Name+"."+name+": "+verb)
					}
				}
			}
			return true
		})
	}
	for _, d := range parsed.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			in(d.Name.Name, d)
		case *ast.GenDecl:
			for _, s := range d.Specs {
				if v, ok := s.(*ast.ValueSpec); ok {
					in(v.Names[0].Name, v)
				}
			}
		}
	}
	return out
}
