// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package commands

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
)

// layout is a way to write the nodes of a fleet.
type layout string

// These are the layouts.
const (
	// flat: each resource with for_each over all nodes.
	flat layout = "flat"
	// moduleForEach: one module block with for_each over all nodes.
	moduleForEach layout = "for_each module"
	// moduleEach: a module block for every node.
	moduleEach layout = "a module for each"
	// counted: each resource with count over the sorted names of the nodes.
	counted layout = "count"
	// dynamic: like flat, with addresses that only the machines know, and no
	// endpoints in the provider block.
	dynamic layout = "dynamic addresses"
)

// useLayout writes the configuration of the fleet in that layout. The module of
// the other layouts is the flat configuration with one node.
func useLayout(f *acctest.Fleet, l layout) {
	f.TB.Helper()
	switch l {
	case flat:
		return
	case counted:
		f.Write("main.tf", countedText(f.TB))
		return
	case dynamic:
		f.Write("main.tf", dynamicText(f.TB))
		f.Write("provider.tf", "provider \"etcd\" {}\n")
		return
	}
	at := strings.Index(acctest.FleetText, "resource \"etcd_member_config\"")
	head, resources := acctest.FleetText[:at], acctest.FleetText[at:]
	if err := os.Mkdir(filepath.Join(f.Dir, "node"), 0o755); err != nil {
		f.TB.Fatal(err)
	}
	const boot = "variable \"bootstrap\" {\n  type = any\n}\nlocals {\n  bootstrap = var.bootstrap\n}\n"
	f.Write("node/main.tf", head+boot+resources)
	known := map[string]bool{}
	f.Layout = func() {
		// The block of a removed node stays: without it, the local-exec that
		// shuts the machine down would be gone too.
		for name := range f.Nodes {
			known[name] = true
		}
		if l == moduleForEach {
			f.Write("main.tf", head+moduleBlock("node", "for_each = var.nodes", "{ (each.key) = each.value }"))
		} else {
			var blocks strings.Builder
			for _, name := range slices.Sorted(maps.Keys(known)) {
				blocks.WriteString(moduleBlock(name, "", fmt.Sprintf("{ for k, v in var.nodes : k => v if k == %q }", name)))
			}
			f.Write("main.tf", head+blocks.String())
		}
		f.Run("get").MustSucceed()
	}
}

func moduleBlock(name, meta, nodes string) string {
	return fmt.Sprintf(`
module %q {
  source      = "./node"
  %s
  nodes       = %s
  bootstrap   = local.bootstrap
  founders    = var.founders
  machines    = var.machines
  machine_sh  = var.machine_sh
  environment = var.environment
}
`, name, meta, nodes)
}

// address is [acctest.Address] for a layout.
func (l layout) address(resource, key string) string {
	switch l {
	case moduleForEach:
		return fmt.Sprintf("module.node[%q].%s", key, acctest.Address(resource, key))
	case moduleEach:
		return fmt.Sprintf("module.%s.%s", key, acctest.Address(resource, key))
	default:
		return acctest.Address(resource, key)
	}
}

// changes is [acctest.Changes] for a layout.
func (l layout) changes(action string, names ...string) map[string]string {
	out := map[string]string{}
	for _, name := range names {
		for _, resource := range []string{"etcd_member_config", "terraform_data.machine", "etcd_member"} {
			out[l.address(resource, name)] = action
		}
	}
	return out
}
