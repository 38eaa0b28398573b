// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

import (
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

func TestPlanRule(t *testing.T) {
	got := PlanRule(membership.Ruling{Code: membership.MachineStays, Names: []string{"infra1"}}, membership.Snapshot{})
	want := Message{"This plan would endanger the cluster", "infra1 gets a new node, and its machine stays: the machine would keep the user data of the old node. Nothing has been changed.\n\n" +
		"Add this to the resource of the machine. NODE is the etcd_cluster with the key of the node, such as etcd_cluster.this.node[each.key]:\n\n" +
		"  lifecycle {\n    replace_triggered_by = [NODE.id]\n  }\n\nTo destroy everything instead, run:\n\n  terraform destroy -refresh=false"}
	if got != want {
		t.Errorf("got %q", got)
	}
	got = PlanRule(membership.Ruling{Code: membership.ImportedAlone, Names: []string{"infra1"}}, membership.Snapshot{})
	want.Detail = "It gives infra1 a new machine, and its node was imported: the machine does not have the user data of the node, and would not join. Nothing has been changed.\n\n" +
		"To rebuild its node instead, with user data of today, set this in the etcd_cluster, and apply:\n\n  rebuild = { \"infra1\" = \"1\" }" + destroyInstead
	if got != want {
		t.Errorf("got %q", got)
	}
	for code := range planRules {
		got := PlanRule(membership.Ruling{Code: code, Names: []string{"infra1", "infra2"}}, membership.Snapshot{})
		if strings.Contains(got.Detail, "%!") || strings.Count(got.Detail, "infra1") == 0 || !strings.HasSuffix(got.Detail, destroyInstead) {
			t.Errorf("%s: %q", code, got.Detail)
		}
	}
}
