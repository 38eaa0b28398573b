// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdtest

import (
	"net"
	"sync/atomic"
)

// Trap listens on a port of host that must not receive connections. It closes
// each connection at once and counts it.
func Trap(tb TB, host string) (address string, connections *atomic.Int32) {
	tb.Helper()
	connections = &atomic.Int32{}
	l, err := net.Listen("tcp", host+":0")
	if err != nil {
		tb.Fatalf("etcdtest: a trap on %s: %v", host, err)
	}
	tb.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			connections.Add(1)
			_ = conn.Close()
		}
	}()
	return l.Addr().String(), connections
}
