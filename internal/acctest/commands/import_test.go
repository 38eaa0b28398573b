// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package commands

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

//go:embed testdata/brownfield.tf
var brownfieldText string

// bootAll starts the machines of the fleet directly, as a cluster that Terraform
// does not know.
func bootAll(f *acctest.Fleet) {
	f.TB.Helper()
	names := slices.Sorted(maps.Keys(f.Nodes))
	var initial []string
	for _, name := range names {
		initial = append(initial, name+"="+f.Nodes[name].Peer)
	}
	for _, name := range names {
		bootOne(f, name, "new", strings.Join(initial, ","))
	}
	f.WaitList(names[0], names...)
}

// replaceConfiguration replaces the whole configuration except the provider's.
func replaceConfiguration(f *acctest.Fleet, text string) {
	f.TB.Helper()
	f.Write("main.tf", text)
	f.Write("bootstrap.tf", "")
}

func bootOne(f *acctest.Fleet, name, state, initial string) {
	f.TB.Helper()
	n := f.Nodes[name]
	env := []string{
		"ETCD_NAME=" + name, "ETCD_INITIAL_CLUSTER=" + initial, "ETCD_INITIAL_CLUSTER_STATE=" + state, "ETCD_INITIAL_CLUSTER_TOKEN=by-hand",
		"ETCD_LISTEN_PEER_URLS=" + n.Peer, "ETCD_INITIAL_ADVERTISE_PEER_URLS=" + n.Peer,
		"ETCD_LISTEN_CLIENT_URLS=" + n.Client, "ETCD_ADVERTISE_CLIENT_URLS=" + n.Client,
	}
	if f.Options.TLS != nil || f.Auth {
		for k, v := range f.MachineEnv {
			env = append(env, k+"="+v)
		}
	}
	f.RunMachine("up", name, "ETCD_BIN="+n.Etcd, "MACHINE_ENV="+strings.Join(env, "\n"), "MACHINE_JOIN=")
}

// setTied sets whether the machines are in the configuration of brownfield.tf.
func setTied(f *acctest.Fleet, tied bool) {
	f.Write("tied.auto.tfvars", fmt.Sprintf("tied = %v\n", tied))
}

// importNodes returns an import block for the instances of a resource, by the
// IDs of their nodes. It is one block, as in the guide: of several blocks for
// one resource, Terraform 1.16.0-rc2 uses only one.
func importNodes(resource string, ids map[string]string) string {
	to := strings.TrimSuffix(acctest.Address(resource, "X"), `["X"]`)
	var b strings.Builder
	fmt.Fprintf(&b, "import {\n  to = %s[each.key]\n  id = each.value\n  for_each = {\n", to)
	for _, name := range slices.Sorted(maps.Keys(ids)) {
		fmt.Fprintf(&b, "    %s = %q\n", name, ids[name])
	}
	b.WriteString("  }\n}\n")
	return b.String()
}

// mustImport fails the test unless the plan imports n resources and does
// nothing else.
func mustImport(p *acctest.Plan, n int) {
	p.TB.Helper()
	p.MustDo(map[string]string{})
	p.MustBeQuiet()
	want := fmt.Sprintf("Plan: %d to import, 0 to add, 0 to change, 0 to destroy.", n)
	if !strings.Contains(string(p.Stdout), want) {
		p.TB.Fatalf("the plan does not say %q:\n%s", want, p.Outcome)
	}
}

