// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"fmt"
	"maps"
	"slices"
	"syscall"
	"testing"
)

// asPrinted runs a command of a diagnostic, with the address filled in.
func (f *Fleet) asPrinted(d Diagnostic, command, address string) *Outcome {
	f.tb.Helper()
	line := "terraform " + command
	if !slices.Contains(d.commands(), line) {
		f.tb.Fatalf("no command %q among %q of\n%s", line, d.commands(), d)
	}
	args, _ := shellWords(f.tb, fillIn(line, address))
	switch args[0] {
	case "apply", "destroy":
		return f.Start(args...).Wait().MustSucceed()
	case "plan":
		plan := f.Plan(args[1:]...)
		plan.MustBeEmpty()
		return plan.Outcome
	}
	f.save()
	return f.Run(args...).MustSucceed()
}

// machineIDs returns the IDs of the machines in the state, by node.
func (f *Fleet) machineIDs() map[string]string {
	f.tb.Helper()
	out := map[string]string{}
	for name := range f.Nodes {
		if m := f.State(address("terraform_data.machine", name)); m != nil {
			out[name] = fmt.Sprint(m["id"])
		}
	}
	return out
}

// mustBeUntouched fails the test unless members and machines have not changed.
func (f *Fleet) mustBeUntouched(members string, machines map[string]string) {
	f.tb.Helper()
	if now := f.named(slices.Collect(maps.Keys(machines))...); now != members {
		f.tb.Fatalf("the members are %s, and were %s", now, members)
	}
	now := f.machineIDs()
	for name, id := range machines {
		if now[name] != id {
			f.tb.Fatalf("the machine of %s was replaced: %v became %v", name, machines, now)
		}
	}
}

// No command replaces a static bootstrap whose cluster has formed. It is
// detected also if its state was lost.
func TestAccReplaceInitialCluster(t *testing.T) {
	t.Parallel()
	f := NewFleet(t, FleetOptions{Static: true})
	f.Form()
	members, machines := f.named("a", "b", "c"), f.machineIDs()
	id := fmt.Sprint(f.State(initialCluster)["cluster_id"])

	// The state does not yet show that the cluster has formed.
	refused := f.Apply("-refresh=false", "-replace="+initialCluster).MustSay("Cannot replace the initial cluster")
	f.mustBeUntouched(members, machines)
	f.asPrinted(refused, "plan", "")
	refused = f.Apply("-replace=" + initialCluster).MustSay("Cannot replace the initial cluster")
	f.mustBeUntouched(members, machines)
	f.asPrinted(refused, "plan", "")

	// A tainted resource looks like a new one. An unreachable member does not
	// hide the others.
	f.Run("taint", initialCluster).MustSucceed()
	f.Signal("c", syscall.SIGSTOP)
	frozen := f.Plan("-refresh=false")
	f.Signal("c", syscall.SIGCONT)
	frozen.MustSay("A cluster exists already")
	refused = f.Apply().MustSay("A cluster exists already")
	f.mustBeUntouched(members, machines)
	f.asPrinted(refused, "untaint 'ADDRESS'", initialCluster)
	f.Plan().MustBeEmpty()

	// So does a resource whose state was lost.
	f.Run("state", "rm", initialCluster).MustSucceed()
	refused = f.Apply().MustSay("A cluster exists already")
	f.mustBeUntouched(members, machines)
	f.asPrinted(refused, "import 'ADDRESS' "+id, initialCluster)
	f.Plan().MustBeEmpty()
	f.Apply("-replace=" + initialCluster).MustSay("Cannot replace the initial cluster")

	// The bootstrap works as before.
	f.Add("d")
	f.Founders = append(f.Founders, "d")
	f.Plan().MustDo(changes("d", "create"))
	f.Apply().MustSucceed()
	f.MustVote("a", "b", "c", "d")
	f.mustBeUntouched(members, machines)
	f.Plan().MustBeEmpty()
	f.Destroy().MustSucceed()
	f.MustBeGone()
}

// Right after the first apply the state does not show that the cluster has formed.
// While no endpoint answers, it may have formed: changed members replace nothing.
func TestAccInitialClusterUnreachable(t *testing.T) {
	t.Parallel()
	f := NewFleet(t, FleetOptions{Static: true})
	f.Form()
	members, machines := f.named("a", "b", "c"), f.machineIDs()
	reachable := f.Read("provider.tf")
	f.Write("provider.tf", Access{Endpoints: []string{deadEndpoint(t)}}.ProviderConfig())

	f.Founders = []string{"a", "b"}
	e := f.Apply().MustSay("Cannot replace the initial cluster")
	e.mustContain(t, e.Summary, "It is not known whether its cluster ", " has formed. The cluster does not answer at the provider's endpoints (",
		fmt.Sprintf("\n\n  members = {\n    \"a\" = [%q]\n    \"b\" = [%q]\n    \"c\" = [%q]\n  }\n\n", f.Nodes["a"].Peer, f.Nodes["b"].Peer, f.Nodes["c"].Peer))
	f.mustBeUntouched(members, machines)

	// A taint fails too, and does not affect the configurations.
	f.Founders = []string{"a", "b", "c"}
	f.Run("taint", initialCluster).MustSucceed()
	tainted := f.Plan()
	tainted.MustDo(map[string]string{initialCluster: "delete create"})
	e = f.Apply().MustSay("Cannot replace the initial cluster")
	f.mustBeUntouched(members, machines)
	f.asPrinted(e, "untaint 'ADDRESS'", initialCluster)
	f.Plan().MustBeEmpty()

	// The original members, as printed, are one way out; an answer of the
	// cluster is the other.
	f.Write("provider.tf", reachable)
	f.Founders = []string{"a", "b"}
	f.asPrinted(e, "plan", "")
	f.mustBeUntouched(members, machines)
}

// New members get a complete bootstrap while its cluster is gone.
func TestAccBootstrapWithoutItsCluster(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]FleetOptions{"token": {}, "static": {Static: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o.Founders = []string{"a"}
			f := NewFleet(t, o)
			f.Form()
			f.Apply("-refresh-only").MustSucceed()
			f.Destroy("-target=etcd_member_config.node").MustSucceed()
			refused := f.Apply().MustSay("Cannot configure member a")
			refused.mustContain(t, refused.Summary, "Its bootstrap is complete: the cluster has formed before, and it does not answer now, so there is nothing for a to join.",
				"The endpoints answered:\n  - "+f.Nodes["a"].Client+": connection refused")
			f.asPrinted(refused, "destroy -refresh=false", "")
			f.asPrinted(refused, "apply", "")
			f.MustVote("a")
			f.Plan().MustBeEmpty()
		})
	}
}
