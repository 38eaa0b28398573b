// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdtest

// ReservePort returns a TCP port of 127.0.0.1 that the kernel chose and that
// nobody else is given until the test ends, so that a server may be started,
// stopped and started again on it.
//
// On Linux a bound socket that does not listen keeps the port for the test's
// life. It has SO_REUSEADDR, as have the listeners of Go programs (etcd), so
// these may bind the port and listen, while the kernel gives it neither to
// someone who asks for any port nor to an outgoing connection. A server
// without SO_REUSEADDR cannot use the port. Elsewhere the port is only
// remembered within this process: another process may come first.
func ReservePort(tb TB) int { tb.Helper(); return reserve(tb, "127.0.0.1") }

// ReserveIPv6Port is [ReservePort] for a port of ::1. A port of the one address
// says nothing of the same port of the other.
func ReserveIPv6Port(tb TB) int { tb.Helper(); return reserve(tb, "::1") }

// ReserveTwoPorts is [ReservePort] for a port and the one after it, of which it
// returns the first: for configurations that compute the one from the other.
func ReserveTwoPorts(tb TB) int {
	tb.Helper()
	var err error
	for range 100 {
		first, release, failed := reservePort("127.0.0.1", 0)
		if failed != nil {
			tb.Fatalf("etcdtest: no port: %v", failed)
		}
		var also func()
		if _, also, err = reservePort("127.0.0.1", first+1); err == nil {
			tb.Cleanup(release)
			tb.Cleanup(also)
			return first
		}
		release()
	}
	tb.Fatalf("etcdtest: no two ports in a row: %v", err)
	return 0
}

func reserve(tb TB, loopback string) int {
	tb.Helper()
	port, release, err := reservePort(loopback, 0)
	if err != nil {
		tb.Fatalf("etcdtest: no port of %s: %v", loopback, err)
	}
	tb.Cleanup(release)
	return port
}
