// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdtest

import (
	"fmt"
	"net"
	"strconv"
	"testing"
)

func TestReservedPortsAreDistinctAndCanBeServed(t *testing.T) {
	for loopback, reserve := range map[string]func(TB) int{"127.0.0.1": ReservePort, "::1": ReserveIPv6Port} {
		t.Run(loopback, func(t *testing.T) {
			seen := map[int]bool{}
			for range 200 {
				port := reserve(t)
				if seen[port] {
					t.Fatalf("port %d twice", port)
				}
				seen[port] = true
				// A server that restarts while a connection of the first one
				// still exists.
				for range 2 {
					l, err := net.Listen("tcp", net.JoinHostPort(loopback, strconv.Itoa(port)))
					noError(t, err)
					out, err := net.Dial("tcp", l.Addr().String())
					noError(t, err)
					in, err := l.Accept()
					noError(t, err)
					noError(t, l.Close())
					noError(t, in.Close()) // the server's side enters TIME_WAIT
					noError(t, out.Close())
				}
			}
		})
	}
}

func TestTwoPortsInARow(t *testing.T) {
	seen := map[int]bool{}
	for range 50 {
		first := ReserveTwoPorts(t)
		for _, port := range []int{first, first + 1} {
			if seen[port] {
				t.Fatalf("port %d twice", port)
			}
			seen[port] = true
			l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
			noError(t, err)
			noError(t, l.Close())
		}
	}
}

func TestReleasedPortIsFree(t *testing.T) {
	var port int
	noError(t, Run("inner", t.Logf, func(tb TB) { port = ReservePort(tb) }))
	l, err := (&net.ListenConfig{Control: exclusive}).Listen(WaitContext(t), "tcp4", fmt.Sprintf("127.0.0.1:%d", port))
	noError(t, err)
	noError(t, l.Close())
}
