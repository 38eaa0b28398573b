// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdtest

import (
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// TB is a test. Functions that take one can end the calling goroutine, and must therefore
// be called from the goroutine of the test.
type TB = testing.TB

func must(tb TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatalf("etcdtest: %v", err)
	}
}

// Skipper is the part of a test that [Need] uses.
type Skipper interface {
	Helper()
	Skipf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// Need returns the path of a program that the test requires. program is a name on
// PATH or the path of a file that make builds. If it is missing, Need skips the
// test and logs the reason. With CI set, Need fails the test instead, unless
// CI_MISSING (names separated by spaces) lists the program as not installable.
func Need(t Skipper, program string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err == nil {
		return path
	}
	if os.Getenv("CI") != "" && !slices.Contains(strings.Fields(os.Getenv("CI_MISSING")), program) {
		t.Fatalf("%v: this cannot be tested", err)
	}
	t.Skipf("needs %s: %v", program, err) // tools/count and tools/wanting read this
	return ""
}

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
