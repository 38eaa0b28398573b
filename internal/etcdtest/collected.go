// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdtest

import (
	"runtime"
	"testing"
)

// Collected runs the garbage collector after the tests of a package and before
// their goroutines are counted. A provider that was served within a test has
// two goroutines that read from pipes, and go-plugin leaves it to the collector
// to close those pipes.
type Collected struct{ *testing.M }

// Run runs the tests.
func (c Collected) Run() int {
	code := c.M.Run()
	runtime.GC()
	return code
}
