// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package commands

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// openTunnels gives nodes client addresses that cannot be dialled from here, as in
// a network behind a bastion. It returns a proxy URL for each advertised URL.
func openTunnels(f *acctest.Fleet, names ...string) map[string]string {
	f.TB.Helper()
	out := map[string]string{}
	for _, name := range names {
		n := f.Nodes[name]
		inside, err := url.Parse(n.Client)
		if err != nil {
			f.TB.Fatal(err)
		}
		n.Listen = n.Client
		n.Client = fmt.Sprintf("http://10.255.0.%d:2379", name[0])
		out[n.Client] = "http://" + etcdtest.Proxy(f.TB, inside.Host).Addr()
	}
	return out
}

// useTunnels writes the provider block with this address map.
func useTunnels(f *acctest.Fleet, ways map[string]string) {
	f.TB.Helper()
	var b strings.Builder
	b.WriteString("provider \"etcd\" {\n  address_map = {\n")
	for _, advertised := range slices.Sorted(maps.Keys(ways)) {
		fmt.Fprintf(&b, "    %q = %q\n", advertised, ways[advertised])
	}
	b.WriteString("  }\n}\n")
	f.Write("provider.tf", b.String())
}

// The client URLs of the cluster are unreachable from here. With a proxy for
// each member everything works. With the same proxy for all, the errors name
// the members that cannot be asked, and nothing is changed.
func TestAccTunnels(t *testing.T) {
	t.Parallel()
	f := acctest.NewFleet(t, acctest.FleetOptions{})
	ways := openTunnels(f, "a", "b", "c")
	useTunnels(f, ways)
	f.Form().MustBeQuiet()
	f.Settled()

	shared := func(way string) {
		all := map[string]string{}
		for advertised := range ways {
			all[advertised] = way
		}
		useTunnels(f, all)
	}
	var behind []string
	for _, way := range slices.Sorted(maps.Values(ways)) {
		behind = append(behind, strings.TrimPrefix(way, "http://"))
	}
	balancer := etcdtest.Proxy(t, behind...)
	shared("http://" + balancer.Addr())
	for range 3 { // whichever member answers for another one
		f.Plan().MustBeEmpty()
	}
	if balancer.Accepted() == 0 {
		t.Error("nothing came through the load balancer")
	}

	t.Log("a load balancer that leads to a only")
	shared(ways[f.Nodes["a"].Client])
	f.Plan().MustDo(map[string]string{})
	c := f.Nodes["c"]
	f.Drop("c")
	e := f.Apply().MustSay("Cannot remove member c")
	e.MustContain(t, e.Summary, f.Nodes["b"].Client, "address_map")

	f.Nodes["c"] = c
	useTunnels(f, ways)
	f.MustVote("a", "b", "c")
	f.Settled()
}
