// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package examples

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
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
	w := copyStarted(t, acctest.WorkspaceOptions{})
	f := &fleet{
		Workspace: w, Version: etcdtest.Release(t, etcdtest.V36), Image: "one", Names: []string{"a", "b", "c"},
		machines: filepath.Join(filepath.Dir(w.Dir), "machines-of-started"), ports: map[string]ports{},
	}
	f.write = func() {
		setVariables(t, w, map[string]any{
			"nodes": f.nodes(), "image": f.Image, "etcd_version": f.Version, "etcd": map[string]string{f.Version: etcdtest.Binary(t, etcdtest.V36)},
			"directory": f.machines,
		})
	}
	pki := etcdtest.NewPKI(t)
	root := pki.Client("root")
	w.Write("certificates.tf", fmt.Sprintf(`
locals {
  ca           = file(%q)
  certificates = { for name in local.names : name => file(name == "root" ? %q : %q) }
  keys         = { for name in local.names : name => file(name == "root" ? %q : %q) }
}`, pki.CAFile, root.CertFile, pki.Peer.CertFile, root.KeyFile, pki.Peer.KeyFile))
	w.Write("main.tf", regexp.MustCompile(`(?m)^ *tls += \{ source.*\n`).ReplaceAllString(w.Read("main.tf"), ""))
	f.write()
	w.Run("get").MustSucceed()

	f.apply(f.Names)
	f.settled()
	files := filepath.Join(f.machines+"-pki", "root")
	ctl := exec.Command(etcdtest.EtcdctlBinary(t, etcdtest.V36), "member", "list", "--command-timeout="+(etcdtest.WaitLimit/5).String())
	ctl.Env = append(os.Environ(), "ETCDCTL_ENDPOINTS="+outputs(t, w)["endpoints"].(string), "no_proxy=*",
		"ETCDCTL_CACERT="+filepath.Join(files, "ca.pem"), "ETCDCTL_CERT="+filepath.Join(files, "cert.pem"), "ETCDCTL_KEY="+filepath.Join(files, "key.pem"))
	if list, err := ctl.CombinedOutput(); err != nil || strings.Count(string(list), "started") != 3 {
		t.Errorf("etcdctl member list (%v):\n%s", err, list)
	}

	f.Names = append(f.Names, "d")
	f.apply([]string{"d"})
	refused := w.Plan("-replace="+f.machine("b"), "-replace="+f.machine("c"))
	refused.MustFail()
	refused.MustSay(acctest.Endangered)
	f.apply([]string{"b"}, "-replace="+f.machine("b"))

	f.Names = f.Names[:3]
	f.apply(nil)
	f.end()
}
