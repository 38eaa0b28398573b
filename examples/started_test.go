// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package examples

import (
	"fmt"
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

const started = "getting-started"

// copyStarted copies the example, and the modules that it uses.
func copyStarted(t *testing.T, o acctest.WorkspaceOptions) *acctest.Workspace {
	t.Helper()
	w := acctest.NewWorkspace(t, o)
	if err := os.CopyFS(w.Dir, os.DirFS(".")); err != nil {
		t.Fatal(err)
	}
	w.Dir = filepath.Join(w.Dir, started)
	return w
}

// TestGettingStartedPlan plans the example with a stand-in for the provider of
// certificates. The plan creates as much as the texts say.
func TestGettingStartedPlan(t *testing.T) {
	t.Parallel()
	binaries, env := standIns(t)
	w := copyStarted(t, acctest.WorkspaceOptions{Mirror: true, Others: binaries})
	w.Env = append(w.Env, env)
	setVariables(t, w, map[string]any{"etcd": etcdtest.Binary(t, etcdtest.V36)})
	w.Init()
	w.Run("validate", "-json").MustSucceed()
	plan := w.Plan()
	if plan.ExitCode != 2 {
		t.Fatalf("the plan's exit code is %d, want 2: there is something to create\n%s", plan.ExitCode, plan)
	}
	said := fmt.Sprintf("Plan: %d to add, 0 to change, 0 to destroy.\n", len(plan.Actions()))
	for _, text := range []string{"README.md", "../../docs/guides/getting-started.md"} {
		if have := read(t, filepath.Join(started, text)); !strings.Contains(have, said) {
			t.Errorf("%s does not say %q", text, said)
		}
	}
}

// TestGettingStarted does what the guide says, with certificates of the test's
// own, because the provider that issues them has to be downloaded.
func TestGettingStarted(t *testing.T) {
	t.Parallel()
	w := copyStarted(t, acctest.WorkspaceOptions{Mirror: true})
	pki := etcdtest.NewPKI(t)
	ports := map[string]any{}
	for _, name := range []string{"a", "b", "c", "d"} {
		ports[name] = map[string]int{"client_port": etcdtest.ReservePort(t), "peer_port": etcdtest.ReservePort(t)}
	}
	set := func(image string, names ...string) {
		nodes := map[string]any{}
		for _, name := range names {
			nodes[name] = ports[name]
		}
		setVariables(t, w, map[string]any{
			"nodes": nodes, "image": image, "etcd": etcdtest.Binary(t, etcdtest.V36),
			"directory": filepath.Join(filepath.Dir(w.Dir), "machines-of-started"),
		})
	}
	root := pki.Client("root")
	w.Write("certificates.tf", fmt.Sprintf(`
locals {
  ca           = file(%q)
  certificates = { for name in local.names : name => file(name == "root" ? %q : %q) }
  keys         = { for name in local.names : name => file(name == "root" ? %q : %q) }
}`, pki.CAFile, root.CertFile, pki.Peer.CertFile, root.KeyFile, pki.Peer.KeyFile))
	w.Write("main.tf", regexp.MustCompile(`(?m)^ *tls +=.*\n`).ReplaceAllString(w.Read("main.tf"), ""))

	empty := func() {
		t.Helper()
		if plan := w.Plan(); plan.ExitCode != 0 {
			t.Errorf("the plan is not empty:\n%s", plan)
		}
	}
	id := func(name string) any { return w.State("etcd_member.node[" + strconv.Quote(name) + "]")["id"] }

	set("one", "a", "b", "c")
	w.Init()
	w.Apply().MustSucceed()
	empty()
	ctl := exec.Command(etcdtest.EtcdctlBinary(t, etcdtest.V36), "member", "list", "--command-timeout=1m")
	files := filepath.Join(filepath.Dir(w.Dir), "machines-of-started-pki", "root")
	ctl.Env = append(os.Environ(), "ETCDCTL_ENDPOINTS="+outputs(t, w)["endpoints"].(string), "no_proxy=*",
		"ETCDCTL_CACERT="+filepath.Join(files, "ca.pem"), "ETCDCTL_CERT="+filepath.Join(files, "cert.pem"), "ETCDCTL_KEY="+filepath.Join(files, "key.pem"))
	if list, err := ctl.CombinedOutput(); err != nil || strings.Count(string(list), "started") != 3 {
		t.Errorf("etcdctl member list (%v):\n%s", err, list)
	}
	if plan := w.Plan("-replace=module.machine[\"b\"].terraform_data.machine"); plan.ExitCode != 1 || !strings.Contains(plan.String(), "would be replaced alone") {
		t.Errorf("the plan that is not safe has exit code %d:\n%s", plan.ExitCode, plan)
	}

	set("one", "a", "b", "c", "d")
	w.Apply().MustSucceed()

	set("two", "a", "b", "c", "d")
	for _, name := range []string{"a", "b", "c", "d"} {
		old := id(name)
		w.Apply().MustSucceed()
		if id(name) == old {
			t.Errorf("the apply did not replace %s", name)
		}
	}
	empty()

	set("two", "a", "b", "c")
	w.Apply().MustSucceed()
	w.Destroy().MustSucceed()
	left, err := filepath.Glob(filepath.Join(filepath.Dir(w.Dir), "machines-of-started*", "*"))
	left = slices.DeleteFunc(left, func(file string) bool { return strings.HasSuffix(file, ".events") })
	if err != nil || len(left) != 0 {
		t.Errorf("destroy left %q (%v)", left, err)
	}
}
