// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package log_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestEventsAreDocumented checks that the guide for operators names every event, and
// that every event is a constant text, so that no line holds more than its facts.
func TestEventsAreDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "templates", "guides", "logs.md"))
	if err != nil {
		t.Fatal(err)
	}
	lines, event := 0, regexp.MustCompile(`\blog\.Debug\([^,]+, log\.\w+, (?:"([^"\\]+)"[,)])?`)
	err = filepath.WalkDir("..", func(file string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return err
		}
		source, err := os.ReadFile(file)
		if n := strings.Count(string(source), "log.Debug("); n != len(event.FindAll(source, -1)) {
			t.Errorf("%s: one of %d lines has no subject", file, n)
		}
		for _, found := range event.FindAllStringSubmatch(string(source), -1) {
			if lines++; found[1] == "" || !strings.Contains(string(page), "`"+found[1]+"`") {
				t.Errorf("%s: not a constant text, or the guide on logs does not have it: %s", file, found[0])
			}
		}
		return err
	})
	if err != nil || lines == 0 {
		t.Fatalf("%d lines, %v", lines, err)
	}
}
