// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

//go:build unix

package etcdtest

import (
	"os"
	"syscall"
)

var (
	signalTerminate os.Signal = syscall.SIGTERM
	signalKill      os.Signal = syscall.SIGKILL
	signalFreeze    os.Signal = syscall.SIGSTOP
	signalThaw      os.Signal = syscall.SIGCONT
)

// signalGroup sends sig to the process and to all that it started.
func signalGroup(process *os.Process, sig os.Signal) error {
	return syscall.Kill(-process.Pid, sig.(syscall.Signal))
}
