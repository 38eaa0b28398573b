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

// example is a block of code that shows something.
var example = regexp.MustCompile("(?m)^ *```(terraform|console|shell|sh|yaml)$")

// TestLinks follows every link from one text of the project to another. The pages of docs/
// show something, and the front pages lead to every guide.
func TestLinks(t *testing.T) {
	pages, err := filepath.Glob(filepath.Join("..", "*.md"))
	must(t, err)
	for _, dir := range []string{"../docs", "."} {
		err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			if filepath.Ext(path) == ".md" {
				pages = append(pages, path)
			}
			return err
		})
		must(t, err)
	}
	leads := map[string]bool{}
	for _, page := range pages {
		text := read(t, page)
		if strings.HasPrefix(page, "../docs") && !example.MatchString(text) {
			t.Errorf("%s has no example", page)
		}
		for _, found := range link.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
			file, anchor := target(page, found[1])
			if file == "" {
				continue
			}
			leads[page+" "+file] = true
			content, err := os.ReadFile(file)
			if info, statErr := os.Stat(file); statErr == nil && info.IsDir() {
				continue
			}
			if err != nil || anchor != "" && !hasAnchor(string(content), anchor) {
				t.Errorf("%s: %s leads nowhere", page, found[1])
			}
		}
	}
	guides, err := filepath.Glob("../docs/guides/*.md")
	if err != nil || len(guides) < 10 {
		t.Fatalf("%d guides, %v", len(guides), err)
	}
	for _, guide := range guides {
		if !leads["../README.md "+guide] || !leads["../docs/index.md "+guide] {
			t.Errorf("README.md or docs/index.md does not list %s", guide)
		}
	}
}

// target is the file of the project to which a link leads, "" if it leads elsewhere.
func target(page, link string) (file, anchor string) {
	path, anchor, _ := strings.Cut(link, "#")
	for prefix, dir := range map[string]string{published: "..", pictured: "..", registered: "../docs"} {
		if own, is := strings.CutPrefix(path, prefix); is {
			if dir == "../docs" {
				own += ".md"
			}
			return filepath.Join(dir, filepath.FromSlash(own)), anchor
		}
	}
	switch {
	case strings.Contains(path, "://") || strings.HasPrefix(path, "mailto:"):
		return "", ""
	case path == "":
		return page, anchor
	}
	return filepath.Join(filepath.Dir(page), filepath.FromSlash(path)), anchor
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
