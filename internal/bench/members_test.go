// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package bench_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/bench"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

const membersText = `
terraform {
  required_providers {
    etcd = {
      source = "terraform-provider-etcd/etcd"
    }
  }
}

provider "etcd" {
  endpoints = %s
}

locals {
  nodes = %s
}

import {
  for_each = local.nodes
  to       = etcd_member.node[each.key]
  id       = each.key
}

resource "etcd_member" "node" {
  for_each  = local.nodes
  name      = each.key
  peer_urls = [each.value]
}
`

// nodesText is the same cluster with its nodes.
const nodesText = `
import {
  to = etcd_cluster.this
  id = %q
}

resource "etcd_cluster" "this" {
  members = { for name, url in local.nodes : name => { peer_urls = [url], client_urls = [local.clients[name]] } }
}

locals {
  clients = %s
}
`

const nodesOverride = `
resource "etcd_member" "node" {
  name       = null
  peer_urls  = null
  config     = etcd_cluster.this.node[each.key]
  machine_id = etcd_cluster.this.node[each.key].id
}
`

// measureMembers measures the refresh of all members of a cluster, compared
// with as many resources that send no requests, and with one member frozen. Then
// it measures the same with the nodes of the cluster.
func measureMembers(t *testing.T, c campaign) []bench.Row {
	n := 3
	if c.whole {
		n = 9
	}
	cl := etcdtest.Start(t, n, etcdtest.Options{})
	var nodes, clients, endpoints []string
	for _, p := range cl.Members() {
		nodes = append(nodes, fmt.Sprintf("%s = %q", p.Name, p.PeerURL()))
		clients = append(clients, fmt.Sprintf("%s = %q", p.Name, p.ClientURL()))
		endpoints = append(endpoints, fmt.Sprintf("%q", p.ClientURL()))
	}
	block := func(lines []string) string { return "{\n" + strings.Join(lines, "\n") + "\n}" }
	text := fmt.Sprintf(membersText, "["+strings.Join(endpoints, ", ")+"]", block(nodes))
	members, whole := acctest.NewWorkspace(t, acctest.WorkspaceOptions{}), acctest.NewWorkspace(t, acctest.WorkspaceOptions{})
	members.Write("main.tf", text)
	members.Apply().MustSucceed()
	whole.Write("main.tf", text)
	whole.Write("nodes.tf", fmt.Sprintf(nodesText, cl.ID(t), block(clients)))
	whole.Write("nodes_override.tf", nodesOverride)
	whole.Apply().MustSucceed()
	data := workspace(t, dataText, n, nil)

	var lists, calls, peak bench.Sample
	took := map[string]bench.Sample{}
	alive := side{here, func(t *testing.T) {
		before := requestsOfAll(t, cl)
		p, rss := planned(t, members)
		after := requestsOfAll(t, cl)
		took[here] = append(took[here], seconds(p.Took))
		lists, calls = append(lists, float64(after.lists-before.lists)), append(calls, float64(after.all-before.all))
		peak = append(peak, rss)
	}}
	turns(t, c.rounds(9), alive, side{"terraform_data", func(t *testing.T) {
		p, _ := planned(t, data)
		took["data"] = append(took["data"], seconds(p.Took))
	}}, side{"nodes", func(t *testing.T) {
		p, _ := planned(t, whole)
		took["nodes"] = append(took["nodes"], seconds(p.Took))
	}})
	refreshed := took[here]

	took[here] = nil
	victim := cl.Members()[n-1]
	if victim == cl.Leader(t) {
		victim = cl.Members()[0]
	}
	turns(t, c.rounds(5), side{"all alive", func(t *testing.T) {
		p, _ := planned(t, members)
		took["alive"] = append(took["alive"], seconds(p.Took))
	}}, side{"one frozen", func(t *testing.T) {
		victim.Freeze()
		defer func() {
			victim.Thaw()
			if err := cl.WaitHealthy(within(t, limit)); err != nil {
				t.Error(err)
			}
		}()
		p, _ := planned(t, members)
		took["frozen"] = append(took["frozen"], seconds(p.Took))
	}})
	const measure = "refresh"
	what := fmt.Sprintf("%d members", n)
	// One observation: the first list, and from each member a linearizable and a local one.
	observation := float64(1 + 2*n)
	return []bench.Row{
		{Measure: measure, Case: what, Unit: "s", Here: refreshed, Rival: "as many terraform_data", Against: took["data"], Goal: bench.Goal{Bound: bench.Ratio, Limit: 1.5}},
		{Measure: measure, Case: fmt.Sprintf("etcd_cluster with %d nodes and their members", n), Unit: "s", Here: took["nodes"], Rival: "the members alone", Against: refreshed},
		{Measure: measure, Case: what + ": list calls", Unit: "calls", Here: lists, Goal: bench.Goal{Bound: bench.Value, Limit: observation}},
		{Measure: measure, Case: what + ": requests of all kinds", Unit: "requests", Here: calls},
		{Measure: measure, Case: what + ": peak memory of the provider", Unit: "MB", Here: peak, Goal: bench.Goal{Bound: bench.Value, Limit: 80}},
		{Measure: "plan of a cluster", Case: what + ", one frozen", Unit: "s", Here: took["frozen"], Rival: "the same with all alive", Against: took["alive"],
			Goal: bench.Goal{Bound: bench.Excess, Limit: connection.DefaultRequestTimeout.Seconds()}},
	}
}

func requestsOfAll(t *testing.T, c *etcdtest.Cluster) served {
	t.Helper()
	var sum served
	for _, p := range c.Members() {
		one := requests(t, p)
		sum.all += one.all
		sum.lists += one.lists
	}
	return sum
}
