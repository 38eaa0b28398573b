// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdtest

// ReservePort returns a TCP port of 127.0.0.1 that the kernel chose and does
// not give to another process until the test ends. A server can be started,
// stopped and started again on it.
//
// On Linux a bound socket that does not listen reserves the port for the test.
// It has SO_REUSEADDR, as the listeners of Go programs (etcd) have, so these
// can bind the port and listen. The kernel gives the port neither to processes
// that ask for any port nor to outgoing connections. A server without
// SO_REUSEADDR cannot use the port. On other systems another process can take it.
func ReservePort(tb TB) int { tb.Helper(); return reserve(tb, "127.0.0.1") }

// ReserveIPv6Port is [ReservePort] for a port of ::1. The same port of
// 127.0.0.1 is independent of it.
func ReserveIPv6Port(tb TB) int { tb.Helper(); return reserve(tb, "::1") }

// ReservePorts is [ReservePort] for n ports and a program that is not a test.
func ReservePorts(n int) (ports []int, release func(), err error) {
	var releases []func()
	release = func() {
		for _, f := range releases {
			f()
		}
	}
	for range n {
		port, one, err := reservePort("127.0.0.1")
		if err != nil {
			release()
			return nil, nil, err
		}
		ports, releases = append(ports, port), append(releases, one)
	}
	return ports, release, nil
}

func reserve(tb TB, loopback string) int {
	tb.Helper()
	port, release, err := reservePort(loopback)
	if err != nil {
		tb.Fatalf("etcdtest: no port of %s: %v", loopback, err)
	}
	tb.Cleanup(release)
	return port
}
