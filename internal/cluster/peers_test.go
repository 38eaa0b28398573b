// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package cluster

import (
	"context"
	"maps"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

func TestActivePeers(t *testing.T) {
	metrics := []byte(`# HELP etcd_network_active_peers The current number of active peer connections.
# TYPE etcd_network_active_peers gauge
etcd_network_active_peers{Local="a1",Remote="b2"} 1
etcd_network_active_peers{Local="a1",Remote="c3"} 0
etcd_network_active_peers{Local="d4",Remote="e5"} 1
etcd_network_active_peers{Local="x",Remote="e5"} 1
etcd_network_known_peers{Local="a1",Remote="f6"} 1
`)
	got := activePeers(metrics, 0xa1)
	if want := map[membership.MemberID]bool{0xb2: true, 0xc3: false}; !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// The leader is a second witness of who is gone, on every version, and with
// mutual TLS.
func TestPeersOfTheLeader(t *testing.T) {
	for _, v := range etcdtest.Versions() {
		t.Run(string(v), func(t *testing.T) {
			t.Parallel()
			opts := etcdtest.Options{Version: v}
			if v == etcdtest.V37 {
				opts.TLS = etcdtest.NewPKI(t)
			}
			b := etcdtest.Start(t, 3, opts)
			s := settings(b.Endpoints()...)
			if opts.TLS != nil {
				s.TLS = opts.TLS.ClientConfig(opts.TLS.Client("root"))
			}
			c := clientFor(t, s)
			snap := observe(t, c)
			leader, _, _ := snap.MajorityLeader()
			victim := b.Members()[0]
			if victim == b.Leader(t) {
				victim = b.Members()[1]
			}
			id := membership.MemberID(b.MemberID(t, victim))
			ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
			defer cancel()
			wait := func(active bool) {
				for {
					peers, err := c.Peers(ctx, leader)
					if seen, known := peers[id]; err == nil && known && seen == active {
						return
					}
					if ctx.Err() != nil {
						t.Fatalf("never saw %s active=%v: %v, %v", id, active, peers, err)
					}
					time.Sleep(50 * time.Millisecond)
				}
			}
			wait(true)
			victim.Kill()
			wait(false)
		})
	}
}
