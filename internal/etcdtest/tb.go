// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdtest

// TB is what the package needs of a test. *testing.T, *testing.B and
// *testing.F have it, and so has the [Scope] that [Run] gives to a program
// which is no test.
//
// As in package testing, Fatalf ends the calling goroutine; whatever takes a
// TB is therefore to be called from the test's own goroutine.
type TB interface {
	Helper()
	Name() string
	TempDir() string
	Logf(format string, args ...any)
	Fatalf(format string, args ...any)
	Failed() bool
	Cleanup(func())
}
