// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package examples

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/acctest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/must"
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
	must.Succeed(t, err)
	for _, dir := range []string{"../docs", "."} {
		err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			if filepath.Ext(path) == ".md" {
				pages = append(pages, path)
			}
			return err
		})
		must.Succeed(t, err)
	}
	leads := map[string]bool{}
	for _, page := range pages {
		text := must.Read(t, page)
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

// shown is the block of README.md that a test runs as it stands there.
var shown = regexp.MustCompile("(?s)<!-- A test runs this block as it stands here\\. -->\n```hcl\n(.*?)\n```\n")

// The configuration of the front page forms a cluster, gets another version, grows,
// shrinks and is destroyed. After each step the plan is empty. An override file has other
// ports, and what the reader changes.
func TestReadme(t *testing.T) {
	found := shown.FindStringSubmatch(must.Read(t, "../README.md"))
	older, newer := etcdtest.Release(t, etcdtest.V36), etcdtest.Release(t, etcdtest.V37)
	if found == nil || !strings.Contains(found[1], fmt.Sprintf("= %q", older)) || !strings.Contains(found[1], `{ image = "one" }`) {
		t.Fatalf("README.md has no block that matches %s, with the version %s and an image: %q", shown, older, found)
	}
	acctest.OnEach(t, func(t *testing.T, cli string) {
		r := newReader(t, found[1], cli)
		three := []string{"a", "b", "c"}
		r.apply(older, three, three)
		r.Plan().MustBeEmpty()
		for _, name := range three {
			r.apply(newer, three, []string{name})
			if v := r.member(name)["version"]; v != newer {
				t.Errorf("%s runs %v, want %s", name, v, newer)
			}
		}
		r.Plan().MustBeEmpty()
		r.apply(newer, []string{"a", "b", "c", "d"}, []string{"d"})
		r.Plan().MustBeEmpty()
		r.apply(newer, three, nil)
		r.Plan().MustBeEmpty()
		r.Destroy().MustSucceed()
		left, err := filepath.Glob(filepath.Join(r.Dir, "machines*/*"))
		left = slices.DeleteFunc(left, func(file string) bool { return strings.HasSuffix(file, ".events") })
		if err != nil || len(left) != 0 {
			t.Errorf("destroy left %q (%v)", left, err)
		}
	})
}

// reader is the directory of a reader of the front page, with the URLs of each node.
type reader struct {
	*acctest.Workspace
	nodes map[string]string
}

func newReader(t *testing.T, configuration, cli string) *reader {
	t.Helper()
	w := acctest.NewWorkspace(t, acctest.WorkspaceOptions{Mirror: true, CLI: cli})
	// The reader's directory is below examples, and the programs are in bin.
	root := w.Dir
	w.Dir = filepath.Join(root, "examples", "mine")
	must.Succeed(t, os.CopyFS(filepath.Dir(w.Dir), os.DirFS(".")))
	must.Succeed(t, os.Mkdir(w.Dir, 0o755))
	must.Succeed(t, os.Symlink(filepath.Dir(etcdtest.Binary(t, etcdtest.V36)), filepath.Join(root, "bin")))
	w.Write("main.tf", configuration)
	r := &reader{w, map[string]string{}}
	for _, name := range []string{"a", "b", "c", "d"} {
		r.nodes[name] = fmt.Sprintf(`peer_urls = ["http://127.0.0.1:%d"], client_urls = ["http://127.0.0.1:%d"]`, etcdtest.ReservePort(t), etcdtest.ReservePort(t))
	}
	w.Init()
	return r
}

// member is the state of a member.
func (r *reader) member(name string) map[string]any {
	r.TB.Helper()
	return r.State(acctest.Address("etcd_member", name))
}

// apply applies the configuration with a version and nodes, and fails the test unless all
// of them vote then, and the apply has created or replaced these members and no others.
func (r *reader) apply(version string, names, created []string) {
	r.TB.Helper()
	before, nodes := map[string]any{}, ""
	for _, name := range names {
		before[name] = r.member(name)["id"]
		nodes += fmt.Sprintf("    %s = { %s }\n", name, r.nodes[name])
	}
	r.Write("override.tf", fmt.Sprintf("locals {\n  nodes = {\n%s  }\n}\nresource \"etcd_cluster\" \"this\" {\n  version = %q\n}\n", nodes, version))
	r.Apply().MustSucceed()
	var got []string
	for _, name := range names {
		m := r.member(name)
		if m["role"] != "voter" {
			r.TB.Errorf("%s is a %v, want a voter", name, m["role"])
		}
		if m["id"] != before[name] {
			got = append(got, name)
		}
	}
	if !slices.Equal(got, created) {
		r.TB.Fatalf("the apply has created the members %q, want %q", got, created)
	}
}

// The users of the discovery cluster of the example may register and nothing else.
func TestUsersOfTheRegistry(t *testing.T) {
	t.Parallel()
	b := etcdtest.Start(t, 1, etcdtest.Options{Names: []string{"registry"}, Version: etcdtest.V36})
	at, err1 := filepath.Abs(".")
	real, err2 := filepath.Abs(etcdtest.EtcdctlBinary(t, etcdtest.V36))
	must.Succeed(t, errors.Join(err1, err2))
	cmd := exec.CommandContext(etcdtest.WaitContext(t), "bash", "-euxo", "pipefail", filepath.Join(at, "testdata", "registry.sh"))
	// A login on a busy machine takes longer than etcdctl waits by default.
	cmd.Env = append(os.Environ(), "EXAMPLES="+at, "REAL="+real, "ETCDCTL_ENDPOINTS="+b.Endpoints()[0], "ETCDCTL_COMMAND_TIMEOUT="+(etcdtest.WaitLimit/5).String())
	cmd.Dir = t.TempDir()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
