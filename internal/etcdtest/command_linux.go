// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdtest

import (
	"os/exec"
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
