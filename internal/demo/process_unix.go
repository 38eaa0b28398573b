// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

//go:build unix

package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

// ownGroup gives the command a process group of its own: an interrupt typed at
// the terminal reaches it once, from here, and not a second time directly,
// which Terraform takes for an order to drop everything.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// endGroup kills what is left of the group of a command that has ended.
func endGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGKILL) }

// alive reports whether a process runs. One that has ended and only waits to
// be reaped does not.
func alive(pid int) bool {
	if pid <= 0 || syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || !strings.Contains(string(stat), ") Z ")
}
