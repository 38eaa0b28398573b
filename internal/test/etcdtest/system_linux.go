// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdtest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// prepareCommand makes the kernel kill the process when this process ends for
// any reason. The signal is tied to the thread that starts the process, so this
// thread must live as long as the process; see [run.loop]. The process gets its
// own process group: an interrupt typed at a terminal does not end etcd before
// the test has seen it, and a script is ended together with its children.
func prepareCommand(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// ThreadsAre reports whether every thread of the process is in a state of /proc, or the
// process has ended.
func ThreadsAre(state byte, pid int) bool {
	stats, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil {
		return true
	}
	for _, path := range stats {
		stat, err := os.ReadFile(path) // #nosec G304 -- of the kernel's own
		if err != nil {
			continue // the thread has ended
		}
		// The state follows the name of the command, which is in parentheses
		// and can contain any character.
		if _, is, ok := bytes.Cut(stat[bytes.LastIndexByte(stat, ')')+1:], []byte(" ")); ok && len(is) > 0 && is[0] != state {
			return false
		}
	}
	return true
}

// Threads returns how often each thread of a process has run, and whether all of them sleep.
// Between two equal answers there was a moment at which all of them slept: none has run between
// the two looks at it.
func Threads(pid int) (ran string, asleep bool) {
	all, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	if err != nil || len(all) == 0 {
		return "", false
	}
	asleep = true
	for _, path := range all {
		status, err := os.ReadFile(path) // #nosec G304 -- of the kernel's own
		if err != nil {
			return "", false // the thread has ended
		}
		for line := range strings.Lines(string(status)) {
			switch name, value, _ := strings.Cut(line, ":"); name {
			case "State":
				asleep = asleep && strings.HasPrefix(value, "\tS")
			case "Pid", "voluntary_ctxt_switches", "nonvoluntary_ctxt_switches":
				ran += value
			}
		}
	}
	return ran, asleep
}

// reservePort reserves any port.
func reservePort(loopback string) (port int, release func(), err error) {
	family, address := syscall.AF_INET, syscall.Sockaddr(&syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})
	if loopback == "::1" {
		family, address = syscall.AF_INET6, &syscall.SockaddrInet6{Addr: [16]byte{15: 1}}
	}
	// Set close-on-exec at creation: a child that inherited the socket would
	// hold the port after the test.
	fd, err := syscall.Socket(family, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, nil, os.NewSyscallError("socket", err)
	}
	port, err = bindLoopback(fd, address)
	if err != nil {
		return 0, nil, errors.Join(err, syscall.Close(fd))
	}
	return port, func() { _ = syscall.Close(fd) }, nil
}

func bindLoopback(fd int, address syscall.Sockaddr) (int, error) {
	if err := syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); err != nil {
		return 0, os.NewSyscallError("setsockopt", err)
	}
	if err := syscall.Bind(fd, address); err != nil {
		return 0, os.NewSyscallError("bind", err)
	}
	addr, err := syscall.Getsockname(fd)
	if err != nil {
		return 0, os.NewSyscallError("getsockname", err)
	}
	switch addr := addr.(type) {
	case *syscall.SockaddrInet4:
		return addr.Port, nil
	case *syscall.SockaddrInet6:
		return addr.Port, nil
	default:
		return 0, fmt.Errorf("getsockname: %T is no IP address", addr)
	}
}
