// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package internal_test

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// decisions are the rules that DESIGN.md names.
var decisions = regexp.MustCompile("`((?:Decide|Judge|Plan|Identify|[cC]heck)[A-Za-z]*)`")

// Contributors read DESIGN.md first: it is short, and the rules that it names exist.
func TestDesign(t *testing.T) {
	t.Parallel()
	const limit = 200
	text, err := os.ReadFile("../DESIGN.md")
	must(t, err)
	if n := strings.Count(string(text), "\n"); n > limit {
		t.Errorf("DESIGN.md has %d lines, more than %d", n, limit)
	}
	rules, err := exec.CommandContext(t.Context(), "go", "doc", "-all", "-u", "./membership").Output()
	must(t, err)
	named := decisions.FindAllStringSubmatch(string(text), -1)
	for _, n := range named {
		if !strings.Contains(string(rules), "func "+n[1]+"(") {
			t.Errorf("DESIGN.md names %s, and package membership does not have it", n[1])
		}
	}
	if len(named) < 10 {
		t.Errorf("DESIGN.md names %d rules", len(named))
	}
}
