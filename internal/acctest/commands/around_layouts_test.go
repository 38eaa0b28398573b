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
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// variant is a kind of cluster for the tests of the plan rules.
type variant struct {
	layout  layout
	size    int
	version etcdtest.Version
}

// String returns the name of a subtest.
func (v variant) String() string { return fmt.Sprintf("%s %d %s", v.layout, v.size, v.version) }

// variants returns the clusters for a test of the plan rules: three members on
// 3.6 in these layouts; with ETCD_TEST_FULL=1 three and five members in every
// layout, and three on 3.5 and 3.7.
func variants(short ...layout) []variant {
	if !etcdtest.Full() {
		var out []variant
		for _, l := range short {
			out = append(out, variant{l, 3, etcdtest.V36})
		}
		return out
	}
	out := []variant{{flat, 3, etcdtest.V35}, {flat, 3, etcdtest.V37}}
	for _, l := range []layout{flat, counted, moduleEach, dynamic} {
		out = append(out, variant{l, 3, etcdtest.V36}, variant{l, 5, etcdtest.V36})
	}
	return out
}

// counting rewrites a configuration with for_each for count.
var counting = strings.NewReplacer(
	"etcd_member_config.node[each.key]", "etcd_member_config.node[count.index]",
	"terraform_data.machine[each.key]", "terraform_data.machine[count.index]",
	"each.key", "local.keys[count.index]",
	"each.value", "var.nodes[local.keys[count.index]]",
)

// countedText returns the flat configuration with count = length(list). It has
// no learners, and either every node is a member or none is.
func countedText(tb testing.TB) string {
	tb.Helper()
	text, _, _ := strings.Cut(acctest.FleetText, "resource \"etcd_learner\"")
	text = substitute(tb, text, "= { for name, node in var.nodes : name => node if node.joins == \"member\" }\n",
		"= length([for name in local.keys : name if var.nodes[name].joins == \"member\"])\n")
	text = substitute(tb, text, "  for_each         = var.nodes\n", "  count            = length(local.keys)\n")
	text = substitute(tb, text, "  for_each = var.nodes\n", "  count = length(local.keys)\n")
	text = substitute(tb, text, "  for_each   = ", "  count      = ")
	return counting.Replace(text) + "\nlocals {\n  keys = sort(keys(var.nodes))\n}\n"
}

// dynamicText returns the flat configuration with machines that choose their
// own addresses: the configurations and the provider have no addresses, and the
// members read them from the machines.
func dynamicText(tb testing.TB) string {
	tb.Helper()
	text := substitute(tb, acctest.FleetText, `  peer_urls        = concat([each.value.peer], each.value.peers)
  client_urls      = concat([each.value.client], each.value.clients)
`, "  join_peer_urls   = flatten(etcd_discovery_token.this.members[*].peer_urls)\n")
	text = substitute(tb, text, "    sh  = var.machine_sh\n", "    sh  = var.machine_sh\n    peer = each.value.peer\n    client = each.value.client\n")
	text = substitute(tb, text, "          var.environment,\n", `          var.environment,
          {
            ETCD_LISTEN_CLIENT_URLS          = each.value.client
            ETCD_ADVERTISE_CLIENT_URLS       = each.value.client
            ETCD_LISTEN_PEER_URLS            = each.value.peer
            ETCD_INITIAL_ADVERTISE_PEER_URLS = each.value.peer
          },
`)
	const urls = "  peer_urls  = [terraform_data.machine[each.key].output.peer]\n  endpoints  = [" +
		"for name, node in var.nodes : terraform_data.machine[name].output.client if contains(var.founders, coalesce(node.name, name))]\n"
	for _, kind := range []string{"member", "learner"} {
		head := "  for_each   = { for name, node in var.nodes : name => node if node.joins == \"" + kind + "\" }\n"
		text = substitute(tb, text, head, head+urls)
	}
	return text
}

// substitute is [strings.Replace] for a text that must occur exactly once.
func substitute(tb testing.TB, text, was, now string) string {
	tb.Helper()
	if strings.Count(text, was) != 1 {
		tb.Fatalf("acctest: %d times in the configuration, want once: %s", strings.Count(text, was), was)
	}
	return strings.Replace(text, was, now, 1)
}

// addr returns the address of a resource of a node. resource has the format of
// [acctest.Address].
func (l *lab) addr(resource, key string) string {
	l.t.Helper()
	if l.in != counted {
		return l.in.address(resource, key)
	}
	if !strings.Contains(resource, ".") {
		resource += ".node"
	}
	keys := slices.Sorted(maps.Keys(l.Nodes))
	return fmt.Sprintf("%s[%d]", resource, slices.Index(keys, key))
}

// addrs is [lab.addr] for several nodes.
func (l *lab) addrs(resource string, keys ...string) []string {
	l.t.Helper()
	var out []string
	for _, key := range keys {
		out = append(out, l.addr(resource, key))
	}
	return out
}

// each returns an option for every address.
func each(option string, addresses ...string) []string {
	var out []string
	for _, a := range addresses {
		out = append(out, option+"="+a)
	}
	return out
}

// file returns the path of a file in the directory of the nodes' resources.
func (l *lab) file(name string) string {
	if l.in == moduleEach || l.in == moduleForEach {
		return filepath.Join("node", name)
	}
	return name
}

// beside writes a file to the directory of the nodes' resources. The text is
// written for the flat layout. An empty text removes the file.
func (l *lab) beside(name, text string) {
	l.t.Helper()
	if text == "" {
		if err := os.Remove(filepath.Join(l.Dir, l.file(name))); err != nil {
			l.t.Fatal(err)
		}
		return
	}
	if l.in == counted {
		text = counting.Replace(text)
	}
	l.Write(l.file(name), text)
}

// withoutMembers removes the block of etcd_member from the configuration until
// undo is called.
func (l *lab) withoutMembers() (undo func()) {
	l.t.Helper()
	main := l.file("main.tf")
	text := l.Read(main)
	before, rest, found := strings.Cut(text, "resource \"etcd_member\" \"node\"")
	_, after, ends := strings.Cut(rest, "\n}\n")
	if !found || !ends {
		l.t.Fatal("acctest: there is no block of etcd_member")
	}
	l.Write(main, before+after)
	return func() { l.Write(main, text) }
}
