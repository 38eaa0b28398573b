// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package examples

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"maps"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/joinscript"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/must"
)

// reference is the sections of the reference pages, in their order. Those in
// brackets are on some pages only.
var reference = map[string][]string{
	"resources":           {"Example Usage", "How It Works", "Schema", "Import", "See Also"},
	"data-sources":        {"Example Usage", "[How It Works]", "Schema", "See Also"},
	"ephemeral-resources": {"Example Usage", "How It Works", "Schema", "See Also"},
	"actions":             {"Example Usage", "How It Works", "Schema", "See Also"},
	"list-resources":      {"Example Usage", "How It Works", "Schema", "See Also"},
	"functions":           {"Example Usage", "Signature", "Arguments", "See Also"},
}

var (
	section = regexp.MustCompile(`(?m)^## (.+)$`)
	summary = regexp.MustCompile(`(?s)^---\n.*?\ndescription: \|-\n  ([^\n]+)\n---\n`)
	related = regexp.MustCompile(`(?s)\n## See Also\n.*\]\(\.\./guides/`)
)

// Every reference page has the same sections in the same order, a summary of one
// sentence, and leads on to a guide.
func TestReferencePages(t *testing.T) {
	t.Parallel()
	for kind, order := range reference {
		pages, err := filepath.Glob(filepath.Join("..", "docs", kind, "*.md"))
		if err != nil || len(pages) == 0 {
			t.Fatalf("%s: %d pages, %v", kind, len(pages), err)
		}
		for _, page := range pages {
			text := must.Read(t, page)
			var got, want []string
			for _, s := range section.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
				got = append(got, s[1])
			}
			for _, s := range order {
				name := strings.Trim(s, "[]")
				if name == s || slices.Contains(got, name) {
					want = append(want, name)
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s has the sections %q, expected %q", page, got, want)
			}
			first := summary.FindStringSubmatch(text)
			if first == nil || strings.Contains(strings.TrimSuffix(first[1], "."), ". ") || len(strings.Fields(first[1])) > 30 {
				t.Errorf("%s has no summary of one sentence: %q", page, first)
			}
			if !related.MatchString(text) {
				t.Errorf("%s leads to no guide", page)
			}
		}
	}
}

// What no CLI of the tests can plan has the arguments that the documentation and the
// examples show: actions, lists, and imports by identity. All of it is described.
func TestActionsAndListsShown(t *testing.T) {
	t.Parallel()
	known := newerBlocks(t)
	shown := map[string]bool{}
	for _, dir := range []string{"../docs", "list-resources", "resources"} {
		err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			var blocks []string
			switch name := filepath.Base(path); {
			case filepath.Ext(name) == ".md":
				for _, found := range block.FindAllStringSubmatch(must.Read(t, path), -1) {
					if strings.Contains(found[1], `action "`) || strings.Contains(found[1], `list "`) || strings.Contains(found[1], "identity = {") {
						blocks = append(blocks, found[1])
					}
				}
			case strings.HasSuffix(name, ".tfquery.hcl") || name == "import-by-identity.tf":
				blocks = append(blocks, must.Read(t, path))
			}
			for _, text := range blocks {
				for name, given := range newerIn(t, path, text) {
					shown[name] = true
					if !fits(known[name], given) {
						t.Errorf("%s: %s has the arguments %q, want those of %v", path, name, given, known[name])
					}
				}
			}
			return nil
		})
		must.Succeed(t, err)
	}
	for name := range known {
		if !shown[name] {
			t.Errorf("no page and no example shows %s", name)
		}
	}
}

// newerBlocks are the arguments of the actions, the lists and the identities of the
// provider, and whether each is required.
func newerBlocks(t *testing.T) map[string]map[string]bool {
	t.Helper()
	schemas := schemasOfTheProvider(t)
	identities, err := providerserver.NewProtocol6(provider.New("test", nil, nil))().GetResourceIdentitySchemas(t.Context(), &tfprotov6.GetResourceIdentitySchemasRequest{})
	must.Succeed(t, err)
	known := map[string]map[string]bool{}
	add := func(name string, s *tfprotov6.Schema) {
		known[name] = map[string]bool{}
		undescribed := s.Block.Description == ""
		for _, a := range s.Block.Attributes {
			known[name][a.Name] = a.Required
			undescribed = undescribed || a.Description == ""
		}
		if undescribed {
			t.Errorf("%s, or an argument of it, is not described", name)
		}
	}
	for name, s := range schemas.ActionSchemas {
		add("action "+name, s.Schema)
	}
	for name, s := range schemas.ListResourceSchemas {
		add("list "+name, s)
	}
	for name, s := range identities.IdentitySchemas {
		known["identity "+name] = map[string]bool{}
		for _, a := range s.IdentityAttributes {
			known["identity "+name][a.Name] = a.RequiredForImport
		}
	}
	return known
}

