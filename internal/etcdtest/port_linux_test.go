// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdtest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
	"testing"
)

// ipLocalPortRange is Linux's IP_LOCAL_PORT_RANGE (6.3), which package syscall
// lacks: the ports from which the kernel may choose for a socket.
const ipLocalPortRange = 51

// exclusive unsets the SO_REUSEADDR that package net sets.
func exclusive(_, _ string, raw syscall.RawConn) error { return setReuse(raw, 0) }

func setReuse(raw syscall.RawConn, value int) (err error) {
	ctlErr := raw.Control(func(fd uintptr) {
		err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_REUSEADDR, value)
	})
	return errors.Join(ctlErr, err)
}

// onlyPort restricts the choice of the kernel to that port.
func onlyPort(port int) func(_, _ string, raw syscall.RawConn) error {
	return func(_, _ string, raw syscall.RawConn) (err error) {
		ctlErr := raw.Control(func(fd uintptr) {
			err = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_IP, ipLocalPortRange, port<<16|port)
		})
		return errors.Join(ctlErr, err)
	}
}

// The reservation depends on this behaviour of the kernel: if it may choose
// only the reserved port, it chooses none, neither for a listener nor for an
// outgoing connection. It does choose a port that is not reserved.
func TestKernelGivesReservedPortToNobodyElse(t *testing.T) {
	server, err := net.Listen("tcp4", "127.0.0.1:0")
	noError(t, err)
	t.Cleanup(func() { _ = server.Close() })

	listen := func(ctx context.Context, port int) error {
		l, err := (&net.ListenConfig{Control: onlyPort(port)}).Listen(ctx, "tcp4", "127.0.0.1:0")
		if err != nil {
			return err
		}
		return errors.Join(expectPort(l.Addr(), port), l.Close())
	}
	dial := func(ctx context.Context, port int) error {
		conn, err := (&net.Dialer{Control: onlyPort(port)}).DialContext(ctx, "tcp4", server.Addr().String())
		if err != nil {
			return err
		}
		return errors.Join(expectPort(conn.LocalAddr(), port), conn.Close())
	}
	ctx := WaitContext(t)
	var free int
	noError(t, Run("inner", t.Logf, func(tb TB) { free = ReservePort(tb) }))
	if err := listen(ctx, free); errors.Is(err, syscall.ENOPROTOOPT) {
		guessReservedPort(t)
		return
	}
	noError(t, listen(ctx, free))
	noError(t, dial(ctx, free))

	port := ReservePort(t)
	if err := listen(ctx, port); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("a listener on any port, with only the reserved one to choose: %v", err)
	}
	if err := dial(ctx, port); !errors.Is(err, syscall.EADDRNOTAVAIL) {
		t.Errorf("an outgoing connection, with only the reserved port to choose: %v", err)
	}
	l, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", port))
	noError(t, err)
	noError(t, l.Close())
}

// guessReservedPort is for kernels before 6.3, where the choice cannot be
// restricted: none of many ports that the kernel gives out is a reserved one.
func guessReservedPort(t *testing.T) {
	t.Helper()
	reserved := map[int]bool{}
	for range 200 {
		reserved[ReservePort(t)] = true
	}
	for range 2000 {
		l, err := net.Listen("tcp4", "127.0.0.1:0")
		noError(t, err)
		t.Cleanup(func() { _ = l.Close() })
		if tcp, ok := l.Addr().(*net.TCPAddr); !ok || reserved[tcp.Port] {
			t.Fatalf("the kernel gave out the reserved port of %v", l.Addr())
		}
	}
}

func expectPort(addr net.Addr, port int) error {
	if tcp, ok := addr.(*net.TCPAddr); !ok || tcp.Port != port {
		return fmt.Errorf("%v instead of port %d", addr, port)
	}
	return nil
}
