// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package commands

import (
	"encoding/json"
	"fmt"
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
		n.Listen = n.Client
		n.Client = fmt.Sprintf("http://10.255.0.%d:2379", name[0])
		out[n.Client] = "http://" + etcdtest.Proxy(f.TB, strings.TrimPrefix(n.Listen, "http://")).Addr()
	}
	return out
}

// useTunnels writes the provider block with this address map.
func useTunnels(f *acctest.Fleet, ways map[string]string) {
	f.TB.Helper()
	text, err := json.Marshal(ways)
	if err != nil {
		f.TB.Fatal(err)
	}
	f.Write("provider.tf", acctest.Access{Extra: "address_map = " + string(text)}.ProviderConfig())
}

// The client URLs of the cluster are unreachable from here. With a proxy for each member
// everything works. With the proxy of one for all, the error names the member that cannot
// be asked.
func TestAccTunnels(t *testing.T) {
	t.Parallel()
	f := acctest.NewFleet(t, acctest.FleetOptions{})
	ways := openTunnels(f, "a", "b", "c")
	useTunnels(f, ways)
	f.Form().MustBeQuiet()
	f.Settled()
	shared := map[string]string{}
	for advertised := range ways {
		shared[advertised] = ways[f.Nodes["a"].Client]
	}
	useTunnels(f, shared)
	f.Plan().MustBeEmpty()
	f.Drop("c")
	f.Apply().MustSay("Cannot remove member c", f.Nodes["b"].Client, "address_map")
}
