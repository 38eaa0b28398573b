// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package commands

import (
	"fmt"
	"maps"
	"strconv"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// One apply forms the first cluster without a discovery cluster. A fourth
// member joins it, although it is now among the initial members.
func TestAccInitialCluster(t *testing.T) {
	t.Parallel()
	for _, v := range etcdtest.Sample(etcdtest.V37) {
		t.Run(string(v), func(t *testing.T) {
			t.Parallel()
			f := acctest.NewFleet(t, acctest.FleetOptions{Version: v, Static: true})
			first := f.Plan()
			creates := map[string]string{acctest.InitialCluster: "create"}
			for _, name := range f.Founders {
				maps.Copy(creates, acctest.Changes(name, "create"))
			}
			first.MustDo(creates)
			first.MustNotKnow(acctest.InitialCluster, "bootstrap", "cluster_id", "cluster_token", "member_ids")
			f.Apply().MustSucceed().MustBeQuiet()
			f.MustVote("a", "b", "c")
			f.Plan().MustBeEmpty()
			made := f.State(acctest.InitialCluster)
			ids, ok := made["member_ids"].(map[string]any)
			for _, m := range f.Members("a") {
				if id := strconv.FormatUint(m.ID, 16); !ok || ids[m.Name] != id {
					t.Errorf("%s is %s, and was computed as %v", m.Name, id, ids[m.Name])
				}
			}
			if id := f.State(acctest.Address("etcd_member", "a"))["cluster_id"]; made["cluster_id"] != id {
				t.Errorf("the cluster is %v, and was computed as %v", id, made["cluster_id"])
			}

			f.Add("d")
			f.Founders = append(f.Founders, "d")
			f.Plan().MustDo(acctest.Changes("d", "create"))
			f.Apply().MustSucceed().MustBeQuiet()
			f.MustVote("a", "b", "c", "d")
			if founder := f.State(acctest.Address("etcd_member_config", "d"))["founder"]; founder != false {
				t.Errorf("founder of d is %v", founder)
			}
			now := f.State(acctest.InitialCluster)
			if now["complete"] != true || now["cluster_token"] != made["cluster_token"] || fmt.Sprint(now["members"]) != fmt.Sprint(made["members"]) {
				t.Errorf("%v became %v", made, now)
			}
			f.Plan().MustBeEmpty()

			f.Destroy().MustSucceed()
			f.MustBeGone()
		})
	}
}

// One of three initial members runs, and the others never do: no cluster forms.
// The provider cannot tell this from an unreachable cluster. It replaces
// nothing by itself and names the commands that start over with another token
// and new machines.
func TestAccInitialClusterThatDied(t *testing.T) {
	t.Parallel()
	f := acctest.NewFleet(t, acctest.FleetOptions{Static: true})
	good := f.Nodes["b"].Etcd
	f.Break("b")
	f.Break("c")
	for _, n := range f.Nodes {
		n.Create = "8s"
	}
	f.Apply().MustFail()
	token := f.State(acctest.InitialCluster)["cluster_token"]
	if f.Plan(); f.State(acctest.InitialCluster)["complete"] != false {
		t.Error("one founder of three formed a cluster")
	}
	f.Nodes["b"].Etcd = good
	f.Drop("c")
	f.Add("c")
	for _, n := range f.Nodes {
		n.Create = "10m"
	}
	machines := machineIDs(f)
	refused := f.Apply().MustSay("Cannot replace the initial cluster")
	if now := machineIDs(f); !maps.Equal(now, machines) {
		t.Errorf("the machines %v became %v", machines, now)
	}
	asPrinted(f, refused, "destroy -refresh=false", "")
	asPrinted(f, refused, "apply", "")
	f.MustVote("a", "b", "c")
	f.Plan().MustBeEmpty()
	if now := f.State(acctest.InitialCluster)["cluster_token"]; now == token {
		t.Error("the token of the cluster that did not form was handed out again")
	}
}
