// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

//go:embed testdata/brownfield.tf
var brownfieldText string

// boot starts the machines of the fleet directly, as a cluster that Terraform
// does not know.
func (f *Fleet) boot() {
	f.tb.Helper()
	names := slices.Sorted(maps.Keys(f.Nodes))
	var initial []string
	for _, name := range names {
		initial = append(initial, name+"="+f.Nodes[name].Peer)
	}
	for _, name := range names {
		f.bootOne(name, "new", strings.Join(initial, ","))
	}
	f.WaitList(names[0], names...)
}

// configure replaces the whole configuration except the provider's.
func (f *Fleet) configure(text string) {
	f.tb.Helper()
	f.Write("main.tf", text)
	f.Write("bootstrap.tf", "")
}

func (f *Fleet) bootOne(name, state, initial string) {
	f.tb.Helper()
	n := f.Nodes[name]
	env := []string{
		"ETCD_NAME=" + name, "ETCD_INITIAL_CLUSTER=" + initial, "ETCD_INITIAL_CLUSTER_STATE=" + state, "ETCD_INITIAL_CLUSTER_TOKEN=by-hand",
		"ETCD_LISTEN_PEER_URLS=" + n.Peer, "ETCD_INITIAL_ADVERTISE_PEER_URLS=" + n.Peer,
		"ETCD_LISTEN_CLIENT_URLS=" + n.Client, "ETCD_ADVERTISE_CLIENT_URLS=" + n.Client,
	}
	if f.opts.TLS != nil || f.auth {
		for k, v := range f.env {
			env = append(env, k+"="+v)
		}
	}
	f.sh("up", name, "ETCD_BIN="+n.Etcd, "MACHINE_ENV="+strings.Join(env, "\n"), "MACHINE_JOIN=")
}

// tie sets whether the machines are in the configuration of brownfield.tf.
func (f *Fleet) tie(tied bool) {
	f.Write("tied.auto.tfvars", fmt.Sprintf("tied = %v\n", tied))
}

func importBlock(to, id string) string {
	return fmt.Sprintf("import {\n  to = %s\n  id = %q\n}\n", to, id)
}

// importNodes returns an import block for the instances of a resource, by the
// IDs of their nodes. It is one block, as in the guide: of several blocks for
// one resource, Terraform 1.16.0-rc2 uses only one.
func importNodes(resource string, ids map[string]string) string {
	to := strings.TrimSuffix(address(resource, "X"), `["X"]`)
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
func (p *Plan) mustImport(n int) {
	p.tb.Helper()
	p.MustDo(map[string]string{})
	p.MustBeQuiet()
	want := fmt.Sprintf("Plan: %d to import, 0 to add, 0 to change, 0 to destroy.", n)
	if !strings.Contains(string(p.Stdout), want) {
		p.tb.Fatalf("the plan does not say %q:\n%s", want, p.Outcome)
	}
}

// An existing cluster is imported by ID, name and peer URL. Afterwards it is
// like any other cluster: the plan is empty, and a member is replaced together
// with its machine.
func TestAccImport(t *testing.T) {
	t.Parallel()
	for _, version := range []etcdtest.Version{etcdtest.V35, etcdtest.V36, etcdtest.V37} {
		t.Run(string(version), func(t *testing.T) {
			t.Parallel()
			f := NewFleet(t, FleetOptions{Version: version, Static: true})
			f.boot()
			f.configure(brownfieldText)
			before, members := f.named("a", "b", "c"), f.Members()
			ids := map[string]string{"a": fmt.Sprintf("%x", f.memberID("a")), "b": "b", "c": strings.ToUpper(f.Nodes["c"].Peer) + "/"}
			names := map[string]string{"a": "a", "b": "b", "c": "c"}
			blocks := importNodes("etcd_member", ids) + importNodes("etcd_member_config", names)
			f.Write("import.tf", blocks)
			f.tie(false)
			f.Plan().mustImport(6)

			f.tie(true)
			updates := map[string]string{}
			for name := range f.Nodes {
				updates[address("etcd_member", name)] = "update"            // config and machine_id
				updates[address("terraform_data.machine", name)] = "update" // its input
			}
			f.Write("import.tf", blocks+importNodes("terraform_data.machine", names))
			plan := f.Plan()
			plan.MustDo(updates)
			for name := range f.Nodes {
				c := plan.Changes()[address("etcd_member", name)]
				for attribute, was := range c.Before {
					if now := c.After[attribute]; !slices.Contains([]string{"config", "machine_id"}, attribute) && fmt.Sprint(now) != fmt.Sprint(was) {
						t.Errorf("%s of %s changes from %v to %v", attribute, name, was, now)
					}
				}
				plan.MustNotKnow(address("etcd_member", name))
			}
			f.Apply().MustSucceed().MustBeQuiet()
			f.Write("import.tf", "")
			f.Plan().MustBeEmpty()
			if after := f.named("a", "b", "c"); after != before {
				t.Errorf("the members are %s, and were %s", after, before)
			}

			replace := "-replace=" + address("etcd_member_config", "b")
			f.Plan(replace).MustDo(flat.changes("delete create", "b"))
			writer := f.Writer("a", "c")
			f.Apply(replace).MustSucceed() // with the warning that two of three tolerate no failure
			f.mustNotPause(writer, pause, "a", "c")
			f.MustVote("a", "b", "c")
			for _, m := range members {
				if now := f.memberID(m.Name); (now == m.ID) != (m.Name != "b") {
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
	cluster := start(t, 1, etcdtest.Options{Names: []string{"a"}})
	learner := cluster.AddLearner(t, "d")
	id := fmt.Sprintf("%x", cluster.MemberID(t, learner))
	a := fmt.Sprintf("a (%x)", cluster.MemberID(t, cluster.Member("a")))
	w := NewWorkspace(t, WorkspaceOptions{})
	w.names(learner.ClientURL())
	config := func(resource, importID string) string {
		return Access{Endpoints: cluster.Endpoints()}.ProviderConfig() + fmt.Sprintf(
			"terraform {\n  required_providers {\n    etcd = {\n      source = \"terraform-provider-etcd/etcd\"\n    }\n  }\n}\n"+
				"resource %q \"this\" {\n  name      = \"d\"\n  peer_urls = [%q]\n}\n%s", resource, learner.PeerURL(), importBlock(resource+".this", importID))
	}
	for _, importID := range []string{"d", id, learner.PeerURL()} {
		w.Write("main.tf", config("etcd_learner", importID))
		w.Plan().mustImport(1)
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
	e.mustContain(t, e.Summary, " has no member with this ID, name or peer URL. Its members: ", a)
}
