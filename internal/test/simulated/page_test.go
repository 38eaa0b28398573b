// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package simulated

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/must"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/scenario"
)

// TestPage holds the table of the steps on the page of package scenario to the steps. UPDATE=1
// rewrites it.
func TestPage(t *testing.T) {
	t.Parallel()
	const page, mark = "../scenario/README.md", "<!-- made by TestPage -->\n"
	text := must.Read(t, page)
	before, _, _ := strings.Cut(text, mark)
	if want := before + mark + stepTables(); text != want {
		if os.Getenv("UPDATE") == "" {
			t.Error("the steps have changed: run UPDATE=1 go test ./internal/test/simulated -run '^TestPage$'")
			return
		}
		must.Succeed(t, os.WriteFile(page, []byte(want), 0o600))
	}
}

// TestPageExamples runs the scenarios of the page.
func TestPageExamples(t *testing.T) {
	t.Parallel()
	examples := ""
	for i, block := range strings.Split(must.Read(t, "../scenario/README.md"), "```") {
		if text := strings.TrimSpace(block); i%2 == 1 && strings.HasPrefix(text, "== ") {
			examples += text + "\n"
		}
	}
	file := filepath.Join(t.TempDir(), "examples.txt")
	must.Write(t, file, examples)
	all := scenario.Read(t, file)
	if len(all) < 3 {
		t.Errorf("the page has %d scenarios", len(all))
	}
	for _, c := range all {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			runScenario(t, c, "", nil)
		})
	}
}

func stepTables() string {
	var b strings.Builder
	for _, kind := range stepKinds() {
		fmt.Fprintf(&b, "\n### %s\n\n| Step | What it is |\n|---|---|\n", kind.title)
		for _, verb := range slices.Sorted(maps.Keys(kind.steps)) {
			s := kind.steps[verb]
			usage := strings.ReplaceAll(strings.TrimSpace(verb+" "+s.args), "|", "\\|")
			fmt.Fprintf(&b, "| `%s` | %s |\n", usage, strings.ReplaceAll(s.does, "|", "\\|"))
		}
	}
	return b.String()
}
