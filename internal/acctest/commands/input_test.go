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

const required = `terraform {
  required_providers {
    etcd = {
      source = "terraform-provider-etcd/etcd"
    }
  }
}
`

// configuration returns a workspace with that access and these resources.
func configuration(t *testing.T, access acctest.Access, resources string) *acctest.Workspace {
	t.Helper()
	w := acctest.NewWorkspace(t, acctest.WorkspaceOptions{})
	w.Write("main.tf", required+access.ProviderConfig()+resources)
	return w
}

// member returns an etcd_member or etcd_learner that does not wait.
func member(resource, name, url string) string {
	return fmt.Sprintf("resource %q \"x\" {\n  name = %q\n  peer_urls = [%q]\n  wait_until = \"announced\"\n}\n", resource, name, url)
}

// Invalid input that only the cluster can detect.
func TestAccBadInput(t *testing.T) {
	t.Parallel()
	c := acctest.StartCluster(t, 1, etcdtest.Options{})
	infra1 := c.Member("infra1")
	id := fmt.Sprintf("%x", c.MemberID(t, infra1))
	elsewhere := fmt.Sprintf("http://127.0.0.1:%d", etcdtest.ReservePort(t))
	there := acctest.Access{Endpoints: c.Endpoints()}
	taken := fmt.Sprintf("The cluster has a member infra1 (%s) already, at %s. Names are unique in a cluster. Nothing was changed. "+
		"If that is another member, choose another name.", id, infra1.PeerURL())
	nobody := acctest.Access{Endpoints: []string{acctest.DeadEndpoint(t), acctest.DeadEndpoint(t)}}
	noCluster := "There is no cluster to join: no endpoint gave a member list.\n\n" +
		"For a new cluster, set bootstrap of the etcd_member_config to the bootstrap of an etcd_initial_cluster or an etcd_discovery_token. " +
		"For an existing cluster, check that its client URLs (port 2379) can be reached from here." + acctest.Refusals(nobody.Endpoints)

	for name, bad := range map[string]struct {
		access          acctest.Access
		resources       string
		summary, detail string
	}{
		"name of another in a configuration": {
			there, fmt.Sprintf("resource \"etcd_member_config\" \"x\" {\n  name = \"infra1\"\n  peer_urls = [%q]\n}\n", elsewhere),
			"Cannot configure member infra1: it runs", fmt.Sprintf("the cluster has the member infra1 (%s) with the same name or peer URL (%s). infra1 (%s) is alive.", id, infra1.PeerURL(), id),
		},
		"name of another": {
			there, member("etcd_member", "infra1", elsewhere),
			"Cannot add member infra1", taken,
		},
		"peer URL of another": {
			there, member("etcd_member", "x", infra1.PeerURL()),
			"Cannot add member x", fmt.Sprintf("infra1 (%s) is in the cluster already with these peer URLs (%s), and was not added by this configuration. Nothing was changed. "+
				"To have another member, give it other peer URLs.", id, infra1.PeerURL()),
		},
		"endpoints at which nobody listens": {
			nobody, member("etcd_member", "x", elsewhere),
			"Cannot add member x", noCluster,
		},
		"joiner without a cluster": {
			nobody, fmt.Sprintf("resource \"etcd_member_config\" \"x\" {\n  name = \"x\"\n  peer_urls = [%q]\n}\n", elsewhere),
			"Cannot configure member x", noCluster,
		},
		"no endpoints": {
			acctest.Access{}, member("etcd_member", "x", elsewhere),
			"No etcd endpoints", "Neither the provider nor this resource says where the cluster is. Set endpoints in the provider block, such as [\"https://10.0.1.10:2379\"], " +
				"or the environment variable ETCDCTL_ENDPOINTS.",
		},
		"a timeout that does not parse": {
			there, strings.Replace(member("etcd_learner", "x", elsewhere), "}\n", "  timeouts = {\n    create = \"5 minutes\"\n  }\n}\n", 1),
			"Invalid duration", "timeouts.create is \"5 minutes\", which is not a duration of more than zero. Expected a number with a unit, such as 500ms, 90s, 5m or 1h30m.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := configuration(t, bad.access, bad.resources).Apply().MustSay(bad.summary)
			e.MustContain(t, e.Summary, bad.detail)
		})
	}
}

