// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdtest

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

func reservePort() (port int, release func(), err error) {
	// Close-on-exec from the start: a child that inherited the socket would
	// keep the port beyond the test.
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, nil, os.NewSyscallError("socket", err)
	}
	port, err = bindLoopback(fd)
	if err != nil {
		return 0, nil, errors.Join(err, syscall.Close(fd))
	}
	return port, func() { _ = syscall.Close(fd) }, nil
}

func bindLoopback(fd int) (int, error) {
	if err := syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); err != nil {
		return 0, os.NewSyscallError("setsockopt", err)
	}
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return 0, os.NewSyscallError("bind", err)
	}
	addr, err := syscall.Getsockname(fd)
	if err != nil {
		return 0, os.NewSyscallError("getsockname", err)
	}
	inet4, ok := addr.(*syscall.SockaddrInet4)
	if !ok {
		return 0, fmt.Errorf("getsockname: %T is no IPv4 address", addr)
	}
	return inet4.Port, nil
}
