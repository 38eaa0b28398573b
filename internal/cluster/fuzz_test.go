// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package cluster

import (
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

func FuzzActivePeers(f *testing.F) {
	f.Add("etcd_network_active_peers{Local=\"a\",Remote=\"b\"} 1\n", uint64(10))
	f.Add("etcd_network_active_peers{Local=\"a\",Remote=\"ffffffffffffffffff\"} 1", uint64(10))
	f.Add("# HELP\n\x00\n"+strings.Repeat("x", 70000), uint64(1))
	f.Fuzz(func(t *testing.T, metrics string, of uint64) {
		for remote := range activePeers([]byte(metrics), membership.MemberID(of)) {
			if !strings.Contains(metrics, "Local=\"") || remote == 0 && !strings.Contains(metrics, "Remote=\"0") {
				t.Fatalf("%s is a peer according to %q", remote, metrics)
			}
		}
	})
}
