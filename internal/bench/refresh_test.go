// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package bench_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/bench"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

const tokensText = `
resource "etcd_discovery_token" "this" {
  count = %d
  size  = 3
}
`

const dataText = `
resource "terraform_data" "this" {
  count = %d
  input = "token ${count.index}"
}
`

// builtIn is the rival of a refresh: resources of the CLI itself, which call no provider.
const builtIn = "as many terraform_data"

// measureRefresh measures the refresh of incomplete tokens, each of which sends requests.
func measureRefresh(t *testing.T, c campaign) (rows []bench.Row) {
	registry := etcdtest.Start(t, 1, etcdtest.Options{Names: []string{"registry"}})
	counts := []int{10}
	if c.whole {
		counts = []int{1, 10, 100, 1000}
	}
	for _, n := range counts {
		access := acctest.Access{Endpoints: registry.Endpoints()}
		tokens := applied(t, acctest.Required+access.ProviderConfig()+fmt.Sprintf(tokensText, n))
		took, builtInTook := c.refreshes(t, tokens, n)
		what := "1 token"
		if n > 1 {
			what = fmt.Sprintf("%d tokens", n)
		}
		rows = append(rows, refreshRow(what, took, builtInTook))
	}
	return rows
}

// measureMembers measures the refresh of a whole cluster.
func measureMembers(t *testing.T, c campaign) []bench.Row {
	n := 3
	if c.whole {
		n = 9
	}
	f := acctest.NewFleet(t, acctest.FleetOptions{Names: strings.Split("abcdefghi", "")[:n]})
	f.Form()
	took, builtInTook := c.refreshes(t, f.Workspace, n)
	return []bench.Row{refreshRow(bench.Members(n), took, builtInTook)}
}

func refreshRow(what string, took, builtInTook bench.Sample) bench.Row {
	return bench.Row{Measure: bench.Refresh, Case: what, Unit: "s", Here: took, Rival: builtIn, Against: builtInTook, Goal: bench.Goal{Bound: bench.Ratio, Limit: 1.5}}
}

// refreshes measures empty plans of a workspace and of n resources that are built in.
func (c campaign) refreshes(t *testing.T, w *acctest.Workspace, n int) (took, builtInTook bench.Sample) {
	t.Helper()
	data := applied(t, fmt.Sprintf(dataText, n))
	planned := func(w *acctest.Workspace, into *bench.Sample) func(*testing.T) {
		return func(*testing.T) {
			*into = append(*into, w.Run("plan", "-input=false", "-detailed-exitcode").MustSucceed().Took.Seconds())
		}
	}
	turns(t, c.rounds(9), side{here, planned(w, &took)}, side{builtIn, planned(data, &builtInTook)})
	return took, builtInTook
}

// applied returns a workspace with an applied configuration.
func applied(t *testing.T, text string) *acctest.Workspace {
	t.Helper()
	w := acctest.NewWorkspace(t, acctest.WorkspaceOptions{})
	w.Write("main.tf", text)
	w.Apply().MustSucceed()
	return w
}
