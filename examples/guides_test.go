// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package examples

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/acctest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/must"
)

var (
	block    = regexp.MustCompile("(?ms)^```(?:terraform|hcl)\n(.*?)^```$")
	begins   = regexp.MustCompile(`(?m)^(terraform|provider|resource|data|locals|import|check|output|module|action|list)\b`)
	declares = regexp.MustCompile(`(?m)^\s*(resource|data|variable) "(\w+)"(?: "(\w+)")?`)
	mentions = regexp.MustCompile(`\b(data\.etcd_\w+|etcd_\w+|terraform_data)\.(\w+)(\[)?`)
	settings = regexp.MustCompile(`\b(var|local)\.(\w+)`)
)

// elsewhere matches blocks that this CLI, or a test without a network, cannot validate:
// actions and lists are for Terraform 1.14 and later, other providers are planned by
// TestExamples or cannot be had, and a module or a whole example is the reader's.
var elsewhere = regexp.MustCompile(`action "|list "etcd_|action_trigger|tls_|Ferlab-Ste-Justine|source += "\.\.?/`)

// stubs are what a block may refer to and another one on the page, or an
// example, has declared.
var stubs = map[string]string{
	"etcd_discovery_token": `size = 3`,
	"etcd_cluster":         `members = { a = { address = "10.0.1.10" } }`,
	"etcd_learner":         "name = \"a\"\n peer_urls = [\"https://10.0.1.10:2380\"]",
	"etcd_member":          "name = \"a\"\n peer_urls = [\"https://10.0.1.10:2380\"]",
	"terraform_data":       ``,
	"data.etcd_cluster":    ``,
	"data.etcd_heartbeats": `prefix = "/running"`,
	"etcd_heartbeat":       `name = "a"`,
	"etcd_snapshot":        `path = "etcd.db"`,
}

// declare completes a block with what it takes for granted.
func declare(text string) string {
	text = strings.NewReplacer("example_vm", "terraform_data", "example_disk", "terraform_data").Replace(text)
	var b strings.Builder
	b.WriteString(text)
	have := map[string]bool{}
	for _, d := range declares.FindAllStringSubmatch(text, -1) {
		switch d[1] {
		case "data":
			have["data."+d[2]+"."+d[3]] = true
		case "variable":
			have["var."+d[2]] = true
		default:
			have[d[2]+"."+d[3]] = true
		}
	}
	lacks := func(name, has, declaration string) {
		if !have[name] && (has == "" || !strings.Contains(text, has)) {
			b.WriteString("\n" + declaration + "\n")
		}
		have[name] = true
	}
	lacks("terraform", "required_providers", "terraform {\n  required_providers {\n    etcd = { source = \"terraform-provider-etcd/etcd\" }\n  }\n}")
	if strings.Contains(text, "etcd.registry") {
		lacks("etcd.registry", "alias", "provider \"etcd\" {\n  alias = \"registry\"\n}")
	}
	if strings.Contains(text, "local.nodes") || strings.Contains(text, "etcd_") && strings.Contains(text, "[each.key]") {
		lacks("local.nodes", "locals {", "locals {\n  nodes = { a = { address = \"10.0.1.10\" } }\n}")
	}
	for _, s := range settings.FindAllStringSubmatch(text, -1) {
		if name := s[1] + "." + s[2]; s[1] == "var" {
			lacks(name, "", fmt.Sprintf("variable %q {\n  type = any\n}", s[2]))
		} else {
			lacks(name, "locals {", fmt.Sprintf("locals {\n  %s = {}\n}", s[2]))
		}
	}
	for _, m := range mentions.FindAllStringSubmatch(text, -1) {
		body, known := stubs[m[1]]
		if m[3] != "" {
			body = "for_each = local.nodes\n" + body
		}
		kind, typ := "resource", m[1]
		if name, is := strings.CutPrefix(m[1], "data."); is {
			kind, typ = "data", name
		}
		if known {
			lacks(m[1]+"."+m[2], "", fmt.Sprintf("%s %q %q {\n%s\n}", kind, typ, m[2], body))
		}
	}
	return b.String()
}

