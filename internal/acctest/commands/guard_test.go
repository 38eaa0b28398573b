// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package commands

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
)

// Changes that are not safe in any order are refused at plan, before anything
// is changed. The ways out in the refusal work.
func TestAccPlanGuard(t *testing.T) {
	t.Parallel()
	f := acctest.NewFleet(t, acctest.FleetOptions{})
	f.Form()
	before := f.Named("a", "b", "c")
	old := maps.Clone(f.Nodes)

	two := f.Plan("-replace="+acctest.Address("etcd_member_config", "a"), "-replace="+acctest.Address("etcd_member_config", "b"))
	two.MustEndanger("It replaces "+f.Named("a", "b")+".", "Nothing has been changed.", "terraform apply -replace='ADDRESS'")

	f.Drop("a", "b", "c")
	f.Add("x", "y", "z")
	renamed := f.Plan()
	renamed.MustEndanger("It removes ", "adds members at the same time", "quorum is 2. Nothing has been changed.", "moved {")
	f.Apply().MustFail()
	maps.Copy(f.Nodes, old)
	if now := f.Named("a", "b", "c"); now != before {
		t.Fatalf("the members are %s, and were %s", now, before)
	}

	t.Log("the first way out: moved blocks, the members keep their names")
	newer := map[string]*acctest.Node{"x": f.Nodes["x"], "y": f.Nodes["y"], "z": f.Nodes["z"]}
	f.Nodes = map[string]*acctest.Node{}
	var moved strings.Builder
	for was, now := range map[string]string{"a": "one", "b": "two", "c": "three"} {
		f.Nodes[now] = old[was]
		f.Nodes[now].Name = was
		for _, resource := range []string{"etcd_member_config", "terraform_data.machine", "etcd_member"} {
			fmt.Fprintf(&moved, "moved {\n  from = %s\n  to   = %s\n}\n", acctest.Address(resource, was), acctest.Address(resource, now))
		}
	}
	f.Write("moved.tf", moved.String())
	f.Plan().MustDo(map[string]string{})
	f.Apply().MustSucceed().MustBeQuiet()
	f.Plan().MustBeEmpty()

	t.Log("the second: new nodes first, then the old ones out")
	maps.Copy(f.Nodes, newer)
	f.Plan().MustDo(flat.changes("create", "x", "y", "z"))
	writer := f.Writer("one")
	f.Apply().MustSucceed().MustBeQuiet()
	f.Drop("one", "two", "three")
	f.Plan().MustDo(flat.changes("delete", "one", "two", "three"))
	f.Apply().MustSucceed().MustBeQuiet()
	f.MustNotPause(writer, acctest.Pause, "x", "y", "z")
	t.Logf("longest gap %v", writer.LongestGap())
	f.MustVote("x", "y", "z")
	f.Plan().MustBeEmpty()
}

// The only voter cannot be replaced, nor a machine without its configuration.
func TestAccPlanGuardOfOne(t *testing.T) {
	t.Parallel()
	f := acctest.NewFleet(t, acctest.FleetOptions{Founders: []string{"a"}})
	f.Form()
	f.Plan("-replace="+acctest.Address("etcd_member_config", "a")).MustEndanger("It replaces "+f.Named("a")+", the only voter:", "Nothing has been changed.", "Add members until there are three voters")
	machine := fmt.Sprint(f.State(acctest.Address("terraform_data.machine", "a"))["id"])
	alone := f.Plan("-replace=" + acctest.Address("terraform_data.machine", "a"))
	e := alone.MustSay("Machine of member a would be replaced alone")
	e.MustContain(t, e.Summary, "machine_id changes from "+machine+" to a new machine", "Nothing has been changed.", "terraform apply -replace='ADDRESS'", "triggers_replace", "terraform destroy -refresh=false")
	f.MustVote("a")
}
