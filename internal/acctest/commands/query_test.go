// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package commands

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
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

// guide returns the configuration blocks of a guide.
func guide(tb testing.TB, name string) []string {
	tb.Helper()
	root, err := acctest.ModuleRoot()
	if err != nil {
		tb.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "docs", "guides", name))
	if err != nil {
		tb.Fatal(err)
	}
	var blocks []string
	for _, found := range regexp.MustCompile("(?ms)^```hcl\n(.*?)^```$").FindAllStringSubmatch(string(text), -1) {
		blocks = append(blocks, found[1])
	}
	return blocks
}

const requiredProviders = "terraform {\n  required_providers {\n    etcd = {\n      source = \"terraform-provider-etcd/etcd\"\n    }\n  }\n}\n"

// A query finds the members of an existing cluster. The generated configuration
// imports them, and its plan has no changes.
func TestAccQuery(t *testing.T) {
	t.Parallel()
	requireTerraform(t, 14, "lists")
	cluster := acctest.StartCluster(t, 3, etcdtest.Options{})
	learner := cluster.AddLearner(t, "learner1")
	w := acctest.NewWorkspace(t, acctest.WorkspaceOptions{Mirror: true})
	w.Write("main.tf", requiredProviders+acctest.Access{Endpoints: cluster.Endpoints()[:1]}.ProviderConfig())
	w.Write("members.tfquery.hcl", guide(t, "monitoring.md")[0])
	w.Init()

	want := map[string]string{}
	for _, p := range append(cluster.Members(), learner) {
		list := "list.etcd_member.all"
		if p == learner {
			list = "list.etcd_learner.all"
		}
		id := fmt.Sprintf("%x", cluster.MemberID(t, p))
		want[id] = fmt.Sprintf("%s: %s (%s)", list, p.Name, id)
	}
	got := map[string]string{}
	for line := range strings.Lines(string(w.Run("query", "-json").MustSucceed().MustBeQuiet().Stdout)) {
		var l struct {
			Found struct {
				Address  string            `json:"address"`
				Name     string            `json:"display_name"`
				Identity map[string]string `json:"identity"`
			} `json:"list_resource_found"`
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		if l.Found.Address != "" {
			got[l.Found.Identity["member_id"]] = l.Found.Address + ": " + l.Found.Name
		}
	}
	if !maps.Equal(got, want) {
		t.Errorf("found\n%s\nwant\n%s", acctest.ActionList(got), acctest.ActionList(want))
	}

	w.Run("query", "-generate-config-out=generated.tf").MustSucceed()
	mustImport(w.Plan(), len(want))
	w.Apply().MustSucceed().MustBeQuiet()
	w.Plan().MustBeEmpty()

	// A warning says that a list is not confirmed. No answer is not an empty list.
	for _, p := range cluster.Members()[1:] {
		p.Kill()
	}
	unsure := w.Run("query", "-json").MustSucceed()
	if said := unsure.Warnings(); len(said) != 2 || said[0].Summary != "The list may be behind" || said[1].Summary != said[0].Summary {
		t.Errorf("without a quorum it says:\n%s", unsure.Report())
	}
	cluster.Members()[0].Kill()
	for _, e := range w.Run("query", "-json").MustFail().Errors() {
		e.MustContain(t, "Cannot list members", "The cluster does not answer.")
	}
}

// An action is invoked by hand and by lifecycle events. It reports its progress.
func TestAccActions(t *testing.T) {
	t.Parallel()
	requireTerraform(t, 14, "actions")
	cluster := acctest.StartCluster(t, 3, etcdtest.Options{})
	blocks := guide(t, "monitoring.md")
	w := acctest.NewWorkspace(t, acctest.WorkspaceOptions{})
	w.Write("main.tf", requiredProviders+acctest.Access{Endpoints: cluster.Endpoints()}.ProviderConfig())
	w.Write("defragment.tf", blocks[1]+"\n"+blocks[2]+"\nvariable \"month\" {}\n")
	// Not every version prints the messages of actions as JSON.
	apply := func(args ...string) *acctest.Outcome {
		t.Helper()
		return w.Run(append([]string{"apply", "-no-color", "-input=false", "-auto-approve"}, args...)...).MustSucceed()
	}
	leader := cluster.Leader(t)
	told := []string{"Defragmenting infra", ", 2 left after it.", ", 1 left after it.", fmt.Sprintf("Defragmented %s (%x)", leader.Name, cluster.MemberID(t, leader))}
	w.Write("month.auto.tfvars", "month = \"may\"\n")
	w.Apply().MustSucceed().MustBeQuiet()
	w.Write("month.auto.tfvars", "month = \"june\"\n")
	mustTell(apply(), told...)
	mustTell(apply("-invoke=action.etcd_defragment.all"), told...)
	for _, p := range cluster.Members() {
		if p != leader {
			p.Kill()
		}
	}
	mustRefuse(w.Apply("-invoke=action.etcd_defragment.all"), "Cannot defragment the members", "The cluster has lost its quorum: 1 of 3 voters answers; quorum is 2.")
}

// mustRefuse fails the test unless there is one error that contains these
// texts: Terraform 1.14 replaces the summary of errors of actions.
func mustRefuse(o *acctest.Outcome, texts ...string) {
	o.TB.Helper()
	errors := o.MustFail().Errors()
	if len(errors) != 1 {
		o.TB.Fatalf("%s: want one error, got:\n%s", strings.Join(o.Args, " "), o.Report())
	}
	acctest.Diagnostic{Detail: errors[0].Summary + "\n" + errors[0].Detail}.MustContain(o.TB, "", texts...)
}

// mustTell fails the test unless the run printed these texts in this order.
func mustTell(o *acctest.Outcome, texts ...string) {
	o.TB.Helper()
	acctest.Diagnostic{Detail: string(o.Stdout)}.MustContain(o.TB, "", texts...)
}
