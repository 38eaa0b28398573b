// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package commands

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// requireTerraform skips the test unless the CLI is Terraform 1.minor or later,
// which has a feature that OpenTofu lacks.
func requireTerraform(t *testing.T, minor int, feature string) {
	t.Helper()
	line, _, _ := strings.Cut(string(acctest.NewWorkspace(t, acctest.WorkspaceOptions{}).Run("version").MustSucceed().Stdout), "\n")
	major, have := 0, 0
	if _, err := fmt.Sscanf(line, "Terraform v%d.%d", &major, &have); err != nil || major == 1 && have < minor {
		t.Skipf("%s has no %s: they take Terraform 1.%d", line, feature, minor)
	}
}

const lists = `
list "etcd_cluster" "this" {
  provider = etcd
}

list "etcd_member" "all" {
  provider = etcd
}

list "etcd_learner" "all" {
  provider = etcd
}
`

// A query finds an existing cluster and its members. The generated configuration
// imports them, and its plan changes nothing.
func TestAccQuery(t *testing.T) {
	t.Parallel()
	requireTerraform(t, 14, "lists")
	cluster := etcdtest.Start(t, 3, etcdtest.Options{})
	learner := cluster.AddLearner(t, "learner1")
	w := acctest.NewWorkspace(t, acctest.WorkspaceOptions{Mirror: true})
	w.Write("main.tf", required+acctest.Access{Endpoints: cluster.Endpoints()[:1]}.ProviderConfig())
	w.Write("members.tfquery.hcl", lists)
	w.Init()

	id := cluster.ID(t)
	want := map[string]string{"": fmt.Sprintf("list.etcd_cluster.this: cluster %s", id)}
	for _, p := range append(cluster.Members(), learner) {
		list := "list.etcd_member.all"
		if p == learner {
			list = "list.etcd_learner.all"
		}
		member := fmt.Sprintf("%x", cluster.MemberID(t, p))
		want[member] = fmt.Sprintf("%s: %s (%s)", list, p.Name, member)
	}
	if got := found(w.Run("query", "-json").MustSucceed().MustBeQuiet()); !maps.Equal(got, want) {
		t.Errorf("found\n%s\nwant\n%s", acctest.ActionList(got), acctest.ActionList(want))
	}

	w.Run("query", "-generate-config-out=generated.tf").MustSucceed()
	mustImport(w.Plan(), len(want))
	w.Apply().MustSucceed().MustBeQuiet()
	w.Plan().MustBeEmpty()

	// A cluster that does not answer is not an empty list.
	for _, p := range cluster.Members() {
		p.Kill()
	}
	for _, e := range w.Run("query", "-json").MustFail().Errors() {
		if !strings.Contains(e.Detail, "connection refused") {
			t.Errorf("%s", e)
		}
	}
}

// found returns what a query has found, by the ID of the member.
func found(o *acctest.Outcome) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(string(o.Stdout)) {
		var l struct {
			Found struct {
				Address  string            `json:"address"`
				Name     string            `json:"display_name"`
				Identity map[string]string `json:"identity"`
			} `json:"list_resource_found"`
		}
		if json.Unmarshal([]byte(line), &l) == nil && l.Found.Address != "" {
			out[l.Found.Identity["member_id"]] = l.Found.Address + ": " + l.Found.Name
		}
	}
	return out
}

const defragment = `
variable "month" {}

action "etcd_defragment" "all" {
  config {}
}

resource "terraform_data" "month" {
  input = var.month
  lifecycle {
    action_trigger {
      events  = [after_update]
      actions = [action.etcd_defragment.all]
    }
  }
}
`

// An action is invoked by hand and by lifecycle events. It reports its progress.
func TestAccActions(t *testing.T) {
	t.Parallel()
	requireTerraform(t, 14, "actions")
	cluster := etcdtest.Start(t, 3, etcdtest.Options{})
	w := configuration(t, acctest.Access{Endpoints: cluster.Endpoints()}, defragment)
	leader := cluster.Leader(t)
	last := fmt.Sprintf("Defragmented %s (%x)", leader.Name, cluster.MemberID(t, leader))
	w.Apply("-var=month=may").MustSucceed().MustBeQuiet()
	for _, args := range [][]string{{"-var=month=june"}, {"-var=month=june", "-invoke=action.etcd_defragment.all"}} {
		// Not every version prints the messages of actions as JSON.
		o := w.Run(append([]string{"apply", "-no-color", "-input=false", "-auto-approve"}, args...)...).MustSucceed()
		acctest.Diagnostic{Detail: string(o.Stdout)}.MustContain(t, "", "Defragmenting infra", ", 2 left after it.", ", 1 left after it.", last)
	}
}
