// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdtest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
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

// Frozen reports whether every thread of the process has stopped or the process
// has ended. On a busy machine SIGSTOP takes time, and a thread that still runs
// can still answer.
func Frozen(pid int) bool {
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
		if _, state, ok := bytes.Cut(stat[bytes.LastIndexByte(stat, ')')+1:], []byte(" ")); ok && len(state) > 0 && state[0] != 'T' {
			return false
		}
	}
	return true
}
