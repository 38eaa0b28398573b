// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdtest

import (
	"os"
	"os/exec"
	"slices"
	"strings"
)

// Skipper is what [Need] needs of a test.
type Skipper interface {
	Helper()
	Skipf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// Need returns the path of a program without which a test can test nothing: one
// on PATH, or a path to what make builds. Where it is missing the test is
// skipped, and says so. With CI set that is a failure, unless CI_MISSING (names
// with spaces between them) says that it could not be installed.
func Need(t Skipper, program string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err == nil {
		return path
	}
	if os.Getenv("CI") != "" && !slices.Contains(strings.Fields(os.Getenv("CI_MISSING")), program) {
		t.Fatalf("%v: this cannot be tested", err)
	}
	t.Skipf("%v", err)
	return ""
}
