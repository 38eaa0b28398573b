// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package examples

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	link  = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	fence = regexp.MustCompile("(?ms)^```.*?^```")
)

// published is where the project's files are for readers of the documentation
// in a registry, which has no examples/ beside it.
const published = "https://github.com/terraform-provider-etcd/terraform-provider-etcd/tree/main/"

// registered is where the pages are in a registry. The front page links to it: it
// has no trailing slash there, so relative links lead nowhere.
const registered = "https://registry.terraform.io/providers/terraform-provider-etcd/etcd/latest/docs/"

// pictured is where the project's pictures are for them.
const pictured = "https://raw.githubusercontent.com/terraform-provider-etcd/terraform-provider-etcd/main/"

// TestLinks follows every link from one text of the project to another.
func TestLinks(t *testing.T) {
	pages, err := filepath.Glob(filepath.Join("..", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"../docs", "."} {
		err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			if filepath.Ext(path) == ".md" {
				pages = append(pages, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	followed := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range link.FindAllStringSubmatch(fence.ReplaceAllString(string(text), ""), -1) {
			target, anchor, _ := strings.Cut(found[1], "#")
			file := page
			own, ok := strings.CutPrefix(target, published)
			if !ok {
				own, ok = strings.CutPrefix(target, pictured)
			}
			if name, is := strings.CutPrefix(target, registered); is {
				own, ok = "docs/"+name+".md", true
			}
			if ok {
				file = filepath.Join("..", filepath.FromSlash(own))
			} else if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
				continue
			} else if target != "" {
				file = filepath.Join(filepath.Dir(page), filepath.FromSlash(target))
			}
			followed++
			content, err := os.ReadFile(file)
			if info, statErr := os.Stat(file); statErr == nil && info.IsDir() {
				continue
			}
			if err != nil {
				t.Errorf("%s: %s leads nowhere", page, found[1])
				continue
			}
			if anchor != "" && !hasAnchor(string(content), anchor) {
				t.Errorf("%s: %s leads to no heading", page, found[1])
			}
		}
	}
	if followed == 0 {
		t.Fatal("no links found")
	}
}

// TestGuidesAreListed finds guides that a reader of the front pages does not find.
func TestGuidesAreListed(t *testing.T) {
	guides, err := filepath.Glob("../docs/guides/*.md")
	if err != nil || len(guides) == 0 {
		t.Fatalf("%d guides, %v", len(guides), err)
	}
	for page, at := range map[string]func(string) string{
		"../README.md":     func(guide string) string { return "docs/guides/" + guide },
		"../docs/index.md": func(guide string) string { return registered + "guides/" + strings.TrimSuffix(guide, ".md") },
	} {
		_, section, _ := strings.Cut(read(t, page), "\n## Guides\n")
		section, _, _ = strings.Cut(section, "\n## ")
		for _, guide := range guides {
			if !strings.Contains(section, "]("+at(filepath.Base(guide))+")") {
				t.Errorf("%s does not list %s", page, filepath.Base(guide))
			}
		}
	}
}

// TestPagesHaveExamples finds pages of the documentation that explain and do
// not show.
func TestPagesHaveExamples(t *testing.T) {
	shown := regexp.MustCompile("(?m)^ *```(terraform|console|shell|sh|yaml)$")
	pages := 0
	err := filepath.WalkDir("../docs", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".md" {
			return err
		}
		pages++
		text, err := os.ReadFile(path)
		if err == nil && !shown.Match(text) {
			t.Errorf("%s has no example", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if pages < 20 {
		t.Errorf("only %d pages were found", pages)
	}
}

// hasAnchor reports whether a Markdown text has a heading or an <a id> of that
// name.
func hasAnchor(text, anchor string) bool {
	if strings.Contains(text, `<a id="`+anchor+`"`) {
		return true
	}
	for line := range strings.Lines(text) {
		if heading, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " "); ok && strings.HasPrefix(line, "#") {
			if slug(heading) == anchor {
				return true
			}
		}
	}
	return false
}

// slug is a heading's anchor as the usual renderers make it.
func slug(heading string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(strings.TrimSpace(heading)) {
		switch {
		case r == ' ':
			b.WriteByte('-')
		case r == '-' || r == '_' || 'a' <= r && r <= 'z' || '0' <= r && r <= '9':
			b.WriteRune(r)
		}
	}
	return b.String()
}
