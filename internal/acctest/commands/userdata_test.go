// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package commands

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/joinscript"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/userdata"
)

// A machine that was created with an older format of user data, and an older
// join script from another compressor, does not change: the plan is empty.
// There is a state for each format.
func TestAccUserDataOfOlderStates(t *testing.T) {
	t.Parallel()
	for format := 1; format <= userdata.Format; format++ {
		t.Run(fmt.Sprint(format), func(t *testing.T) {
			t.Parallel()
			w := userDataWorkspace(t)
			state, err := os.ReadFile(filepath.Join("testdata", "userdata", fmt.Sprintf("format-%d.json", format)))
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(state), joinscript.Static().Base64Gzip) {
				t.Error("the state has the join script of today, and so does not tell whether it stays")
			}
			host := cmp.Or(os.Getenv("TF_ACC_PROVIDER_HOST"), "registry.terraform.io")
			w.Write("terraform.tfstate", strings.ReplaceAll(string(state), "registry.terraform.io", host))
			if plan := w.Plan(); plan.ExitCode != 0 {
				t.Errorf("the plan is not empty\n%s", plan)
			}
			// Check that the functions are called at all.
			plan := w.Run("plan", "-no-color", "-input=false", `-var=wrong={ data_dir = "/data" }`).MustSucceed()
			if out := string(plan.Stdout); !strings.Contains(out, "terraform_data.cloud_init") || !strings.Contains(out, "terraform_data.ignition") || !strings.Contains(out, "0 to add, 2 to change, 0 to destroy") {
				t.Errorf("another option changes nothing else than the machines\n%s", out)
			}
		})
	}
}

// The first plan, in which the configuration is unknown, refuses a wrong
// option.
func TestAccUserDataRefusesOptionsInTheFirstPlan(t *testing.T) {
	t.Parallel()
	w := userDataWorkspace(t)
	plan := w.Run("plan", "-no-color", "-input=false", `-var=wrong={ datadir = "/data" }`)
	if words := strings.Join(strings.FieldsFunc(string(plan.Stdout)+string(plan.Stderr), func(r rune) bool { return strings.ContainsRune(" \n│╷╵", r) }), " "); plan.ExitCode != 1 ||
		!strings.Contains(words, "Option datadir does not exist. Allowed: etcd, tls, peer_tls, data_dir, data_disk, environment, extra.") {
		t.Errorf("exit code %d\n%s", plan.ExitCode, words)
	}
	if plan := w.Plan(); plan.ExitCode != 2 {
		t.Errorf("the right options are refused\n%s", plan)
	}
}

func userDataWorkspace(t *testing.T) *acctest.Workspace {
	t.Helper()
	w := acctest.NewWorkspace(t, acctest.WorkspaceOptions{})
	if err := os.CopyFS(w.Dir, os.DirFS(filepath.Join("testdata", "userdata"))); err != nil {
		t.Fatal(err)
	}
	return w
}
