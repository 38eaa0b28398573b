// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

//go:build unix

package etcdtest

import (
	"os"
	"syscall"
)

const (
	signalTerminate = syscall.SIGTERM
	signalKill      = syscall.SIGKILL
	signalFreeze    = syscall.SIGSTOP
	signalThaw      = syscall.SIGCONT
)

// signalGroup sends sig to the process group: the process and its children.
func signalGroup(process *os.Process, sig syscall.Signal) error {
	return syscall.Kill(-process.Pid, sig)
}
