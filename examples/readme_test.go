// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package examples

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// shown is the block of README.md that a test runs as it stands there.
var shown = regexp.MustCompile("(?s)<!-- A test runs this block as it stands here\\. -->\n```hcl\n(.*?)\n```\n")

// The configuration of the front page forms a cluster, gets another version and another
// image, grows, loses a machine, shrinks and is destroyed. After each step the plan is
// empty. An override file has other ports, and what the reader changes.
func TestReadme(t *testing.T) {
	found := shown.FindStringSubmatch(read(t, "../README.md"))
	if found == nil {
		t.Fatalf("README.md has no block that matches %s", shown)
	}
	acctest.OnEach(t, func(t *testing.T, cli string) {
		readme(t, found[1], cli).life(etcdtest.Release(t, etcdtest.V37))
	})
}

// readme is the directory of a reader of the front page.
func readme(t *testing.T, configuration, cli string) *fleet {
	w := acctest.NewWorkspace(t, acctest.WorkspaceOptions{Mirror: true, CLI: cli})
	// The reader's directory is below examples, and the programs are in bin.
	root := w.Dir
	w.Dir = filepath.Join(root, "examples", "mine")
	if err := os.CopyFS(filepath.Dir(w.Dir), os.DirFS(".")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(w.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Dir(etcdtest.Binary(t, etcdtest.V36)), filepath.Join(root, "bin")); err != nil {
		t.Fatal(err)
	}
	w.Write("main.tf", configuration)
	f := &fleet{
		Workspace: w, Version: etcdtest.Release(t, etcdtest.V36), Image: "one", Names: []string{"a", "b", "c"},
		machines: filepath.Join(w.Dir, "machines"), ports: map[string]ports{},
	}
	for _, line := range []string{fmt.Sprintf("= %q", f.Version), fmt.Sprintf("{ image = %q }", f.Image)} {
		if !strings.Contains(configuration, line) {
			t.Errorf("README.md has no line with %s", line)
		}
	}
	f.write = func() {
		var nodes strings.Builder
		for name, p := range f.nodes() {
			fmt.Fprintf(&nodes, "    %s = { peer_urls = [\"http://127.0.0.1:%d\"], client_urls = [\"http://127.0.0.1:%d\"] }\n", name, p.Peer, p.Client)
		}
		text := fmt.Sprintf("locals {\n  nodes = {\n%s  }\n}\nresource \"etcd_cluster\" \"this\" {\n", &nodes)
		if f.Version != etcdtest.Release(t, etcdtest.V36) {
			text += fmt.Sprintf("  version = %q\n", f.Version)
		}
		if f.Image != "one" {
			text += fmt.Sprintf("  revision = { image = %q }\n", f.Image)
		}
		if f.After != "" {
			text += fmt.Sprintf("  replace_unreachable_after = %q\n", f.After)
		}
		w.Write("override.tf", text+"}\n")
	}
	f.write()
	w.Init()
	return f
}

func (f *fleet) life(newer string) {
	f.TB.Helper()
	f.apply(f.Names)
	f.settled()

	f.Version = newer
	f.roll()
	for _, name := range f.Names {
		if v := f.member(name)["version"]; v != newer {
			f.TB.Errorf("%s runs %v, want %s", name, v, newer)
		}
	}

	f.Image = "two"
	f.roll()

	f.Names = append(f.Names, "d")
	f.apply([]string{"d"})
	f.settled()

	f.After = "1s"
	f.apply(nil)
	f.lose("b")
	f.apply([]string{"b"})
	f.settled()

	f.Names = f.Names[:3]
	f.apply(nil)
	f.settled()
	f.end()
}
