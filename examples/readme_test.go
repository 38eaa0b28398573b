// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package examples

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// shown is the block of README.md that a test runs as it stands there.
var shown = regexp.MustCompile("(?s)<!-- A test runs this block as it stands here\\. -->\n```hcl\n(.*?)\n```\n")

// The configuration of the front page forms a cluster, gets another version, grows,
// shrinks and is destroyed. After each step the plan is empty. An override file has other
// ports, and what the reader changes.
func TestReadme(t *testing.T) {
	found := shown.FindStringSubmatch(read(t, "../README.md"))
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
	must(t, os.CopyFS(filepath.Dir(w.Dir), os.DirFS(".")))
	if err := os.Mkdir(w.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	must(t, os.Symlink(filepath.Dir(etcdtest.Binary(t, etcdtest.V36)), filepath.Join(root, "bin")))
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
