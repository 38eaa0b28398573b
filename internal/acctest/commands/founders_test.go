// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package commands

import (
	"fmt"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// The first plan refuses configurations that contradict their bootstrap, although
// the token is unknown there, and each one separately, whatever else is planned.
func TestAccFoundersMisfit(t *testing.T) {
	t.Parallel()
	const text = `
resource "etcd_initial_cluster" "this" {
  members = { for i, name in ["a", "b", "c"] : name => ["https://10.255.1.1${i}:2380"] }
}
resource "etcd_member_config" "node" {
  for_each = %s
  name      = each.key
  address   = each.value
  bootstrap = etcd_initial_cluster.this.bootstrap
}
`
	w := configuration(t, acctest.Access{}, "")
	write := func(nodes string) { w.Write("nodes.tf", fmt.Sprintf(text, nodes)) }
	at := func(name string) string { return acctest.Address("etcd_member_config", name) }

	write(`{ a = "10.255.1.10", b = "10.255.1.99", etcd-c = "10.255.1.12", d = "10.255.1.13" }`)
	got := map[string]string{}
	for _, d := range w.Plan().MustFail().Errors() {
		got[d.Address] = d.Summary
	}
	want := map[string]string{at("b"): "Member b contradicts its bootstrap", at("etcd-c"): "Member etcd-c contradicts its bootstrap"}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
	// An initial member that is missing from the plan is not a mistake.
	write(`{ a = "10.255.1.10", b = "10.255.1.11", c = "10.255.1.12", d = "10.255.1.13" }`)
	w.Plan("-target=" + at("d")).MustDo(map[string]string{"etcd_initial_cluster.this": "create", at("d"): "create"})
	w.Plan().MustDo(map[string]string{"etcd_initial_cluster.this": "create", at("a"): "create", at("b"): "create", at("c"): "create", at("d"): "create"})
}

// A token in the cluster that it bootstraps, for example because a provider
// block has the endpoints of another one, is found before a machine is created.
func TestAccRegistryIsCluster(t *testing.T) {
	t.Parallel()
	c := etcdtest.Start(t, 1, etcdtest.Options{})
	w := configuration(t, acctest.Access{}, `
provider "etcd" {
  alias = "registry"
}
resource "etcd_discovery_token" "this" {
  provider = etcd.registry
  founders = ["a"]
}
resource "etcd_member_config" "a" {
  name      = "a"
  address   = "10.255.1.10"
  bootstrap = etcd_discovery_token.this.bootstrap
}
resource "terraform_data" "machine" {
  input = etcd_member_config.a.id
}
`)
	w.Env = append(w.Env, "ETCDCTL_ENDPOINTS="+c.Endpoints()[0])
	w.Trust(c.Endpoints()[0]) // the variable names it
	w.Apply().MustSay("The discovery token is in the cluster itself")
	w.Plan().MustSay("The discovery token is in the cluster itself")
}

// An initial member without a configuration looks like one that is planned
// later. The apply that fails because its cluster does not form names it.
func TestAccFounderMissing(t *testing.T) {
	t.Parallel()
	w := configuration(t, acctest.Access{Endpoints: []string{acctest.DeadEndpoint(t)}}, `
resource "etcd_initial_cluster" "this" {
  members = { etcd-a = ["https://10.255.1.10:2380"] }
}
resource "etcd_member_config" "a" {
  name      = "a"
  address   = "10.255.1.20"
  bootstrap = etcd_initial_cluster.this.bootstrap
}
resource "etcd_member" "a" {
  config     = etcd_member_config.a
  machine_id = "a"
  timeouts = {
    create = "3s"
  }
}
`)
	w.Apply().MustSay("Cannot add member a").MustContain(t, "Cannot add member a", "The cluster did not form in time", "This apply created no etcd_member_config named etcd-a.")
}
