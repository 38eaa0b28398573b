// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package commands

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// imports are the blocks that import machines, members and the cluster, as in the guide.
const imports = `
import {
  to = etcd_cluster.this
  id = %q
}

import {
  for_each = var.nodes
  to       = terraform_data.machine[each.key]
  id       = each.key
}

import {
  for_each = var.nodes
  to       = etcd_member.node[each.key]
  id       = each.key
}
`

// imported is the rule for machines that Terraform has not created.
const imported = `
  lifecycle {
    ignore_changes       = [triggers_replace]
    replace_triggered_by = [etcd_cluster.this.node[each.key].id]
  }
`

// A cluster that runs is imported: nothing is touched, and the next plan is empty. A
// machine that is replaced alone is refused. With rebuild, node and machine follow, and
// the member has another ID.
func TestAccImport(t *testing.T) {
	t.Parallel()
	for _, v := range etcdtest.Sample(etcdtest.V37) {
		t.Run(string(v), func(t *testing.T) {
			t.Parallel()
			f := acctest.NewFleet(t, acctest.FleetOptions{Version: v})
			f.BootByHand()
			before, processes := f.MemberIDs(), f.PIDs("a", "b", "c")
			f.Write("provider.tf", acctest.Access{Endpoints: []string{f.Nodes["a"].Client}}.ProviderConfig())
			const created = "node[each.key].revision]\n"
			f.Write("main.tf", strings.Replace(acctest.FleetText, created, created+imported, 1))
			f.Write("import.tf", fmt.Sprintf(imports, f.ClusterID()))
			p := f.Plan()
			for address, action := range p.Actions() {
				if action != "update" {
					t.Errorf("%s: %s", address, action)
				}
			}
			if !strings.Contains(string(p.Stdout), "Plan: 7 to import, 0 to add, ") {
				t.Errorf("the plan imports less:\n%s", p.Outcome)
			}
			f.Form()
			f.Write("import.tf", "")
			f.Settled()
			f.MustHaveReplaced(before)

			machine := acctest.Address("terraform_data.machine", "b")
			f.Plan("-replace=" + machine).MustFail()
			if now := f.PIDs("a", "b", "c"); fmt.Sprint(now) != fmt.Sprint(processes) {
				t.Errorf("the processes were %v and are %v", processes, now)
			}

			f.Rebuild = map[string]string{"b": "1"}
			writer := f.Writer("a", "c")
			f.Form()
			f.MustNotPause(writer, acctest.Pause, "a", "c")
			f.MustHaveReplaced(before, "b")
			f.Settled()
		})
	}
}

// A learner can only be imported as etcd_learner. The import of a missing member fails.
func TestAccImportLearner(t *testing.T) {
	t.Parallel()
	cluster := etcdtest.Start(t, 1, etcdtest.Options{Names: []string{"a"}})
	learner := cluster.AddLearner(t, "d")
	id := fmt.Sprintf("%x", cluster.MemberID(t, learner))
	w := acctest.NewWorkspace(t, acctest.WorkspaceOptions{})
	importing := func(resource, importID string) *acctest.Plan {
		t.Helper()
		w.Write("main.tf", required+acctest.Access{Endpoints: cluster.Endpoints()}.ProviderConfig()+
			fmt.Sprintf("resource %q \"this\" {\n  name      = \"d\"\n  peer_urls = [%q]\n}\n", resource, learner.PeerURL())+
			fmt.Sprintf("import {\n  to = %s.this\n  id = %q\n}\n", resource, importID))
		return w.Plan()
	}
	for _, importID := range []string{"d", id, learner.PeerURL()} {
		mustImport(importing("etcd_learner", importID), 1)
	}
	w.Apply().MustSucceed().MustBeQuiet()
	w.Plan().MustBeEmpty()
	if got := fmt.Sprint(w.State("etcd_learner.this")["id"]); got != id {
		t.Errorf("imported %s, want %s", got, id)
	}
	w.Run("state", "rm", "etcd_learner.this").MustSucceed()
	importing("etcd_member", "d").MustSay("Cannot import member d")
	importing("etcd_learner", "a").MustSay("Cannot import learner a")
	importing("etcd_learner", "nobody").MustSay("Cannot import member nobody")
}

// mustImport fails the test unless the plan imports n resources and does nothing else.
func mustImport(p *acctest.Plan, n int) {
	p.TB.Helper()
	p.MustDo(map[string]string{})
	p.MustBeQuiet()
	want := fmt.Sprintf("Plan: %d to import, 0 to add, 0 to change, 0 to destroy.", n)
	if !slices.ContainsFunc(p.Messages, func(m string) bool { return strings.Contains(m, want) }) {
		p.TB.Fatalf("the plan does not say %q:\n%s", want, p.Outcome)
	}
}
