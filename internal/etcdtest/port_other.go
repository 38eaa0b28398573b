// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

//go:build !linux

package etcdtest

import (
	"fmt"
	"net"
	"sync"
)

// reserved holds the ports that this process has given out and not yet
// released. Other kernels do not let a listener bind the port of a bound
// socket, so the port must be released before the server starts.
var reserved = struct {
	sync.Mutex
	ports map[string]bool
}{ports: map[string]bool{}}

// reservePort reserves any port.
func reservePort(loopback string) (port int, release func(), err error) {
	reserved.Lock()
	defer reserved.Unlock()
	for range 100 {
		l, err := net.Listen("tcp", net.JoinHostPort(loopback, "0"))
		if err != nil {
			return 0, nil, err
		}
		if err := l.Close(); err != nil {
			return 0, nil, err
		}
		addr, ok := l.Addr().(*net.TCPAddr)
		if !ok {
			return 0, nil, fmt.Errorf("%v is no address of TCP", l.Addr())
		}
		key := addr.String()
		if reserved.ports[key] {
			continue
		}
		reserved.ports[key] = true
		return addr.Port, func() {
			reserved.Lock()
			defer reserved.Unlock()
			delete(reserved.ports, key)
		}, nil
	}
	return 0, nil, fmt.Errorf("the kernel offered only ports that are reserved already")
}
