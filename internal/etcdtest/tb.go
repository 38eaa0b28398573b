// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdtest

// TB is the part of a test that this package uses. *testing.T, *testing.B and
// *testing.F implement it, and so does the [Scope] that [Run] passes to a
// program that is not a test.
//
// As in package testing, Fatalf ends the calling goroutine. Functions that take
// a TB must therefore be called from the goroutine of the test.
type TB interface {
	Helper()
	Name() string
	TempDir() string
	Logf(format string, args ...any)
	Fatalf(format string, args ...any)
	Failed() bool
	Cleanup(func())
}
