// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package examples

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider"
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
			text := content(t, page)
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

// What no CLI of the tests can plan, actions and lists, has the arguments that the
// documentation shows.
func TestActionsAndListsShown(t *testing.T) {
	t.Parallel()
	schemas, err := providerserver.NewProtocol6(provider.New("test")())().GetProviderSchema(t.Context(), &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]*tfprotov6.Schema{}
	for name, s := range schemas.ActionSchemas {
		known["action "+name] = s.Schema
	}
	for name, s := range schemas.ListResourceSchemas {
		known["list "+name] = s
	}
	shown := map[string]bool{}
	err = filepath.WalkDir("../docs", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".md" {
			return err
		}
		for _, found := range block.FindAllStringSubmatch(content(t, path), -1) {
			if !strings.Contains(found[1], `action "`) && !strings.Contains(found[1], `list "`) {
				continue
			}
			file, diags := hclsyntax.ParseConfig([]byte(found[1]), path, hcl.InitialPos)
			if diags.HasErrors() {
				t.Errorf("%s: %s", path, diags)
				continue
			}
			body, ok := file.Body.(*hclsyntax.Body)
			if !ok {
				t.Fatalf("%s: %T", path, file.Body)
			}
			for _, b := range body.Blocks {
				if b.Type == "action" || b.Type == "list" {
					name := b.Type + " " + b.Labels[0]
					shown[name] = true
					for _, problem := range problems(known[name], b) {
						t.Errorf("%s: %s %s", path, name, problem)
					}
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range known {
		if !shown[name] {
			t.Errorf("no page shows %s", name)
		}
	}
}

// problems compares the config block of an action or a list with its schema.
func problems(schema *tfprotov6.Schema, b *hclsyntax.Block) (out []string) {
	if schema == nil {
		return []string{"does not exist"}
	}
	given := map[string]bool{}
	for _, config := range b.Body.Blocks {
		for name := range config.Body.Attributes {
			given[name] = true
		}
	}
	for _, a := range schema.Block.Attributes {
		if a.Required && !given[a.Name] {
			out = append(out, "lacks "+a.Name)
		}
		delete(given, a.Name)
	}
	for name := range given {
		out = append(out, "has no argument "+name)
	}
	return out
}

func content(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
