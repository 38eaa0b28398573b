// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// A dead machine does not block the destroy of the cluster.
func TestAccDestroyWithDeadMachine(t *testing.T) {
	t.Parallel()
	f := NewFleet(t, FleetOptions{})
	f.Form()
	f.Crash("b")
	destroyed := f.Destroy().MustSucceed()
	MustForgetLast(t, destroyed, "a", "c")
	f.MustBeGone()
}

// If all machines have died, there is no quorum. The destroy fails soon and
// prints the solution: one command, without an edit and an apply.
func TestAccDestroyWithoutQuorum(t *testing.T) {
	t.Parallel()
	f := NewFleet(t, FleetOptions{})
	f.Form()
	ids := map[string]string{}
	for name := range f.Nodes {
		ids[name] = fmt.Sprint(f.State(Address("etcd_member", name))["id"])
	}
	lost := f.cluster()
	f.Crash("a", "b", "c")

	refused := f.Destroy().MustFail()
	said := map[string]Diagnostic{}
	for _, e := range refused.Errors() {
		said[e.Summary] = e
	}
	for name := range f.Nodes {
		e, ok := said["Cannot remove member "+name]
		if !ok {
			t.Fatalf("no word on %s:\n%s", name, refused.Report())
		}
		e.MustDetail(t, "The cluster does not answer. Nothing was changed. Check that its machines run and can be reached from here.\n\n"+
			"Nothing proves that the quorum of cluster "+lost+" is lost: a member that does not answer may serve where it is not reached from here. If these members are gone for good, state that for this Terraform run only, and destroy everything that is in the state. Members that no cluster can remove are then forgotten:\n\n"+
			"  ETCD_CLUSTER_LOST="+lost+":a,b,c terraform destroy -refresh=false"+strings.Replace(f.refusals(), "endpoints", "addresses", 1))
	}
	for name := range f.Nodes {
		if f.State(Address("etcd_member", name)) == nil {
			t.Errorf("%s is no longer in the state", name)
		}
	}

	f.StateLost(lost, "a", "b", "c")
	destroyed := f.Destroy("-refresh=false").MustSucceed()
	if left := f.Run("state", "list").MustSucceed(); len(left.Stdout) > 0 {
		t.Errorf("left in the state: %s", left.Stdout)
	}
	forgotten := 0
	for _, w := range destroyed.Warnings() {
		for name := range f.Nodes {
			if w.Summary == "Member "+name+" was forgotten, not removed" {
				forgotten++
			}
		}
	}
	if forgotten != len(ids) {
		t.Errorf("%d members were said to be forgotten, want %d:\n%s", forgotten, len(ids), destroyed.Report())
	}
	f.MustBeGone()
}

// A cluster with a quorum decides about removals, also if it is stated to be lost.
// The timeouts are longer than any pause of a slow machine, so no member is silent.
func TestAccForceDestroyOfAHealthyCluster(t *testing.T) {
	t.Parallel()
	f := NewFleet(t, FleetOptions{Static: true})
	f.Write("provider_override.tf", "provider \"etcd\" {\n  dial_timeout = \"2m\"\n  request_timeout = \"2m\"\n}\n")
	f.Form()
	f.StateLost(f.cluster(), "a", "b", "c")
	f.Crash("b")
	c := f.Nodes["c"]
	f.Drop("c")
	refused := f.Apply().MustFail()
	for _, w := range refused.Warnings() {
		if strings.Contains(w.Summary, "forgotten") {
			t.Errorf("unexpected %s", w)
		}
	}
	if len(refused.Errors()) == 0 || f.State(Address("etcd_member", "c")) == nil {
		t.Errorf("c was let go of:\n%s", refused.Report())
	}
	f.Nodes["c"] = c
	f.Repair("b")
	f.MustServe("b")
	f.MustVote("a", "b", "c")
	MustForgetLast(t, f.Destroy().MustSucceed(), "a", "b", "c")
	f.MustBeGone()
}

// Five members, two of whose machines have died: the destroy needs no manual help.
func TestAccDestroyWithTwoOfFiveDead(t *testing.T) {
	if !etcdtest.Full() {
		t.Skip("another test destroys a cluster with one of three dead: set ETCD_TEST_FULL=1")
	}
	t.Parallel()
	f := NewFleet(t, FleetOptions{Founders: []string{"a", "b", "c", "d", "e"}, Static: true})
	f.Form()
	f.Crash("b", "d")
	MustForgetLast(t, f.Destroy().MustSucceed(), "a", "c", "e")
	f.MustBeGone()
}

// With three of five dead, the cluster has no quorum. The destroy fails at once
// and changes nothing; if it is stated to be lost, the destroy succeeds.
func TestAccDestroyWithThreeOfFiveDead(t *testing.T) {
	t.Parallel()
	f := NewFleet(t, FleetOptions{Founders: []string{"a", "b", "c", "d", "e"}, Static: true})
	f.Form()
	var dead []string
	for _, name := range []string{"b", "c", "d"} {
		dead = append(dead, f.Named(name))
	}
	lost := f.cluster()
	f.Crash("b", "c", "d")

	refused := f.Destroy().MustFail()
	t.Logf("refused after %v", refused.Took.Round(time.Millisecond))
	said := map[string]Diagnostic{}
	for _, e := range refused.Errors() {
		said[e.Summary] = e
	}
	for name := range f.Nodes {
		e, ok := said["Cannot remove member "+name]
		if !ok {
			t.Fatalf("no word on %s:\n%s", name, refused.Report())
		}
		e.MustContain(t, e.Summary, "2 of 5 voters answer; quorum is 3.", "Nothing was changed.")
		for _, id := range dead {
			e.MustContain(t, e.Summary, id+" does not answer")
		}
		for _, text := range []string{"etcd_snapshot", "the argument restore of etcd_initial_cluster", "\n  ETCD_CLUSTER_LOST=" + lost + ":b,c,d terraform destroy -refresh=false", ": answers without a quorum"} {
			e.MustContain(t, e.Summary, text)
		}
		if f.State(Address("etcd_member", name)) == nil {
			t.Errorf("%s is no longer in the state", name)
		}
	}

	f.StateLost(lost, "b", "c", "d")
	forgotten := map[string]bool{}
	destroyed := f.Destroy().MustSucceed()
	t.Logf("forgotten after %v", destroyed.Took.Round(time.Millisecond))
	for _, w := range destroyed.Warnings() {
		for name := range f.Nodes {
			if w.Summary == "Member "+name+" was forgotten, not removed" {
				forgotten[name] = true
			}
		}
	}
	if len(forgotten) != 5 {
		t.Errorf("said to be forgotten: %v", forgotten)
	}
	f.MustBeGone()
}

// refusals returns the text of diagnostics for endpoints that refuse connections.
func (f *Fleet) refusals() string {
	return Refusals(f.endpoints())
}
