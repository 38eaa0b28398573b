// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package simulated

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// mistakes are put into the code: in file, from becomes to. Each removes a rule of
// safety.md, and the tests that by names must fail then.
var mistakes = []struct{ name, file, from, to, by string }{
	{"two nodes are rebuilt in one plan", "membership/nodes.go", "due = slices.Delete(due, i, i+1)\n\t\t\tbreak", "due = slices.Delete(due, i, i+1)", "TestSearch"},
}

// TestMistakes puts each mistake into the code, with an overlay for that file. A test
// that names it must fail. It also fails if the text is no longer in the code, which the
// short run checks alone.
func TestMistakes(t *testing.T) {
	t.Parallel()
	for _, m := range mistakes {
		t.Run(m.name, func(t *testing.T) {
			overlay := filepath.Join(t.TempDir(), "overlay.json")
			plant(t, overlay, "../"+m.file, m.from, m.to)
			if !etcdtest.Full() {
				return
			}
			cmd := exec.CommandContext(t.Context(), "go", "test", "-vet=off", "-count=1", "-failfast", "-overlay="+overlay, "-run="+m.by, ".")
			cmd.Env = append(os.Environ(), "ETCD_TEST_FULL=")
			out, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(out), "--- FAIL: ") {
				t.Errorf("%s does not notice it: %v\n%s", m.by, err, out)
			}
		})
	}
}

// plant writes an overlay for the compiler, in which the text of a file is another one.
func plant(t *testing.T, overlay, file, from, to string) {
	t.Helper()
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(source), from); n != 1 {
		t.Fatalf("%s has %q %d times, want once", file, from, n)
	}
	mutated := strings.TrimSuffix(overlay, ".json") + ".go"
	if err := os.WriteFile(mutated, []byte(strings.Replace(string(source), from, to, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	path, err := filepath.Abs(file)
	if err != nil {
		t.Fatal(err)
	}
	list, err := json.Marshal(map[string]map[string]string{"Replace": {path: mutated}})
	if err == nil {
		err = os.WriteFile(overlay, list, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}