// fits reports whether a block that exists has the arguments that are given, and no other
// that is required.
func fits(known map[string]bool, given []string) bool {
	ok := known != nil
	for _, name := range given {
		_, is := known[name]
		ok = ok && is
	}
	for name, required := range known {
		ok = ok && (!required || slices.Contains(given, name))
	}
	return ok
}

// newerIn returns the arguments that a text gives to actions, lists and identities.
func newerIn(t *testing.T, path, text string) map[string][]string {
	t.Helper()
	file, diags := hclsyntax.ParseConfig([]byte(text), path, hcl.InitialPos)
	if diags.HasErrors() {
		t.Fatalf("%s: %s", path, diags)
	}
	out := map[string][]string{}
	for _, b := range file.Body.(*hclsyntax.Body).Blocks {
		identity, is := b.Body.Attributes["identity"]
		switch {
		case b.Type == "action" || b.Type == "list":
			name := b.Type + " " + b.Labels[0]
			out[name] = nil
			for _, config := range b.Body.Blocks {
				out[name] = slices.AppendSeq(out[name], maps.Keys(config.Body.Attributes))
			}
		case b.Type == "import" && is:
			value, diags := identity.Expr.Value(nil)
			if diags.HasErrors() {
				t.Fatalf("%s: %s", path, diags)
			}
			of := b.Body.Attributes["to"].Expr.Variables()[0].RootName()
			out["identity "+of] = slices.Collect(maps.Keys(value.AsValueMap()))
		}
	}
	return out
}

// Butane takes what the template of Ignition gives for every value, and makes the files
// of it: the template encodes what it inserts.
func TestTemplateOfIgnition(t *testing.T) {
	t.Parallel()
	text := must.Read(t, "ignition/etcd.bu.tftpl")
	inserted := regexp.MustCompile(`[$%]\{.*`).FindAllString(text, -1)
	if want := []string{"${jsonencode(member_env)}", "${join_script_base64gzip}"}; !slices.Equal(inserted, want) {
		t.Errorf("the template inserts %q, want %q", inserted, want)
	}
	template, diags := hclsyntax.ParseTemplate([]byte(text), "etcd.bu.tftpl", hcl.InitialPos)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	butane, err := exec.LookPath(filepath.Join("..", "bin", "butane"))
	if err != nil {
		t.Fatalf("%v: make bin/butane builds it", err)
	}
	for _, environment := range []string{"ETCD_NAME=a\n", "ETCD_NAME=\"a: b\" # '\\\"{}[]&*!|>%@`\n      x\n  - path: /etc/x\n---\n"} {
		rendered, diags := template.Value(&hcl.EvalContext{
			Functions: map[string]function.Function{"jsonencode": stdlib.JSONEncodeFunc},
			Variables: map[string]cty.Value{"member_env": cty.StringVal(environment), "join_script_base64gzip": cty.StringVal(joinscript.Discovery().Base64Gzip)},
		})
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		cmd := exec.Command(butane, "--strict")
		cmd.Stdin = bytes.NewReader([]byte(rendered.AsString()))
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		ignition, err := cmd.Output()
		if err != nil {
			t.Fatalf("butane --strict: %v\n%s", err, &stderr)
		}
		var made struct {
			Storage struct{ Files []struct{ Path string } }
			Systemd struct{ Units []struct{ Name string } }
		}
		must.Succeed(t, json.Unmarshal(ignition, &made))
		if f, u := made.Storage.Files, made.Systemd.Units; len(f) != 2 || f[0].Path != "/etc/etcd/member.env" || f[1].Path != "/usr/local/bin/etcd-join" || len(u) != 1 || u[0].Name != "etcd.service" {
			t.Errorf("with %q: %+v", environment, made)
		}
	}
}
