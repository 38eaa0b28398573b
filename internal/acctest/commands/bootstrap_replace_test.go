// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package commands

import (
	"fmt"
	"maps"
	"slices"
	"syscall"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// asPrinted runs a command of a diagnostic, with the address filled in.
func asPrinted(f *acctest.Fleet, d acctest.Diagnostic, command, address string) *acctest.Outcome {
	f.TB.Helper()
	line := "terraform " + command
	if !slices.Contains(commandsIn(d), line) {
		f.TB.Fatalf("no command %q among %q of\n%s", line, commandsIn(d), d)
	}
	args, _ := shellWords(f.TB, fillIn(line, address))
	switch args[0] {
	case "apply", "destroy":
		return f.Start(args...).Wait().MustSucceed()
	case "plan":
		plan := f.Plan(args[1:]...)
		plan.MustBeEmpty()
		return plan.Outcome
	}
	f.Save()
	return f.Run(args...).MustSucceed()
}

// machineIDs returns the IDs of the machines in the state, by node.
func machineIDs(f *acctest.Fleet) map[string]string {
	f.TB.Helper()
	out := map[string]string{}
	for name := range f.Nodes {
		if m := f.State(acctest.Address("terraform_data.machine", name)); m != nil {
			out[name] = fmt.Sprint(m["id"])
		}
	}
	return out
}

// mustBeUntouched fails the test unless members and machines have not changed.
func mustBeUntouched(f *acctest.Fleet, members string, machines map[string]string) {
	f.TB.Helper()
	if now := f.Named(slices.Collect(maps.Keys(machines))...); now != members {
		f.TB.Fatalf("the members are %s, and were %s", now, members)
	}
	now := machineIDs(f)
	for name, id := range machines {
		if now[name] != id {
			f.TB.Fatalf("the machine of %s was replaced: %v became %v", name, machines, now)
		}
	}
}

// No command replaces a static bootstrap whose cluster has formed. It is
// detected also if its state was lost.
func TestAccReplaceInitialCluster(t *testing.T) {
	t.Parallel()
	f := acctest.NewFleet(t, acctest.FleetOptions{Static: true})
	f.Form()
	members, machines := f.Named("a", "b", "c"), machineIDs(f)
	id := fmt.Sprint(f.State(acctest.InitialCluster)["cluster_id"])

	// The state does not yet show that the cluster has formed.
	refused := f.Apply("-refresh=false", "-replace="+acctest.InitialCluster).MustSay("Cannot replace the initial cluster")
	mustBeUntouched(f, members, machines)
	asPrinted(f, refused, "plan", "")
	refused = f.Apply("-replace=" + acctest.InitialCluster).MustSay("Cannot replace the initial cluster")
	mustBeUntouched(f, members, machines)
	asPrinted(f, refused, "plan", "")

	// A tainted resource looks like a new one. An unreachable member does not
	// hide the others.
	f.Run("taint", acctest.InitialCluster).MustSucceed()
	f.Signal("c", syscall.SIGSTOP)
	frozen := f.Plan("-refresh=false")
	f.Signal("c", syscall.SIGCONT)
	frozen.MustSay("A cluster exists already")
	refused = f.Apply().MustSay("A cluster exists already")
	mustBeUntouched(f, members, machines)
	asPrinted(f, refused, "untaint 'ADDRESS'", acctest.InitialCluster)
	f.Plan().MustBeEmpty()

	// So does a resource whose state was lost.
	f.Run("state", "rm", acctest.InitialCluster).MustSucceed()
	refused = f.Apply().MustSay("A cluster exists already")
	mustBeUntouched(f, members, machines)
	asPrinted(f, refused, "import 'ADDRESS' "+id, acctest.InitialCluster)
	f.Plan().MustBeEmpty()
	f.Apply("-replace=" + acctest.InitialCluster).MustSay("Cannot replace the initial cluster")

	// The bootstrap works as before.
	f.Add("d")
	f.Founders = append(f.Founders, "d")
	f.Plan().MustDo(acctest.Changes("d", "create"))
	f.Apply().MustSucceed()
	f.MustVote("a", "b", "c", "d")
	mustBeUntouched(f, members, machines)
	f.Plan().MustBeEmpty()
	f.Destroy().MustSucceed()
	f.MustBeGone()
}

// Right after the first apply the state does not show that the cluster has formed.
// While no endpoint answers, it may have formed: changed members replace nothing.
func TestAccInitialClusterUnreachable(t *testing.T) {
	t.Parallel()
	f := acctest.NewFleet(t, acctest.FleetOptions{Static: true})
	f.Form()
	members, machines := f.Named("a", "b", "c"), machineIDs(f)
	reachable := f.Read("provider.tf")
	f.Write("provider.tf", acctest.Access{Endpoints: []string{acctest.DeadEndpoint(t)}}.ProviderConfig())

	f.Founders = []string{"a", "b"}
	e := f.Apply().MustSay("Cannot replace the initial cluster")
	e.MustContain(t, e.Summary, "It is not known whether its cluster ", " has formed. The cluster does not answer at the provider's endpoints (",
		fmt.Sprintf("\n\n  members = {\n    \"a\" = [%q]\n    \"b\" = [%q]\n    \"c\" = [%q]\n  }\n\n", f.Nodes["a"].Peer, f.Nodes["b"].Peer, f.Nodes["c"].Peer))
	mustBeUntouched(f, members, machines)

	// A taint fails too, and does not affect the configurations.
	f.Founders = []string{"a", "b", "c"}
	f.Run("taint", acctest.InitialCluster).MustSucceed()
	tainted := f.Plan()
	tainted.MustDo(map[string]string{acctest.InitialCluster: "delete create"})
	e = f.Apply().MustSay("Cannot replace the initial cluster")
	mustBeUntouched(f, members, machines)
	asPrinted(f, e, "untaint 'ADDRESS'", acctest.InitialCluster)
	f.Plan().MustBeEmpty()

	// The original members, as printed, are one way out; an answer of the
	// cluster is the other.
	f.Write("provider.tf", reachable)
	f.Founders = []string{"a", "b"}
	asPrinted(f, e, "plan", "")
	mustBeUntouched(f, members, machines)
}

// New members get a complete bootstrap while its cluster is gone.
func TestAccBootstrapWithoutItsCluster(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]acctest.FleetOptions{"token": {}, "static": {Static: true}} {
		if o.Static && !etcdtest.Full() {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o.Founders = []string{"a"}
			f := acctest.NewFleet(t, o)
			f.Form()
			f.Apply("-refresh-only").MustSucceed()
			f.Destroy("-target=etcd_member_config.node").MustSucceed()
			refused := f.Apply().MustSay("Cannot configure member a")
			refused.MustContain(t, refused.Summary, "Its bootstrap is complete: the cluster has formed before, and it does not answer now, so there is nothing for a to join.",
				"The endpoints answered:\n  - "+f.Nodes["a"].Client+": connection refused")
			asPrinted(f, refused, "destroy -refresh=false", "")
			asPrinted(f, refused, "apply", "")
			f.MustVote("a")
			f.Plan().MustBeEmpty()
		})
	}
}
