// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// Test that every guide that a text names exists.
func TestGuidesExist(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile(`guides \+ ?"([a-z-]+)|guides\+"([a-z-]+)`)
	count := 0
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range named.FindAllStringSubmatch(string(source), -1) {
			count++
			if pages, err := filepath.Glob("../../templates/guides/" + found[1] + found[2] + ".md*"); err != nil || len(pages) != 1 {
				t.Errorf("%s names the guide %s%s, which is %d pages, %v", file, found[1], found[2], len(pages), err)
			}
		}
	}
	if count < 4 {
		t.Errorf("only %d guides are named", count)
	}
}
