// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package bench_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/bench"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

const tokensText = `
variable "n" {
  type = number
}

provider "etcd" {
  endpoints = [%q]
}

terraform {
  required_providers {
    etcd = {
      source = "terraform-provider-etcd/etcd"
    }
  }
}

resource "etcd_discovery_token" "this" {
  count = var.n
  size  = 3
}
`

const dataText = `
variable "n" {
  type = number
}

resource "terraform_data" "this" {
  count = var.n
  input = "token ${count.index}"
}
`

const bareText = `
variable "n" {
  type = number
}

terraform {
  required_providers {
    bare = {
      source = %q
    }
  }
}

resource "bare_%s" "this" {
  count = var.n
  input = "token ${count.index}"
}
`

// bareSource is the address of the installed bare provider.
const bareSource = "terraform-provider-etcd/bare"

// measureRefresh measures the refresh of incomplete tokens, each of which sends
// requests. It compares them with as many resources that send none: those of
// the CLI, which call no provider, and those of a bare framework provider,
// which cost only what the CLI and the framework need for as many calls.
func measureRefresh(t *testing.T, c campaign) []bench.Row {
	registry := etcdtest.Start(t, 1, etcdtest.Options{Names: []string{"registry"}})
	link := etcdtest.Proxy(t, strings.TrimPrefix(registry.Endpoints()[0], "http://"))
	counts := []int{10}
	if c.whole {
		counts = []int{1, 10, 100, 1000}
	}
	const measure = "refresh"
	var rows []bench.Row
	var memory bench.Row
	others := map[string]string{bareSource: buildBare(t)}
	for _, n := range counts {
		tokens := workspace(t, fmt.Sprintf(tokensText, "http://"+link.Addr()), n, nil)
		var calls, dials, peak bench.Sample
		took := map[string]bench.Sample{}
		sides := []side{{here, func(t *testing.T) {
			before, accepted := requests(t, registry.Members()[0]), link.Accepted()
			p, rss := planned(t, tokens)
			took[here] = append(took[here], seconds(p.Took))
			after := requests(t, registry.Members()[0])
			calls = append(calls, float64(after.all-before.all))
			dials = append(dials, float64(link.Accepted()-accepted))
			peak = append(peak, rss)
		}}}
		for _, rival := range []struct{ name, text string }{
			{"terraform_data", dataText},
			{"resources of a minimal provider", fmt.Sprintf(bareText, bareSource, "thing")},
			{"resources of a minimal provider with 15 attributes", fmt.Sprintf(bareText, bareSource, "wide")},
		} {
			w := workspace(t, rival.text, n, others)
			sides = append(sides, side{rival.name, func(t *testing.T) {
				p, _ := planned(t, w)
				took[rival.name] = append(took[rival.name], seconds(p.Took))
			}})
		}
		turns(t, c.rounds(9), sides...)
		what := strconv.Itoa(n) + " tokens"
		if n == 1 {
			what = "1 token"
		}
		for i, rival := range sides[1:] {
			row := bench.Row{Measure: measure, Case: what, Unit: "s", Here: took[here], Rival: "as many " + rival.name, Against: took[rival.name]}
			if i == 0 {
				row.Goal = bench.Goal{Bound: bench.Ratio, Limit: 1.5}
			}
			rows = append(rows, row)
		}
		rows = append(rows,
			bench.Row{Measure: measure, Case: what + ": requests", Unit: "requests", Here: calls},
			bench.Row{Measure: measure, Case: what + ": connections opened", Unit: "connections", Here: dials, Goal: bench.Goal{Bound: bench.Value, Limit: 1}})
		memory = bench.Row{Measure: measure, Case: what + ": peak memory of the provider", Unit: "MB", Here: peak, Goal: bench.Goal{Bound: bench.Value, Limit: 80}}
	}
	return append(rows, memory)
}

// workspace returns a workspace with an applied configuration of n resources.
func workspace(t *testing.T, text string, n int, others map[string]string) *acctest.Workspace {
	t.Helper()
	w := acctest.NewWorkspace(t, acctest.WorkspaceOptions{Others: others})
	w.Write("main.tf", text)
	w.Write("terraform.tfvars", fmt.Sprintf("n = %d\n", n))
	w.Apply().MustSucceed()
	return w
}

// planned runs a plan that must be empty. rss is the peak memory of its
// provider, in MB.
func planned(t *testing.T, w *acctest.Workspace) (o *acctest.Outcome, rss float64) {
	t.Helper()
	r := w.Begin("plan", "-input=false", "-detailed-exitcode")
	stop, done := make(chan struct{}), make(chan float64)
	go func() {
		most := 0.0
		// Do not poll more often: each poll lists all processes, on the same
		// processors. The values are peaks, so little is missed.
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for {
			for _, pid := range r.Providers() {
				most = max(most, residentMB(pid))
			}
			select {
			case <-tick.C:
			case <-stop:
				done <- most
				return
			}
		}
	}()
	o = r.Wait()
	close(stop)
	rss = <-done
	o.MustSucceed() // exit code 2 would mean a plan with changes
	return o, rss
}

// residentMB returns the peak memory of a process in MB, or 0 if it has ended.
// (Linux only.)
func residentMB(pid int) float64 {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kb, _ := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			return kb / 1000
		}
	}
	return 0
}

// served is the number of requests that a server has started to serve.
type served struct {
	all, lists int
}

var startedCalls = regexp.MustCompile(`(?m)^grpc_server_started_total\{.*grpc_method="([A-Za-z]+)".*\} ([0-9.e+]+)$`)

// requests reads the count from a server's metrics.
func requests(t *testing.T, p *etcdtest.Process) served {
	t.Helper()
	pool := &connection.Pool{}
	defer func() { _ = pool.Close() }()
	text, _, err := pool.Get(within(t, limit), connection.Settings{}, p.ClientURL(), "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	found := startedCalls.FindAllStringSubmatch(string(text), -1)
	if len(found) == 0 {
		t.Fatal("the metrics do not say how many requests were served")
	}
	var out served
	for _, f := range found {
		n, err := strconv.ParseFloat(f[2], 64)
		if err != nil {
			t.Fatal(err)
		}
		out.all += int(n)
		if f[1] == "MemberList" {
			out.lists += int(n)
		}
	}
	return out
}

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
			cl.WaitHealthy(t)
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
