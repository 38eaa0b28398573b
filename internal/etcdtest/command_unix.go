// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

//go:build unix && !linux

package etcdtest

import (
	"os/exec"
	"syscall"
)

// prepareCommand gives the process a group of its own; see the Linux variant,
// which also ties its life to this process.
func prepareCommand(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}

// frozen cannot be told here; the signal has been sent.
func frozen(int) bool { return true }
