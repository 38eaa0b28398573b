// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

//go:build !unix

package etcdtest

import (
	"os"
	"os/exec"
	"syscall"
)

// Without Unix signals a process can only be killed. The operating system
// refuses the other signals.
const (
	signalTerminate = syscall.SIGKILL
	signalKill      = syscall.SIGKILL
	signalFreeze    = syscall.Signal(-1)
	signalThaw      = syscall.Signal(-2)
)

func signalGroup(process *os.Process, sig syscall.Signal) error { return process.Signal(sig) }

func prepareCommand(*exec.Cmd) {}

// Frozen always returns true: this system does not show it. The signal was sent.
func Frozen(int) bool { return true }
