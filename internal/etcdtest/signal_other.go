// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

//go:build !unix

package etcdtest

import (
	"os"
	"os/exec"
	"syscall"
)

// Without Unix signals a process can only be ended; the other signals are
// refused by the operating system.
const (
	signalTerminate = syscall.SIGKILL
	signalKill      = syscall.SIGKILL
	signalFreeze    = syscall.Signal(-1)
	signalThaw      = syscall.Signal(-2)
)

func signalGroup(process *os.Process, sig syscall.Signal) error { return process.Signal(sig) }

func prepareCommand(*exec.Cmd) {}

// frozen cannot be told here; the signal has been sent.
func frozen(int) bool { return true }