// An existing cluster is imported by ID, name and peer URL. Afterwards it is
// like any other cluster: the plan is empty, and a member is replaced together
// with its machine.
func TestAccImport(t *testing.T) {
	t.Parallel()
	for _, version := range etcdtest.Sample(etcdtest.V37) {
		t.Run(string(version), func(t *testing.T) {
			t.Parallel()
			f := acctest.NewFleet(t, acctest.FleetOptions{Version: version, Static: true})
			bootAll(f)
			replaceConfiguration(f, brownfieldText)
			before, members := f.Named("a", "b", "c"), f.Members()
			ids := map[string]string{"a": fmt.Sprintf("%x", f.MemberID("a")), "b": "b", "c": strings.ToUpper(f.Nodes["c"].Peer) + "/"}
			names := map[string]string{"a": "a", "b": "b", "c": "c"}
			blocks := importNodes("etcd_member", ids) + importNodes("etcd_member_config", names)
			f.Write("import.tf", blocks)
			setTied(f, false)
			mustImport(f.Plan(), 6)

			setTied(f, true)
			updates := map[string]string{}
			for name := range f.Nodes {
				updates[acctest.Address("etcd_member", name)] = "update"            // config and machine_id
				updates[acctest.Address("terraform_data.machine", name)] = "update" // its input
			}
			f.Write("import.tf", blocks+importNodes("terraform_data.machine", names))
			plan := f.Plan()
			plan.MustDo(updates)
			for name := range f.Nodes {
				c := plan.Changes()[acctest.Address("etcd_member", name)]
				for attribute, was := range c.Before {
					if now := c.After[attribute]; !slices.Contains([]string{"config", "machine_id"}, attribute) && fmt.Sprint(now) != fmt.Sprint(was) {
						t.Errorf("%s of %s changes from %v to %v", attribute, name, was, now)
					}
				}
				plan.MustNotKnow(acctest.Address("etcd_member", name))
			}
			f.Apply().MustSucceed().MustBeQuiet()
			f.Write("import.tf", "")
			f.Plan().MustBeEmpty()
			if after := f.Named("a", "b", "c"); after != before {
				t.Errorf("the members are %s, and were %s", after, before)
			}

			replace := "-replace=" + acctest.Address("etcd_member_config", "b")
			f.Plan(replace).MustDo(flat.changes("delete create", "b"))
			writer := f.Writer("a", "c")
			f.Apply(replace).MustSucceed() // with the warning that two of three tolerate no failure
			f.MustNotPause(writer, acctest.Pause, "a", "c")
			f.MustVote("a", "b", "c")
			for _, m := range members {
				if now := f.MemberID(m.Name); (now == m.ID) != (m.Name != "b") {
					t.Errorf("%s was %x and is %x", m.Name, m.ID, now)
				}
			}
			f.Plan().MustBeEmpty()
		})
	}
}

// A learner can only be imported as etcd_learner. The import of a missing
// member fails.
func TestAccImportLearner(t *testing.T) {
	t.Parallel()
	cluster := acctest.StartCluster(t, 1, etcdtest.Options{Names: []string{"a"}})
	learner := cluster.AddLearner(t, "d")
	id := fmt.Sprintf("%x", cluster.MemberID(t, learner))
	a := fmt.Sprintf("a (%x)", cluster.MemberID(t, cluster.Member("a")))
	w := acctest.NewWorkspace(t, acctest.WorkspaceOptions{})
	w.Trust(learner.ClientURL())
	config := func(resource, importID string) string {
		return acctest.Access{Endpoints: cluster.Endpoints()}.ProviderConfig() + fmt.Sprintf(
			"terraform {\n  required_providers {\n    etcd = {\n      source = \"terraform-provider-etcd/etcd\"\n    }\n  }\n}\n"+
				"resource %q \"this\" {\n  name      = \"d\"\n  peer_urls = [%q]\n}\n%s", resource, learner.PeerURL(), acctest.ImportBlock(resource+".this", importID))
	}
	for _, importID := range []string{"d", id, learner.PeerURL()} {
		w.Write("main.tf", config("etcd_learner", importID))
		mustImport(w.Plan(), 1)
	}
	w.Apply().MustSucceed().MustBeQuiet()
	w.Plan().MustBeEmpty()
	if got := fmt.Sprint(w.State("etcd_learner.this")["id"]); got != id {
		t.Errorf("imported %s, want %s", got, id)
	}
	w.Run("state", "rm", "etcd_learner.this").MustSucceed()

	w.Write("main.tf", config("etcd_member", "d"))
	w.Plan().MustSay("Cannot import member d").MustDetail(t, "d ("+id+") is a learner. Import it as an etcd_learner; an etcd_member would be promoted by the next apply.")
	w.Write("main.tf", config("etcd_learner", "a"))
	w.Plan().MustSay("Cannot import learner a").MustDetail(t, a+" is a voting member. Import it as an etcd_member.")
	w.Write("main.tf", config("etcd_learner", "nobody"))
	e := w.Plan().MustSay("Cannot import member nobody")
	e.MustContain(t, e.Summary, " has no member with this ID, name or peer URL. Its members: ", a)
}
