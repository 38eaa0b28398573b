// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"fmt"
	"maps"
	"slices"
	"syscall"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

const discoveryToken = "etcd_discovery_token.this"

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

// No command replaces a complete token.
func TestAccReplaceToken(t *testing.T) {
	t.Parallel()
	f := NewFleet(t, FleetOptions{})
	f.Form()
	members, machines := f.named("a", "b", "c"), f.machineIDs()
	token := f.State(discoveryToken)["token"]

	for _, more := range [][]string{{"-refresh=false"}, nil} {
		refused := f.Apply(append(more, "-replace="+discoveryToken)...).MustSay("Cannot replace the discovery token")
		refused.mustContain(t, refused.Summary, "The bootstrap is complete: its initial members have registered (a, b and c).")
		f.mustBeUntouched(members, machines)
		f.asPrinted(refused, "plan", "")
	}

	// The plan of a tainted token looks like a first creation. It does not
	// include configurations, and its apply changes nothing.
	f.Run("taint", discoveryToken).MustSucceed()
	f.Plan().MustDo(map[string]string{discoveryToken: "delete create"})
	refused := f.Apply().MustSay("Cannot replace the discovery token")
	f.mustBeUntouched(members, machines)
	f.asPrinted(refused, "untaint 'ADDRESS'", discoveryToken)
	f.Plan().MustBeEmpty()
	if now := f.State(discoveryToken)["token"]; now != token {
		t.Errorf("the token was %v and is %v", token, now)
	}

	// Neither is a token while the discovery cluster is down, which changes nothing else.
	f.Registry.Members()[0].Kill()
	f.Plan().MustBeEmpty()
	f.Apply("-replace=" + discoveryToken).MustSay("Cannot replace the discovery token")
	f.mustBeUntouched(members, machines)
}

// A token may be complete if the discovery cluster gives no usable answer.
func TestAccReplaceTokenUnknown(t *testing.T) {
	t.Parallel()
	f := NewFleet(t, FleetOptions{})
	halfWay(t, f)
	token, machines := f.State(discoveryToken)["token"], f.machineIDs()
	registry := f.Registry.Endpoints()[0]
	f.RegistryURL = deadEndpoint(t)
	refused := f.Apply("-replace=" + discoveryToken).MustSay("Cannot replace the discovery token")
	refused.mustContain(t, refused.Summary, "It is not known whether the cluster of this token has formed. The discovery cluster gave no usable answer.")
	if now := f.machineIDs(); f.State(discoveryToken)["token"] != token || !maps.Equal(now, machines) {
		t.Errorf("the machines %v became %v", machines, now)
	}

	t.Log("the way out: everything anew")
	f.RegistryURL = registry
	good := etcdtest.Binary(t, etcdtest.DefaultVersion)
	for _, n := range f.Nodes {
		n.Etcd, n.Create = good, "60s"
	}
	f.asPrinted(refused, "destroy -refresh=false", "")
	f.asPrinted(refused, "apply", "")
	f.MustVote("a", "b", "c")
	f.Plan().MustBeEmpty()
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

// Whatever is configured for a complete token, its plans are valid, and they
// are empty once the values that only Terraform compares are in the state.
func TestAccCompleteTokenConfiguredAnew(t *testing.T) {
	t.Parallel()
	f := NewFleet(t, FleetOptions{Size: 3})
	f.Form()
	token := fmt.Sprint(f.State(discoveryToken)["token"])

	f.opts.Size = 0 // founders instead of size
	f.Plan().MustBeEmpty()

	f.Run("state", "rm", discoveryToken).MustSucceed()
	f.save()
	f.Run("import", discoveryToken, token).MustSucceed()
	f.Plan().MustBeEmpty()

	f.opts.Service, f.opts.Protocol = &etcdtest.DiscoveryService{URL: "https://discovery.example"}, "service"
	registry := f.Registry
	f.Registry = nil
	f.Plan().MustDo(map[string]string{discoveryToken: "update"})
	f.Apply().MustSucceed()
	f.Plan().MustBeEmpty()
	f.opts.Service, f.opts.Protocol, f.Registry = nil, "", registry
	f.Plan().MustBeEmpty()
	f.MustVote("a", "b", "c")
	f.Destroy().MustSucceed()
	f.MustBeGone()
}

// In whatever notation the service URL is written, the token is read at its own URL.
func TestAccImportFromServiceWithSlash(t *testing.T) {
	t.Parallel()
	f := NewFleet(t, FleetOptions{Service: etcdtest.NewDiscoveryService(t, nil)})
	for name := range f.Nodes {
		f.Nodes[name].Etcd = etcdtest.Binary(t, etcdtest.V36)
	}
	f.Apply("-target=" + discoveryToken).MustSucceed()
	token := f.State(discoveryToken)
	for _, end := range []string{"/", "//"} {
		f.Run("state", "rm", discoveryToken).MustSucceed()
		f.Run("import", discoveryToken, "service:"+fmt.Sprint(token["url"])+end).MustSucceed()
		now := f.State(discoveryToken)
		for _, attribute := range []string{"token", "url", "service_url"} {
			if now[attribute] != token[attribute] {
				t.Errorf("%s is %v, and was %v", attribute, now[attribute], token[attribute])
			}
		}
	}
	f.Form()
	f.MustVote("a", "b", "c")
	f.Plan().MustBeEmpty()
}
