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
const fiveNodes = acctest.Required + `
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

// prints fails the test unless the human-readable output of a plan has at most so many
// lines, and lines that match the expressions, in this order.
func prints(tb testing.TB, w *acctest.Workspace, limit int, expressions ...string) {
	tb.Helper()
	o := w.Run("plan", "-no-color", "-input=false").MustSucceed()
	text := strings.TrimRight(string(o.Stdout)+string(o.Stderr), "\n")
	lines := strings.Split(text, "\n")
	tb.Logf("%d lines", len(lines))
	if len(lines) > limit {
		tb.Errorf("the plan has %d lines, want at most %d:\n%s", len(lines), limit, text)
	}
	for _, e := range expressions {
		i := slices.IndexFunc(lines, regexp.MustCompile(e).MatchString)
		if i < 0 {
			tb.Fatalf("no line matches %q where it should:\n%s", e, text)
		}
		lines = lines[i+1:]
	}
}

// A plan is readable: it shows names, addresses and what is next in the queue, but no
// long text for each node.
func TestAccPlansAreReadable(t *testing.T) {
	t.Parallel()
	w := acctest.NewWorkspace(t, acctest.WorkspaceOptions{Mirror: true})
	w.Write("main.tf", fiveNodes)
	w.Init()
	prints(t, w, 250, `# etcd_cluster\.this will be created`, `"127\.0\.0\.14"`, `# etcd_member\.node\["e"\] will be created`)

	f := acctest.NewFleet(t, acctest.FleetOptions{})
	f.Form()
	f.Settled()
	f.Image = "two"
	f.Save()
	prints(t, f.Workspace, 155, `# etcd_cluster\.this will be updated in-place`, `~ "a" += \{`, `"image" = "one" -> "two"`, `~ pending +=`, `\+ "b"`, `\+ "c"`, `# etcd_member\.node\["a"\] must be replaced`)
	f.Image = "one"
	f.Add("d")
	f.Save()
	prints(t, f.Workspace, 130, `# etcd_cluster\.this will be updated in-place`, regexp.QuoteMeta(f.Nodes["d"].Client), `# etcd_member\.node\["d"\] will be created`)
	f.Drop("d", "c")
	f.Save()
	prints(t, f.Workspace, 170)
}
