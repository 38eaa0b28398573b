// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package commands

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
)

// fiveNodes is what a user writes, with a machine as those of clouds, which prints its
// user data.
const fiveNodes = required + `
provider "etcd" {}

locals {
  nodes = { for i, name in split(" ", var.names) : name => { address = "127.0.0.${10 + i}" } }
}

variable "names" {
  default = "a b c d e"
}

resource "etcd_cluster" "this" {
  members                   = local.nodes
  version                   = "3.6.16"
  revision                  = { image = "one" }
  replace_unreachable_after = "10m"
}

resource "terraform_data" "machine" {
  for_each = local.nodes
  input = {
    image = etcd_cluster.this.node[each.key].revision.image
    user_data = provider::etcd::cloud_config(etcd_cluster.this.node[each.key], {
      etcd = { url = "https://releases.example.com/etcd.tar.gz", sha256 = "0000000000000000000000000000000000000000000000000000000000000000" }
    })
  }
}

resource "etcd_member" "node" {
  for_each   = local.nodes
  config     = etcd_cluster.this.node[each.key]
  machine_id = terraform_data.machine[each.key].id
}
`

// printed is the human-readable output of a plan.
type printed struct {
	tb    testing.TB
	name  string
	lines []string
}

func printPlan(tb testing.TB, w *acctest.Workspace, name string, args ...string) printed {
	tb.Helper()
	o := w.Run(append([]string{"plan", "-no-color", "-input=false"}, args...)...).MustSucceed()
	p := printed{tb, name, strings.Split(strings.TrimRight(string(o.Stdout)+string(o.Stderr), "\n"), "\n")}
	tb.Logf("%s: %d lines", name, len(p.lines))
	return p
}

// mustHaveAtMost fails the test if there are more lines.
func (p printed) mustHaveAtMost(limit int) {
	p.tb.Helper()
	if len(p.lines) > limit {
		p.tb.Errorf("%s: the plan has %d lines, want at most %d:\n%s", p.name, len(p.lines), limit, strings.Join(p.lines, "\n"))
	}
}

// mustShow fails the test unless lines match the expressions, in this order.
func (p printed) mustShow(expressions ...string) {
	p.tb.Helper()
	rest := p.lines
	for _, e := range expressions {
		i := slices.IndexFunc(rest, regexp.MustCompile(e).MatchString)
		if i < 0 {
			p.tb.Errorf("%s: no line matches %q where it should:\n%s", p.name, e, strings.Join(p.lines, "\n"))
			return
		}
		rest = rest[i+1:]
	}
}

// A plan is readable: it shows names, addresses and what is next in the queue, but no
// long text for each node.
func TestAccPlansAreReadable(t *testing.T) {
	t.Parallel()
	f := acctest.NewFleet(t, acctest.FleetOptions{Names: strings.Fields("a b c d e")})
	f.Form()
	w := acctest.NewWorkspace(t, acctest.WorkspaceOptions{Mirror: true})
	w.Write("main.tf", fiveNodes)
	w.Init()
	p := printPlan(t, w, "five new nodes")
	p.mustHaveAtMost(250)
	p.mustShow(`# etcd_cluster\.this will be created`, `"127\.0\.0\.14"`, `# etcd_member\.node\["e"\] will be created`)

	f.Settled()
	f.Image = "two"
	f.Save()
	p = printPlan(t, f.Workspace, "one node is replaced")
	p.mustHaveAtMost(155)
	p.mustShow(`# etcd_cluster\.this will be updated in-place`, `~ "a" += \{`, `"image" = "one" -> "two"`, `~ pending +=`, `\+ "b"`, `\+ "e"`, `# etcd_member\.node\["a"\] must be replaced`)
	f.Image = "one"
	f.Add("f")
	f.Save()
	p = printPlan(t, f.Workspace, "one node joins")
	p.mustHaveAtMost(130)
	p.mustShow(`# etcd_cluster\.this will be updated in-place`, regexp.QuoteMeta(f.Nodes["f"].Client), `# etcd_member\.node\["f"\] will be created`)
	f.Drop("f", "e")
	f.Save()
	printPlan(t, f.Workspace, "one node is removed").mustHaveAtMost(170)
}
