// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package must ends a test at what it cannot go on without.
package must

import (
	"os"
	"testing"
)

// Succeed ends the test with an error.
func Succeed(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// Read returns the text of a file.
func Read(tb testing.TB, file string) string {
	tb.Helper()
	text, err := os.ReadFile(file)
	Succeed(tb, err)
	return string(text)
}

// Write writes a file.
func Write(tb testing.TB, file, text string) {
	tb.Helper()
	Succeed(tb, os.WriteFile(file, []byte(text), 0o600))
}

// BeGolden compares a text with a file below testdata. UPDATE=1 rewrites the file.
func BeGolden(tb testing.TB, file, got string) {
	tb.Helper()
	if os.Getenv("UPDATE") != "" {
		Write(tb, file, got)
	}
	if Read(tb, file) != got {
		tb.Errorf("the text differs from %s. If it should, run with UPDATE=1 and read the difference.\n%s", file, got)
	}
}
