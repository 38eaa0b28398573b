// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

//go:build !linux

package etcdtest

import (
	"fmt"
	"net"
	"sync"
)

// reserved holds the ports given out by this process and not yet released.
// Other kernels do not let a listener bind beside a bound socket, so the port
// has to be let go before the server starts.
var reserved = struct {
	sync.Mutex
	ports map[int]bool
}{ports: map[int]bool{}}

func reservePort() (port int, release func(), err error) {
	reserved.Lock()
	defer reserved.Unlock()
	for range 100 {
		l, err := net.Listen("tcp4", "127.0.0.1:0")
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
		port := addr.Port
		if reserved.ports[port] {
			continue
		}
		reserved.ports[port] = true
		return port, func() {
			reserved.Lock()
			defer reserved.Unlock()
			delete(reserved.ports, port)
		}, nil
	}
	return 0, nil, fmt.Errorf("the kernel offered only ports that are reserved already")
}
