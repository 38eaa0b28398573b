// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// attack is a fleet with what must not change while a command is refused.
type attack struct {
	*Fleet
	processes map[string]int
}

// mustRefuse fails the test unless each error of a run is one of a plan, one of them has the
// text, and no process has ended or begun.
func (a *attack) mustRefuse(o *Outcome, text string) {
	a.TB.Helper()
	errors := o.Errors()
	says := slices.ContainsFunc(errors, func(d Diagnostic) bool { return strings.Contains(d.Detail, text) })
	ofPlans := !slices.ContainsFunc(errors, func(d Diagnostic) bool {
		return d.Summary != "This plan would endanger the cluster"
	})
	if o.ExitCode != 1 || !says || !ofPlans {
		a.TB.Fatalf("want a refusal with %q: %s", text, o)
	}
	for name, pid := range a.processes {
		if now := a.PID(name, "etcd.pid"); now != pid {
			a.TB.Fatalf("%s ran as process %d and runs as %d: %s", name, pid, now, o)
		}
	}
}

// stay notes the processes of the nodes.
func (a *attack) stay() {
	a.processes = map[string]int{}
	for name := range a.Nodes {
		a.processes[name] = a.PID(name, "etcd.pid")
	}
}

// imports takes members out of the state and imports them again.
func (a *attack) imports(names ...string) {
	a.TB.Helper()
	a.forgets(names...)
	for _, name := range names {
		a.Run("import", "-input=false", member(name), name).MustSucceed()
	}
}

func (a *attack) forgets(names ...string) {
	a.TB.Helper()
	for _, name := range names {
		a.Run("state", "rm", member(name)).MustSucceed()
	}
}

// Commands that took a healthy cluster before, each as it was typed, are refused before a machine
// changes. What the refusal asks for leads to an empty plan. (Other cases are simulated:
// TestAttacks in package simulated.)
func TestAccAttacks(t *testing.T) {
	t.Parallel()
	a := &attack{Fleet: NewFleet(t, FleetOptions{Names: []string{"a", "b", "c", "d", "e"}})}
	a.Form()
	a.Write("provider.tf", Access{Endpoints: []string{a.Nodes["a"].Client, a.Nodes["b"].Client}}.ProviderConfig())
	writer := a.Writer(50 * time.Millisecond)
	a.stay()

	// A2: imported members are dropped at once.
	nodes := a.Nodes
	a.imports("a", "b", "c", "d", "e")
	a.Nodes = map[string]*Node{"a": nodes["a"], "b": nodes["b"]}
	a.mustRefuse(a.Apply(), "First undo the change")
	a.Nodes = nodes
	a.Form()
	a.Settled()

	// A shrink from five to three at once passes.
	a.Drop("d", "e")
	a.Form()
	a.stay()

	// A2: an import block beside a new image.
	a.forgets("a")
	a.Write("import.tf", fmt.Sprintf("import {\n  to = %s\n  id = \"a\"\n}\n", member("a")))
	a.Image = "two"
	a.mustRefuse(a.Run("plan", "-json", "-input=false", "-out=p"), "replaces it in the same plan")
	a.Write("import.tf", "")
	a.Run("import", "-input=false", member("a"), "a").MustSucceed()
	if p := a.Plan(); p.Actions()[machine("a")] != "delete create" {
		t.Errorf("imported before, it is not replaced: %s", p)
	}
	a.Image = "one"
	a.Form()
	a.Settled()

	// A2: a machine that moved is replaced without a refresh.
	configuration := a.Read("main.tf")
	moved := strings.NewReplacer(`"terraform_data" "machine"`, `"terraform_data" "vm"`,
		"terraform_data.machine", "terraform_data.vm")
	a.Write("main.tf", moved.Replace(configuration)+
		"\nmoved {\n  from = terraform_data.machine\n  to   = terraform_data.vm\n}\n")
	vm := Address("terraform_data.vm", "b")
	a.mustRefuse(a.Apply("-refresh=false", "-replace="+vm), "Plan again without -refresh=false")
	if p := a.Plan("-replace=" + vm); p.Actions()[vm] != "delete create" {
		t.Errorf("with a refresh it is not planned: %s", p)
	}
	a.Write("main.tf", configuration)
	a.Settled()

	// A3: one machine_id for all members.
	const its = "terraform_data.machine[each.key].id\n"
	a.Write("main.tf", strings.Replace(configuration, its, "terraform_data.machine[\"a\"].id\n", 1))
	a.mustRefuse(a.Apply(), "Set machine_id of each")
	a.mustRefuse(a.Apply("-replace="+machine("b"), "-replace="+machine("c")), "Set machine_id of each")
	a.Write("main.tf", configuration)
	a.Settled()

	// A4: another member is replaced while a node is due.
	a.Image = "three"
	a.mustRefuse(a.Apply("-target="+member("b"), "-replace="+machine("b")), "The etcd_cluster rebuilds a in this plan")
	a.roll(3)
	a.Settled()
	a.stay()

	// A8: the peers in the user data of c are a and b.
	a.Drop("b")
	a.Add("x")
	a.Form()
	a.stay()
	a.mustRefuse(a.Apply("-replace="+machine("c")), "rebuild = { \"c\" = \"1\" }")
	a.Rebuild = map[string]string{"c": "1"}
	a.Form()
	a.Settled()

	// A4: a dropped member is removed while a node is due. The node waits.
	a.Drop("x")
	a.Apply("-target=" + cluster).MustSucceed()
	a.Image = "four"
	before := a.MemberIDs()
	a.Apply("-target=" + member("x")).MustSucceed()
	a.MustVote()
	a.MustHaveReplaced(before, "x")
	a.MustNotPause(writer)

	// P12: everything is destroyed after its machines.
	a.Image = "three"
	a.Destroy("-target=terraform_data.machine").MustSucceed()
	a.Destroy().MustSucceed()
	a.MustBeGone()
}
