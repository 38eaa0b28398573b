// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package examples

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// quickStart matches the block of README.md that a test runs.
var quickStart = regexp.MustCompile("(?s)<!-- A test runs this block as it stands here. -->\n```hcl\n(.*?)```\n")

// TestReadme runs the quick start of README.md, with other ports: the cluster forms,
// grows, gets another version and another image, loses a machine, shrinks and is
// destroyed. After each step the plan is empty.
func TestReadme(t *testing.T) {
	t.Parallel()
	found := quickStart.FindStringSubmatch(read(t, "../README.md"))
	if found == nil {
		t.Fatal("README.md has no such block")
	}
	w := acctest.NewWorkspace(t, acctest.WorkspaceOptions{Mirror: true})
	root := w.Dir
	if err := os.CopyFS(filepath.Join(root, "examples"), os.DirFS(".")); err != nil {
		t.Fatal(err)
	}
	v36, v37 := etcdtest.Binary(t, etcdtest.V36), etcdtest.Binary(t, etcdtest.V37)
	if err := os.Symlink(filepath.Dir(v36), filepath.Join(root, "bin")); err != nil {
		t.Fatal(err)
	}
	w.Dir = filepath.Join(root, "examples", "mine")
	if err := os.Mkdir(w.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	text := regexp.MustCompile(`127\.0\.0\.1:\d+`).ReplaceAllStringFunc(found[1], func(string) string {
		return "127.0.0.1:" + strconv.Itoa(etcdtest.ReservePort(t))
	})
	change := func(from, to string) {
		t.Helper()
		if strings.Count(text, from) != 1 {
			t.Fatalf("the block has %q %d times", from, strings.Count(text, from))
		}
		text = strings.Replace(text, from, to, 1)
		w.Write("main.tf", text)
	}
	members := func() map[string]any {
		ids := map[string]any{}
		for _, name := range []string{"a", "b", "c", "d"} {
			if member := w.State("etcd_member.node[" + strconv.Quote(name) + "]"); member != nil {
				ids[name] = member["id"]
			}
		}
		return ids
	}
	// apply applies until the plan is empty, and returns how often it did. No apply
	// changes more than one member that was there before.
	apply := func(args ...string) (times int) {
		t.Helper()
		for ; times == 0 || w.Plan().ExitCode != 0; times++ {
			before := members()
			w.Apply(args...).MustSucceed()
			args = nil
			after := members()
			if changed := slices.DeleteFunc(slices.Collect(maps.Keys(before)), func(name string) bool {
				return after[name] == nil || after[name] == before[name]
			}); times > 5 || len(changed) > 1 {
				t.Fatalf("apply %d has replaced %q", times+1, changed)
			}
		}
		return times
	}
	expect := func(what string, got, want int) {
		t.Helper()
		if got != want {
			t.Errorf("%s takes %d applies, want %d", what, got, want)
		}
	}

	w.Write("main.tf", text)
	w.Init()
	expect("the first cluster", apply(), 1)
	fourth := "\n    d = { peer_urls = [\"http://127.0.0.1:" + strconv.Itoa(etcdtest.ReservePort(t)) + "\"], client_urls = [\"http://127.0.0.1:" + strconv.Itoa(etcdtest.ReservePort(t)) + "\"] }"
	change("  nodes = {", "  nodes = {"+fourth)
	expect("a fourth member", apply(), 1)
	change(strconv.Quote(release(t, v36)), strconv.Quote(release(t, v37)))
	expect("another version", apply(), 4)
	change(`"one"`, `"two"`)
	expect("another image", apply(), 4)
	before := members()
	expect("another machine", apply(`-replace=module.machine["b"].terraform_data.machine`), 1)
	if after := members(); after["b"] == before["b"] || after["a"] != before["a"] {
		t.Errorf("the members were %v and are %v", before, after)
	}
	change(fourth, "")
	expect("a name less", apply(), 1)
	w.Destroy().MustSucceed()
}

// release is the version that an etcd answers.
func release(t *testing.T, etcd string) string {
	t.Helper()
	out, err := exec.Command(etcd, "--version").Output()
	found := regexp.MustCompile(`etcd Version: (\S+)`).FindSubmatch(out)
	if err != nil || found == nil {
		t.Fatalf("%s: %v", out, err)
	}
	return string(found[1])
}
