// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

// ownGroup gives the command its own process group: an interrupt typed at the
// terminal reaches it only once, from this process. Terraform would treat a
// second interrupt as an order to exit at once.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// endGroup kills the remaining processes in the group of an ended command.
func endGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGKILL) }

// alive reports whether a process runs. A process that has ended but was not
// yet reaped does not.
func alive(pid int) bool {
	if pid <= 0 || syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || !strings.Contains(string(stat), ") Z ")
}
