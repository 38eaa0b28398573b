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

// prepareCommand makes the kernel kill the process when this one goes,
// whatever way that happens. The signal is tied to the thread that starts the
// process, which therefore must live as long as it; see [run.loop].
// A process group of its own keeps an interrupt typed at a terminal from
// ending etcd before the test has seen it, and lets a script be ended together
// with what it started.
func prepareCommand(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// frozen reports whether every thread of the process has stopped, or the
// process has gone. SIGSTOP takes its time where the processors are busy, and
// a thread that still runs may still answer.
func frozen(pid int) bool {
	stats, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil {
		return true
	}
	for _, path := range stats {
		stat, err := os.ReadFile(path) // #nosec G304 -- of the kernel's own
		if err != nil {
			continue // the thread has ended
		}
		// The state follows the command's name, which stands in parentheses
		// and may hold any character.
		if _, state, ok := bytes.Cut(stat[bytes.LastIndexByte(stat, ')')+1:], []byte(" ")); ok && len(state) > 0 && state[0] != 'T' {
			return false
		}
	}
	return true
}
