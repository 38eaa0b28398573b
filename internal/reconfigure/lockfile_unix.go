// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

//go:build unix

package reconfigure

import (
	"os"
	"syscall"
)

// removesOpen is true if open files can be renamed and removed.
const removesOpen = true

// lockFile locks a file until it is closed, and reports whether it succeeded.
// With wait it waits for a process that tests whether the file is locked.
func lockFile(file *os.File, wait bool) bool {
	how := syscall.LOCK_EX
	if !wait {
		how |= syscall.LOCK_NB
	}
	return syscall.Flock(int(file.Fd()), how) == nil
}
