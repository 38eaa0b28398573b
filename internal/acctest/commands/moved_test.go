// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package commands

import (
	"fmt"
	"slices"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// joined returns an etcd_member or etcd_learner x whose process Terraform does
// not run.
func joined(resource, url, more string) string {
	return fmt.Sprintf("resource %q \"x\" {\n  name      = \"x\"\n  peer_urls = [%q]\n%s}\n", resource, url, more)
}

func moved(from, to string) string {
	return fmt.Sprintf("moved {\n  from = %s\n  to   = %s\n}\n", from, to)
}

// ownersOf returns the keys of the ownership records in a cluster.
func ownersOf(t *testing.T, c *etcdtest.Cluster) []string {
	t.Helper()
	ctx := etcdtest.WaitContext(t)
	const prefix = "/_terraform/etcd/"
	resp, err := c.Client(t).Get(ctx, prefix, clientv3.WithPrefix(), clientv3.WithKeysOnly())
	if err != nil {
		t.Fatal(err)
	}
	owners := []string{}
	for _, kv := range resp.Kvs {
		owners = append(owners, string(kv.Key[len(prefix):]))
	}
	return owners
}

// recordOf fails the test unless exactly these owners have records.
func recordOf(t *testing.T, c *etcdtest.Cluster, want ...string) {
	t.Helper()
	got := ownersOf(t, c)
	found := 0
	for _, key := range got {
		for _, owner := range want {
			if len(key) >= len(owner) && key[len(key)-len(owner):] == owner {
				found++
			}
		}
	}
	if len(got) != len(want) || found != len(want) {
		t.Errorf("on record: %q, want %q", got, want)
	}
}

// A learner that becomes a member through a moved block is promoted in place. One
// that becomes a learner stays a voter. The record belongs to the new owner.
func TestAccMovedWithoutConfiguration(t *testing.T) {
	t.Parallel()
	c := acctest.StartCluster(t, 1, etcdtest.Options{})
	access := acctest.Access{Endpoints: c.Endpoints()}
	p := c.AddLearner(t, "x")
	w := configuration(t, access, "")
	w.Trust(p.ClientURL())
	learner := joined("etcd_learner", p.PeerURL(), "")
	member := joined("etcd_member", p.PeerURL(), "")

	w.Write("main.tf", required+access.ProviderConfig()+learner)
	w.Run("import", "etcd_learner.x", "x").MustSucceed()
	w.Apply().MustSucceed()
	id := w.State("etcd_learner.x")["id"]

	w.Write("main.tf", required+access.ProviderConfig()+member+moved("etcd_learner.x", "etcd_member.x"))
	plan := w.Plan()
	plan.MustDo(map[string]string{"etcd_member.x": "update"})
	w.Apply().MustSucceed()
	if now := w.State("etcd_member.x"); now["id"] != id || now["role"] != "voter" || now["wait_until"] != "voting" {
		t.Errorf("after the move: %v", now)
	}
	recordOf(t, c, "name:x")
	w.Plan().MustBeEmpty()

	w.Write("main.tf", required+access.ProviderConfig()+joined("etcd_learner", p.PeerURL(), "  promote = true\n")+moved("etcd_member.x", "etcd_learner.x"))
	plan = w.Plan()
	plan.MustDo(map[string]string{"etcd_learner.x": "update"})
	plan.MustNotKnow("etcd_learner.x", "version")
	w.Apply().MustSucceed()
	if now := w.State("etcd_learner.x"); now["id"] != id || now["role"] != "voter" || now["promote"] != true {
		t.Errorf("after the move back: %v", now)
	}
	recordOf(t, c, "learner:x")
	w.Plan().MustBeEmpty()

	w.Destroy().MustSucceed().MustBeQuiet()
	recordOf(t, c)
	mustBeMembers(t, c, "infra1")
}

// A member that is moved and destroyed before an update leaves no record.
func TestAccMovedAndDestroyed(t *testing.T) {
	t.Parallel()
	c := acctest.StartCluster(t, 1, etcdtest.Options{})
	access := acctest.Access{Endpoints: c.Endpoints()}
	url := acctest.DeadEndpoint(t)
	const announced = "  wait_until = \"announced\"\n"
	for _, way := range [][2]string{{"etcd_learner", "etcd_member"}, {"etcd_member", "etcd_learner"}} {
		w := configuration(t, access, joined(way[0], url, announced))
		w.Apply().MustSucceed()
		owners := ownersOf(t, c)
		if len(owners) != 1 {
			t.Fatalf("on record: %q", owners)
		}
		w.Write("main.tf", required+access.ProviderConfig()+joined(way[1], url, announced)+moved(way[0]+".x", way[1]+".x"))
		w.Destroy().MustSucceed().MustBeQuiet()
		recordOf(t, c)
		mustBeMembers(t, c, "infra1")
	}
}

func mustBeMembers(t *testing.T, c *etcdtest.Cluster, want ...string) {
	t.Helper()
	ctx := etcdtest.WaitContext(t)
	list, err := c.Client(t).MemberList(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if got := acctest.Summary(list.Members); !slices.Equal(got, want) {
		t.Errorf("the members are %v, want %v", got, want)
	}
}

// With configuration and machine only the type changes: the record belongs to
// the configuration before and after.
func TestAccMovedWithConfiguration(t *testing.T) {
	t.Parallel()
	f := acctest.NewFleet(t, acctest.FleetOptions{Founders: []string{"a"}, Static: true})
	f.Form()
	f.Add("d")
	f.Nodes["d"].Joins = "learner"
	f.Apply().MustSucceed()
	f.MustList("a", "d (learner)")

	f.Nodes["d"].Joins = "member"
	f.Write("moved.tf", moved(acctest.Address("etcd_learner", "d"), acctest.Address("etcd_member", "d")))
	f.Plan().MustDo(map[string]string{acctest.Address("etcd_member", "d"): "update"})
	f.Apply().MustSucceed()
	f.MustVote("a", "d")
	f.Plan().MustBeEmpty()

	f.Nodes["d"].Joins, f.Nodes["d"].Promote = "learner", true
	f.Write("moved.tf", moved(acctest.Address("etcd_member", "d"), acctest.Address("etcd_learner", "d")))
	if plan := f.Plan(); plan.ExitCode == 1 {
		t.Fatal(plan)
	} else if action := plan.Actions()[acctest.Address("etcd_learner", "d")]; action != "" && action != "update" {
		t.Errorf("the plan is to %s", action)
	}
	f.Apply().MustSucceed()
	f.MustVote("a", "d")
	f.Plan().MustBeEmpty()
	owners := map[string]int{}
	for _, r := range f.Records() {
		owners[r.Name]++
	}
	if owners["d"] != 1 {
		t.Errorf("on record: %v", f.Records())
	}
	acctest.MustForgetLast(t, f.Destroy().MustSucceed(), "a", "d")
	f.MustBeGone()
}
