// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package commands

import (
	"fmt"
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// Invalid input that only the cluster can detect, and invalid input that reaches the
// user through the CLI.
func TestAccBadInput(t *testing.T) {
	t.Parallel()
	c := etcdtest.Start(t, 1, etcdtest.Options{})
	learner := c.AddLearner(t, "learner")
	infra1 := c.Member("infra1")
	id := fmt.Sprintf("infra1 (%x)", c.MemberID(t, infra1))
	there := acctest.Access{Endpoints: c.Endpoints()}
	for name, bad := range map[string]struct {
		access          acctest.Access
		resources       string
		summary, detail string
	}{
		"name of another":                   {there, member("etcd_member", "infra1", elsewhere(t)), "Cannot add member infra1", id},
		"peer URL of another":               {there, member("etcd_member", "x", infra1.PeerURL()), acctest.Endangered, "import {"},
		"endpoints at which nobody listens": {acctest.Access{Endpoints: []string{elsewhere(t)}}, member("etcd_member", "x", elsewhere(t)), "Cannot add member x", "connection refused"},
		"endpoint of a learner":             {acctest.Access{Endpoints: []string{learner.ClientURL()}}, member("etcd_member", "x", elsewhere(t)), "Cannot add member x", learner.ClientURL() + ": endpoint is a learner"},
		"no endpoints":                      {acctest.Access{}, member("etcd_member", "x", elsewhere(t)), "No etcd endpoints", "ETCDCTL_ENDPOINTS"},
		"a name for no machine":             {there, member("etcd_member", "new(2)", elsewhere(t)), "Invalid member name", "new(2)"},
		"a timeout that does not parse": {
			there, strings.Replace(member("etcd_learner", "x", elsewhere(t)), "}\n", "  timeouts = {\n    create = \"5 minutes\"\n  }\n}\n", 1),
			"Invalid duration", "timeouts.create is \"5 minutes\"",
		},
		"a cluster that runs": {
			there, fmt.Sprintf("resource \"etcd_cluster\" \"this\" {\n  members = { infra1 = { peer_urls = [%q], client_urls = [%q] } }\n}\n", infra1.PeerURL(), infra1.ClientURL()),
			"A cluster runs at these addresses", c.ID(t),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := configuration(t, bad.access, bad.resources).Apply().MustSay(bad.summary)
			e.MustContain(t, e.Summary, bad.detail)
		})
	}
}

// If the endpoints lead to another cluster than the one in state, nothing is
// changed or added there. A plan and, with one command, a destroy are possible.
func TestAccOtherCluster(t *testing.T) {
	t.Parallel()
	first, second := etcdtest.Start(t, 1, etcdtest.Options{}), etcdtest.Start(t, 1, etcdtest.Options{})
	learner := member("etcd_learner", "x", elsewhere(t))
	w := configuration(t, acctest.Access{Endpoints: first.Endpoints()}, learner)
	w.Apply().MustSucceed()
	was := w.State("etcd_learner.x")

	there := required + acctest.Access{Endpoints: second.Endpoints()}.ProviderConfig()
	w.Write("main.tf", there+learner)
	plan := w.Plan()
	plan.MustBeEmpty()
	plan.Says("The endpoints answer for another cluster")
	w.Write("main.tf", there+learner+strings.Replace(member("etcd_learner", "y", elsewhere(t)), `"x"`, `"y"`, 1))
	stray := w.Apply()
	stray.MustFail()
	stray.MustSay("This plan would endanger the cluster").MustContain(t, "This plan would endanger the cluster", "It adds y to the cluster that the provider's endpoints reach")
	w.Write("main.tf", there+learner)
	w.Destroy("-refresh=false").MustSay("Cannot remove member x").MustContain(t, "Cannot remove member x", second.ID(t), "terraform destroy -refresh=false")

	mustHaveMembers(t, second, 1)

	w.Write("main.tf", required+acctest.Access{Endpoints: first.Endpoints()}.ProviderConfig()+learner)
	w.Plan().MustBeEmpty()
	if now := w.State("etcd_learner.x"); now["id"] != was["id"] {
		t.Errorf("the learner is %v, and was %v", now["id"], was["id"])
	}
	w.Write("main.tf", there+learner)
	w.Env = append(w.Env, fmt.Sprintf("ETCD_CLUSTER_LOST=%v:x", was["cluster_id"]))
	w.Destroy("-refresh=false").MustSucceed().Says("Member x was forgotten, not removed")
	mustHaveMembers(t, second, 1)
	mustHaveMembers(t, first, 2)
}

func mustHaveMembers(t *testing.T, c *etcdtest.Cluster, want int) {
	t.Helper()
	list, err := c.Client(t).MemberList(etcdtest.WaitContext(t))
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Members) != want {
		t.Errorf("the members are %v, want %d", list.Members, want)
	}
}
