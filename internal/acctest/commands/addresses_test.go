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
		n.Listen = []string{n.Client}
		n.Client = fmt.Sprintf("http://10.255.0.%d:2379", name[0])
		out[n.Client] = "http://" + etcdtest.Proxy(f.TB, inside.Host).Addr()
	}
	return out
}

// useTunnels writes the provider block with this address map.
func useTunnels(f *acctest.Fleet, ways map[string]string) {
	f.TB.Helper()
	var b strings.Builder
	b.WriteString("provider \"etcd\" {\n  endpoints = [for node in values(var.nodes) : node.client]\n  address_map = {\n")
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
	f.Form()
	f.MustVote("a", "b", "c")
	f.Plan().MustBeEmpty()

	f.Add("d")
	maps.Copy(ways, openTunnels(f, "d"))
	useTunnels(f, ways)
	f.Plan().MustDo(flat.changes("create", "d"))
	f.Apply().MustSucceed().MustBeQuiet()
	f.MustVote("a", "b", "c", "d")
	f.Plan().MustBeEmpty()
	f.Drop("b")
	f.Apply().MustSucceed().MustBeQuiet()
	f.MustVote("a", "c", "d")

	t.Log("a load balancer that leads to any of them")
	delete(ways, "http://10.255.0.98:2379")
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
	balancer := etcdtest.Balance(t, behind...)
	shared("http://" + balancer.Addr())
	for range 3 { // whichever member answers for another one
		f.Plan().MustBeEmpty()
	}
	if balancer.Accepted() == 0 {
		t.Error("nobody came through the load balancer")
	}

	t.Log("and one that leads to a")
	shared(ways[f.Nodes["a"].Client])
	f.Plan().MustDo(map[string]string{})
	f.Drop("d")
	f.Plan().MustDo(flat.changes("delete", "d"))
	e := f.Apply().MustSay("Cannot remove member d")
	a := fmt.Sprintf("%x", f.MemberID("a"))
	c := fmt.Sprintf("c (%x)", f.MemberID("c"))
	e.MustContain(t, e.Summary, c, f.Nodes["c"].Client, a,
		"If the advertised client URLs cannot be dialled from here, or lead to a load balancer, map the URL of each member in the provider's address_map (https://registry.terraform.io/providers/terraform-provider-etcd/etcd/latest/docs/guides/bastions-and-load-balancers), then apply again.")
	f.MustList("a", "c", "d")

	useTunnels(f, ways)
	f.Apply().MustSucceed() // with the warning that two voters tolerate no failure
	f.MustVote("a", "c")
	f.Plan().MustBeEmpty()
}

// IPv6, host names, and several peer URLs and client URLs of one member, one of
// which is in a network that is unreachable from here.
func TestAccAddresses(t *testing.T) {
	t.Parallel()
	f := acctest.NewFleet(t, acctest.FleetOptions{})
	v6 := func() string { return fmt.Sprintf("http://[::1]:%d", etcdtest.ReserveIPv6Port(t)) }
	host := func() string { return fmt.Sprintf("http://localhost:%d", etcdtest.ReservePort(t)) }
	f.Nodes["a"].Peer, f.Nodes["a"].Client = v6(), v6()
	f.Nodes["b"].Peer, f.Nodes["b"].Client = host(), host()
	c := f.Nodes["c"]
	c.Peers, c.Clients = []string{v6()}, []string{host(), "http://10.255.0.99:2379"}
	c.Listen = []string{c.Client, c.Clients[0]}
	// With a password, a URL that is in no argument would not be asked.
	f.Write("provider_override.tf", fmt.Sprintf("provider \"etcd\" {\n  address_map = { %[1]q = %[1]q }\n}\n", c.Clients[0]))
	f.Form()
	f.MustVote("a", "b", "c")
	f.Plan().MustBeEmpty()
	f.Add("d")
	f.Nodes["d"].Peer, f.Nodes["d"].Client, f.Nodes["d"].Peers = v6(), v6(), []string{host()}
	f.Apply().MustSucceed().MustBeQuiet()
	f.MustVote("a", "b", "c", "d")
	f.Plan().MustBeEmpty()
	for name, n := range f.Nodes {
		for _, m := range f.Members() {
			if want := append([]string{n.Peer}, n.Peers...); m.Name == name && !sameSet(m.PeerURLs, want) {
				t.Errorf("the peer URLs of %s are %v, want %v", name, m.PeerURLs, want)
			}
			if want := append([]string{n.Client}, n.Clients...); m.Name == name && !sameSet(m.ClientURLs, want) {
				t.Errorf("the client URLs of %s are %v, want %v", name, m.ClientURLs, want)
			}
		}
	}

	t.Log("the same URLs, written differently")
	written := func(u string) string {
		return strings.NewReplacer("http:", "HTTP:", "localhost", "LocalHost", "[::1]", "[0:0:0:0:0:0:0:1]").Replace(u) + "/"
	}
	for _, n := range f.Nodes {
		n.Peer, n.Client = written(n.Peer), written(n.Client)
		for i := range n.Peers {
			n.Peers[i] = written(n.Peers[i])
		}
		if len(n.Peers) > 0 {
			n.Peer, n.Peers[0] = n.Peers[0], n.Peer
		}
	}
	f.Plan().MustBeEmpty()
	f.Drop("c")
	f.Apply().MustSucceed().MustBeQuiet()
	f.MustVote("a", "b", "d")
}

func sameSet(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}
