// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"os"
	"time"
)

// parentPoll is how often the parent is looked for. The look is one system
// call.
const parentPoll = 250 * time.Millisecond

// orphaned calls f once this process has lost its parent, unless stop is closed
// before. A CLI that is killed tells its providers nothing, and nobody will
// ever take what they still do into a state; but their locks would be renewed
// until the last wait is over, and keep the next run from its work. (Where
// processes keep the number of a parent that is gone, as on Windows, that is
// so.)
func orphaned(stop <-chan struct{}, f func()) {
	parent := os.Getppid()
	tick := time.NewTicker(parentPoll)
	defer tick.Stop()
	for os.Getppid() == parent {
		select {
		case <-stop:
			return
		case <-tick.C:
		}
	}
	f()
}
