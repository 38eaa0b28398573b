// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

//go:build unix && !linux

package etcdtest

import (
	"net"
	"os/exec"
	"syscall"
)

// prepareCommand gives the process its own process group. The Linux variant
// also ties the life of the process to this one.
func prepareCommand(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}

// ThreadsAre always returns true: this system does not show it.
func ThreadsAre(byte, int) bool { return true }

// Threads tells nothing: this system does not show it.
func Threads(int) (ran string, asleep bool) { return "", true }

// reservePort returns any free port. Other kernels do not let a listener bind the port of a
// bound socket, so nothing keeps the port for the test.
func reservePort(loopback string) (port int, release func(), err error) {
	l, err := net.Listen("tcp", net.JoinHostPort(loopback, "0"))
	if err != nil {
		return 0, nil, err
	}
	return l.Addr().(*net.TCPAddr).Port, func() {}, l.Close() //nolint:forcetypeassert // of a TCP listener
}
