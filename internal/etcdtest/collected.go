// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdtest

import (
	"runtime"
	"testing"
)

// Collected is the tests of a package whose goroutines are counted at the end,
// after the garbage has been collected: a provider that was served within the
// test has two goroutines that read from pipes, and go-plugin leaves the
// closing of those pipes to the collector.
type Collected struct{ *testing.M }

// Run runs the tests.
func (c Collected) Run() int {
	code := c.M.Run()
	runtime.GC()
	return code
}
