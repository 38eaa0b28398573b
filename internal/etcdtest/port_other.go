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
		port := l.Addr().(*net.TCPAddr).Port
		if err := l.Close(); err != nil {
			return 0, nil, err
		}
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
