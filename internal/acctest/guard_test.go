// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// endangered is the summary of a plan that the guard refuses.
const endangered = "This plan would endanger the cluster"

// mustEndanger fails the test unless the plan is refused by the guard alone,
// and one of its errors has this detail. A plan is guarded as it is made,
// resource by resource: earlier errors may know less of it.
func (p *Plan) mustEndanger(detail string) {
	p.tb.Helper()
	errors := p.MustFail().Errors()
	found := false
	for _, e := range errors {
		if e.Summary != endangered {
			p.tb.Errorf("unexpected %s", e)
		}
		found = found || e.Detail == detail
	}
	if !found {
		p.tb.Errorf("no error says\n%s\n%s", detail, p.diagnostics())
	}
}

// named writes members as diagnostics do, in the order of their IDs: the list
// of the cluster is in that order.
func (f *Fleet) named(names ...string) string {
	f.tb.Helper()
	var out []string
	for _, m := range f.Members() {
		if slices.Contains(names, m.Name) {
			out = append(out, fmt.Sprintf("%s (%x)", m.Name, m.ID))
		}
	}
	if len(out) < 2 {
		return strings.Join(out, "")
	}
	return strings.Join(out[:len(out)-1], ", ") + " and " + out[len(out)-1]
}

// What no order of its steps can carry out safely is refused at plan, before
// anything is touched; and the ways out that the refusal names are ways out.
func TestAccPlanGuard(t *testing.T) {
	t.Parallel()
	f := NewFleet(t, FleetOptions{})
	f.Form()
	before := f.named("a", "b", "c")
	old := maps.Clone(f.Nodes)

	two := f.Plan("-replace="+address("etcd_member_config", "a"), "-replace="+address("etcd_member_config", "b"))
	two.mustEndanger("It replaces " + f.named("a", "b") + ". Only one member may be replaced in one apply, so that the others hold the quorum meanwhile. " +
		"Nothing has been changed. Replace one, apply, then the next, with -replace= or -target=.")

	f.Drop("a", "b", "c")
	f.Add("x", "y", "z")
	renamed := f.Plan()
	renamed.mustEndanger("It takes out " + before + " and adds members at the same time: 0 of today's 3 voters would stay, and quorum is 2. Nothing has been changed. " +
		"If the nodes only got new names in the configuration, keep each member's name and tell Terraform with moved blocks. " +
		"If they are new machines, do it in two applies: add the new ones first, then remove the old ones.")
	f.Apply().MustFail()
	maps.Copy(f.Nodes, old)
	if now := f.named("a", "b", "c"); now != before {
		t.Fatalf("the members are %s, and were %s", now, before)
	}

	t.Log("the first way out: moved blocks, the members keep their names")
	newer := map[string]*Node{"x": f.Nodes["x"], "y": f.Nodes["y"], "z": f.Nodes["z"]}
	f.Nodes = map[string]*Node{}
	var moved strings.Builder
	for was, now := range map[string]string{"a": "one", "b": "two", "c": "three"} {
		f.Nodes[now] = old[was]
		f.Nodes[now].Name = was
		for _, resource := range []string{"etcd_member_config", "terraform_data.machine", "etcd_member"} {
			fmt.Fprintf(&moved, "moved {\n  from = %s\n  to   = %s\n}\n", address(resource, was), address(resource, now))
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
	f.mustNotPause(writer, pause, "x", "y", "z")
	t.Logf("longest gap %v", writer.LongestGap())
	f.MustVote("x", "y", "z")
	f.Plan().MustBeEmpty()
}

// The only voter cannot be replaced, nor a machine without its configuration.
func TestAccPlanGuardOfOne(t *testing.T) {
	t.Parallel()
	f := NewFleet(t, FleetOptions{Founders: []string{"a"}})
	f.Form()
	f.Plan("-replace=" + address("etcd_member_config", "a")).mustEndanger("It replaces " + f.named("a") +
		", the only voter: its data would be gone before a successor has it. Nothing has been changed. Add a second member first, apply, then replace this one.")
	machine := fmt.Sprint(f.State(address("terraform_data.machine", "a"))["id"])
	alone := f.Plan("-replace=" + address("terraform_data.machine", "a"))
	alone.MustSay("Machine of member a would be replaced alone").MustDetail(t,
		"machine_id changes from "+machine+" to a new machine while config_id stays: the new machine would start with the settings of the old member, without its data. "+
			"Nothing has been changed. Replace the configuration, which takes the member out first and gives the new machine a new identity:\n\n"+
			"  terraform apply -replace='etcd_member_config…' (the one for a)\n\n"+
			"or route what changes the machine (an image, a size) through triggers_replace of its etcd_member_config.")
	f.MustVote("a")
}