// A member on another machine could never reach a loopback URL.
func TestAccLoopbackAmongOthers(t *testing.T) {
	t.Parallel()
	c := acctest.StartCluster(t, 1, etcdtest.Options{})
	ctx := etcdtest.WaitContext(t)
	added, err := c.Client(t).MemberAddAsLearner(ctx, []string{"http://10.255.0.1:2380"})
	if err != nil {
		t.Fatal(err)
	}
	w := configuration(t, acctest.Access{Endpoints: c.Endpoints()}, member("etcd_member", "x", "http://127.0.0.1:23801"))
	w.Apply().MustSay("Cannot add member x").MustDetail(t, fmt.Sprintf("http://127.0.0.1:23801 can be reached on its own machine only, and this cluster has members elsewhere: "+
		"unnamed member (%x) at http://10.255.0.1:2380. Give the URL at which they reach this member.", added.Member.ID))
}

// A learner answers hardly any requests. The error names its endpoint.
func TestAccEndpointOfALearner(t *testing.T) {
	t.Parallel()
	c := acctest.StartCluster(t, 1, etcdtest.Options{})
	learner := c.AddLearner(t, "learner")
	w := configuration(t, acctest.Access{Endpoints: []string{learner.ClientURL()}}, member("etcd_member", "x", acctest.DeadEndpoint(t)))
	w.Apply().MustSay("Cannot add member x").MustDetail(t, "No endpoint gave a member list. Nothing was changed. "+
		"Give the endpoints of voters: a learner serves no logins and takes no changes.\n\nThe endpoints answered:\n  - "+learner.ClientURL()+": endpoint is a learner")
}

// If the endpoints lead to another cluster than the one in state, nothing is
// changed or added there. A plan and, with one command, a destroy are possible.
func TestAccOtherCluster(t *testing.T) {
	t.Parallel()
	first, second := acctest.StartCluster(t, 1, etcdtest.Options{}), acctest.StartCluster(t, 1, etcdtest.Options{})
	learner := member("etcd_learner", "x", acctest.DeadEndpoint(t))
	another := strings.Replace(member("etcd_learner", "y", acctest.DeadEndpoint(t)), `"x"`, `"y"`, 1)
	w := configuration(t, acctest.Access{Endpoints: first.Endpoints()}, learner)
	w.Apply().MustSucceed()
	was := w.State("etcd_learner.x")

	there := required + acctest.Access{Endpoints: second.Endpoints()}.ProviderConfig()
	w.Write("main.tf", there+learner)
	says := fmt.Sprintf("belongs to cluster %v, and the endpoints answer for cluster %v (%s). Nothing was changed. Point endpoints at cluster %v, then apply again.",
		was["cluster_id"], clusterID(t, second), second.Endpoints()[0], was["cluster_id"])
	plan := w.Plan()
	plan.MustBeEmpty()
	mustWarn(plan.Outcome, "The endpoints answer for another cluster").MustContain(t, "The endpoints answer for another cluster", says)
	w.Destroy("-refresh=false").MustSay("Cannot remove member x").MustContain(t, "Cannot remove member x", says, fmt.Sprintf("\n  ETCD_CLUSTER_LOST=%v:x terraform destroy -refresh=false", was["cluster_id"]))

	w.Write("main.tf", there+learner+another)
	for _, args := range [][]string{nil, {"-refresh=false"}} {
		w.Plan(args...).MustSay("Cannot add member y").MustContain(t, "Cannot add member y", "y would be added there", "\n  terraform destroy -refresh=false")
	}
	mustBeMembers(t, second, "infra1")

	w.Write("main.tf", required+acctest.Access{Endpoints: first.Endpoints()}.ProviderConfig()+learner)
	w.Plan().MustBeEmpty()
	if now := w.State("etcd_learner.x"); now["id"] != was["id"] {
		t.Errorf("the learner is %v, and was %v", now["id"], was["id"])
	}
	w.Destroy().MustSucceed().MustBeQuiet()

	w.Apply().MustSucceed()
	w.Write("main.tf", there+learner)
	w.StateLost(was["cluster_id"], "x")
	mustWarn(w.Destroy("-refresh=false").MustSucceed(), "Member x was forgotten, not removed")
	mustBeMembers(t, second, "infra1")
	mustBeMembers(t, first, "? (learner)", "infra1")
}

