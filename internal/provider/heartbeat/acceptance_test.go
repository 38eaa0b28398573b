// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package heartbeat_test

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/acctest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/must"
)

func TestMain(m *testing.M) { acctest.Main(m) }

// job is a configuration with a heartbeat named "deploy". A command waits for
// the file "go", and exits with the code in it.
//
//go:embed testdata/job.tf
var job string

// However a run of a real CLI ends, the provider removes its heartbeat before it ends, and not
// only when its time to live is over. What heartbeats go through is tested in package simulated.
func TestAccHeartbeat(t *testing.T) {
	for name, end := range map[string]func(w *acctest.Workspace, run *acctest.Running){
		"regularly":      func(w *acctest.Workspace, _ *acctest.Running) { w.Write("go", "0\n") },
		"consumer fails": func(w *acctest.Workspace, _ *acctest.Running) { w.Write("go", "1\n") },
		"interrupted":    func(_ *acctest.Workspace, run *acctest.Running) { _ = run.Cmd.Process.Signal(os.Interrupt) },
		"CLI killed":     func(_ *acctest.Workspace, run *acctest.Running) { run.Kill() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := etcdtest.Start(t, 1, etcdtest.Options{})
			client := c.Client(t)
			beats := func() string {
				got, err := client.Get(etcdtest.WaitContext(t), "/running/deploy")
				must.Succeed(t, err)
				return fmt.Sprint(got.Kvs)
			}
			w := acctest.NewWorkspace(t, acctest.WorkspaceOptions{})
			w.Write("main.tf", acctest.Required+acctest.Access{Endpoints: c.Endpoints()}.ProviderConfig()+job)
			t.Cleanup(func() { w.Write("go", "0\n") }) // for a command that outlives the CLI
			run := w.Start("apply")
			etcdtest.Eventually(t, "it has started", func() error { _, err := os.Stat(filepath.Join(w.Dir, "started")); return err })
			if beats() == "[]" {
				t.Error("there is no heartbeat")
			}
			end(w, run)
			etcdtest.Until(t, "the heartbeat is removed", func() bool { return beats() == "[]" })
			if o := run.Wait(); name == "regularly" {
				o.MustSucceed().MustBeQuiet()
				if missing := string(w.Run("output", "-json", "missing").MustSucceed().Stdout); strings.TrimSpace(missing) != `["web1"]` {
					t.Errorf("missing: %s", missing)
				}
			}
		})
	}
}
