// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

//go:build unix && !linux

package etcdtest

import (
	"os/exec"
	"syscall"
)

// prepareCommand gives the process its own process group. The Linux variant
// also ties the life of the process to this one.
func prepareCommand(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}

// Frozen always returns true: this system does not show it. The signal was sent.
func Frozen(int) bool { return true }
