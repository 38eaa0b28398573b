// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package cluster

import (
	"strings"
	"testing"
	"time"

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

func FuzzPeerTraffic(f *testing.F) {
	f.Add("etcd_network_peer_received_bytes_total{From=\"b\"} 1\n", "etcd_network_peer_sent_failures_total{To=\"b\"} 1e+06\n")
	f.Add("etcd_network_peer_sent_bytes_total{To=\"0\"} 9e999", "etcd_network_peer_sent_bytes_total{To=\"ffffffffffffffffff\"} .")
	f.Fuzz(func(t *testing.T, before, after string) {
		was, is := trafficOf([]byte(before)), trafficOf([]byte(after))
		now := time.Now()
		for id := range is {
			d := doubt{last: was[id]}
			active, settled := d.settle(is[id], now)
			if settled && (!active || is[id].received <= was[id].received) {
				t.Fatalf("one look settles %v after %v: active %v", is[id], was[id], active)
			}
			if settled {
				continue
			}
			if active, _ := d.settle(is[id], now.Add(listening)); active {
				t.Fatalf("it lives, and has said nothing: %v after %v", is[id], was[id])
			}
		}
	})
}