// TestGuides validates what the guides show: every block of configuration, with
// what it takes for granted declared beside it. What it is about is that
// arguments and attributes are called that.
func TestGuides(t *testing.T) {
	t.Parallel()
	w := acctest.NewWorkspace(t, acctest.WorkspaceOptions{Mirror: true})
	w.Write("main.tf", declare(""))
	w.Init()
	pages, err := filepath.Glob("../docs/guides/*.md")
	must.Succeed(t, err)
	validated := 0
	for _, page := range append(pages, "../README.md", "../docs/index.md") {
		text, err := os.ReadFile(page)
		must.Succeed(t, err)
		for i, found := range block.FindAllStringSubmatch(string(text), -1) {
			code := found[1]
			where := fmt.Sprintf("%s, block %d", filepath.Base(page), i+1)
			if !begins.MatchString(code) || elsewhere.MatchString(code) {
				continue // also a few lines of a block, or variables' values
			}
			validated++
			w.Write("main.tf", declare(code))
			for _, d := range validate(t, w) {
				if omitted := strings.Contains(code, "# …"); omitted && d.Summary == "Missing required argument" || strings.Contains(d.Snippet.Code+d.Snippet.Context, "terraform_data") {
					continue // what the reader fills in, and his own machine's arguments
				}
				t.Errorf("%s: %s: %s\n%s\n%s", where, d.Summary, d.Detail, d.Snippet.Context, d.Snippet.Code)
			}
		}
	}
	if validated < 15 {
		t.Errorf("only %d blocks were validated", validated)
	}
}

// quoting are the sections of guides whose tables begin with what a program
// prints.
var quoting = map[string]bool{
	"What can go wrong": true, "Lines of etcd": true, "Lines of the join script": true,
	"Errors and warnings of a plan": true, "Errors and warnings of an apply": true,
}

// foreign are quotes that no part of the project prints, with who does.
var foreign = map[string]string{
	"Failed to query available provider packages": "Terraform",
	"Invalid resource type":                       "Terraform",
}

// TestQuotedTexts finds quotes of diagnostics, of the join script and of etcd
// that no program prints. An ellipsis in a quote stands for a value.
func TestQuotedTexts(t *testing.T) {
	t.Parallel()
	var own strings.Builder
	for _, pattern := range []string{"../internal/text/*.go", "../internal/provider/*/*.go", "../internal/connection/errors.go", "../internal/cluster/*.go", "../internal/joinscript/*.sh", "../internal/joinscript/rules/judge.sh"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(files), err)
		}
		for _, file := range files {
			if !strings.HasSuffix(file, "_test.go") {
				own.WriteString(must.Read(t, file))
			}
		}
	}
	var etcds []string
	for _, v := range []etcdtest.Version{etcdtest.V35, etcdtest.V36, etcdtest.V37} {
		etcds = append(etcds, must.Read(t, etcdtest.Binary(t, v)))
	}
	verb := regexp.MustCompile("^Cannot (add|remove|promote|configure|list|save) ?(member|members|a snapshot)?")
	printed := func(part string, versions int) bool {
		part = strings.Trim(verb.ReplaceAllString(strings.TrimSpace(part), "Cannot "), `" `) // the verb is put in
		if strings.Contains(own.String(), part) {
			return true
		}
		for _, etcd := range etcds {
			if strings.Contains(etcd, part) {
				versions--
			}
		}
		return versions <= 0
	}

	pages, err := filepath.Glob("../docs/guides/*.md")
	must.Succeed(t, err)
	quoted := regexp.MustCompile("`([^`]+)`")
	seen := map[string]int{}
	for _, page := range pages {
		section := ""
		for line := range strings.Lines(must.Read(t, page)) {
			if heading, is := strings.CutPrefix(line, "## "); is {
				section = strings.TrimSpace(heading)
			}
			if !quoting[section] || !strings.HasPrefix(line, "| `") {
				continue
			}
			for _, quote := range quoted.FindAllStringSubmatch(strings.Split(line, " | ")[0], -1) {
				seen[section]++
				if foreign[quote[1]] != "" {
					continue
				}
				parts := strings.Split(quote[1], "…")
				if line, is := strings.CutPrefix(quote[1], "etcd-join: "); is {
					parts = strings.FieldsFunc(line, func(r rune) bool { return r == '…' || r == ':' })
				}
				versions := 1
				if section == "Lines of etcd" {
					versions = len(etcds)
				}
				for _, part := range parts {
					if !printed(part, versions) {
						t.Errorf("%s: nothing prints %q", page, quote[1])
					}
				}
			}
		}
	}
	for section := range quoting {
		if seen[section] < 15 {
			t.Errorf("only %d texts were found under %q", seen[section], section)
		}
	}
}

type finding struct {
	Severity, Summary, Detail string
	Snippet                   struct{ Context, Code string }
}

func validate(t *testing.T, w *acctest.Workspace) []finding {
	t.Helper()
	var said struct{ Diagnostics []finding }
	must.Succeed(t, json.Unmarshal(w.Run("validate", "-json").Stdout, &said))
	var errs []finding
	for _, d := range said.Diagnostics {
		if d.Severity == "error" {
			errs = append(errs, d)
		}
	}
	return errs
}
