// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package commands

import (
	"fmt"
	"strings"
	"testing"
	"time"

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

// A cluster that runs is imported: nothing is touched, and the next plan is empty. With
// rebuild, node and machine follow, and the member has another ID.
func TestAccImport(t *testing.T) {
	t.Parallel()
	f := acctest.NewFleet(t, acctest.FleetOptions{Version: etcdtest.V37})
	f.BootByHand()
	pids := func() string {
		return fmt.Sprint(f.PID("a", "etcd.pid"), f.PID("b", "etcd.pid"), f.PID("c", "etcd.pid"))
	}
	before, processes := f.MemberIDs(), pids()
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

	if now := pids(); now != processes {
		t.Errorf("the processes were %v and are %v", processes, now)
	}

	f.Rebuild = map[string]string{"b": "1"}
	writer := f.Writer(50 * time.Millisecond)
	f.Form()
	f.MustNotPause(writer)
	f.MustHaveReplaced(before, "b")
	f.Settled()
}