func clusterID(t *testing.T, c *etcdtest.Cluster) string {
	t.Helper()
	ctx := etcdtest.WaitContext(t)
	list, err := c.Client(t).MemberList(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%x", list.Header.ClusterId)
}

// A machine that is replaced alone would start with the old member's settings.
func TestAccMachineAlone(t *testing.T) {
	t.Parallel()
	f := acctest.NewFleet(t, acctest.FleetOptions{Founders: []string{"a"}})
	f.Form()
	was := f.State(acctest.Address("terraform_data.machine", "a"))["id"]
	f.Nodes["a"].Image = "2"
	e := f.Plan().MustSay("Machine of member a would be replaced alone")
	e.MustContain(t, e.Summary, fmt.Sprintf("machine_id changes from %s to a new machine", was), "Nothing has been changed.", "terraform apply -replace='ADDRESS'")
	f.MustVote("a")
}

// A new machine replaces a member without an etcd_member_config, so a new image for
// all machines cannot destroy every voter.
func TestAccMachineWithoutConfiguration(t *testing.T) {
	t.Parallel()
	c := acctest.StartCluster(t, 3, etcdtest.Options{})
	w := acctest.NewWorkspace(t, acctest.WorkspaceOptions{})
	var nodes, imports strings.Builder
	for _, m := range c.Members() {
		fmt.Fprintf(&nodes, "    %s = %q\n", m.Name, m.PeerURL())
		fmt.Fprintf(&imports, "import {\n  to = etcd_member.node[%q]\n  id = %q\n}\n", m.Name, m.Name)
	}
	base := required + acctest.Access{Endpoints: c.Endpoints()}.ProviderConfig() +
		"variable \"image\" {\n  default = \"1\"\n}\nlocals {\n  nodes = {\n" + nodes.String() + "  }\n}\n" +
		"resource \"terraform_data\" \"machine\" {\n  for_each = local.nodes\n  triggers_replace = var.image\n}\n"
	members := "resource \"etcd_member\" \"node\" {\n  for_each = local.nodes\n  name = each.key\n  peer_urls = [each.value]\n  machine_id = terraform_data.machine[each.key].id\n  wait_until = \"announced\"\n}\n"
	w.Write("main.tf", base)
	w.Apply().MustSucceed()
	w.Write("main.tf", base+members+imports.String())
	w.Apply().MustSucceed()
	w.Write("main.tf", base+members)
	w.Plan().MustBeEmpty()

	w.Plan("-var=image=2").MustSay("This plan would endanger the cluster")
	machine, at := acctest.Address("terraform_data.machine", "infra1"), `etcd_member.node["infra1"]`
	w.Plan("-replace="+at).MustSay("Member infra1 would be replaced alone").
		MustContain(t, "Member infra1 would be replaced alone", "and replaces no machine", "terraform destroy -target='ADDRESS'")
	w.Write("main.tf", base+strings.Replace(members, "terraform_data.machine[each.key].id", `"vm-2"`, 1))
	for _, e := range w.Plan().MustFail().Errors() {
		e.MustContain(t, e.Summary, "to vm-2, which exists, and the member stays on its old machine")
	}
	mustBeMembers(t, c, "infra1", "infra2", "infra3")

	w.Write("main.tf", base+members)
	plan := w.Plan("-replace=" + machine)
	plan.MustDo(map[string]string{machine: "delete create", at: "delete create"})
	w.Apply("-replace=" + machine).MustSucceed()
	mustBeMembers(t, c, "? (learner)", "infra2", "infra3")
}
