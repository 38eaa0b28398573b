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

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/must"
)

// mistake is put into the code: in file, from becomes to. The tests that by names must fail
// then.
type mistake struct {
	name, file, from, to, by string
	searched                 bool // the search finds it within 2,000 commands, and prints it as a scenario
}

// mistakes reads testdata/mistakes.txt. Its first lines say what the others mean.
func mistakes(t *testing.T) (out []mistake) {
	t.Helper()
	for _, stanza := range strings.Split(must.Read(t, "testdata/mistakes.txt"), "\n\n")[1:] {
		var m mistake
		for line := range strings.SplitSeq(strings.TrimSuffix(stanza, "\n"), "\n") {
			switch sign, text, _ := strings.Cut(line, " "); sign {
			case "mistake:":
				m.name = text
			case "file:":
				m.file = text
			case "by:":
				m.by = text
			case "searched":
				m.searched = true
			case "-":
				m.from += text + "\n"
			case "+":
				m.to += text + "\n"
			default:
				t.Fatalf("%q is no line of a mistake", line)
			}
		}
		m.from, m.to = strings.TrimSuffix(m.from, "\n"), strings.TrimSuffix(m.to, "\n")
		out = append(out, m)
	}
	return out
}

// Each mistake is still one that the code can have.
func TestMistakesFit(t *testing.T) {
	t.Parallel()
	for _, m := range mistakes(t) {
		plant(t, filepath.Join(t.TempDir(), "overlay.json"), "../../"+m.file, m.from, m.to)
	}
}

// TestMistakes puts each mistake into the code, with an overlay for that file. The tests
// of the short run that it names must fail.
func TestMistakes(t *testing.T) {
	if !etcdtest.Full() {
		t.Skip("it compiles this package for each mistake: run make test-full")
	}
	for _, m := range mistakes(t) {
		t.Run(m.name, func(t *testing.T) {
			dir, by, elsewhere := strings.Cut(m.by, " ")
			if !elsewhere {
				dir, by = ".", m.by
			}
			if out, failed := m.run(t, dir, by); !failed {
				t.Errorf("%s does not notice it:\n%s", m.by, out)
			}
		})
	}
}

// TestSearchFinds puts the mistakes that are searched into the code. The scenario that the search
// prints then fails 20 times of 20.
func TestSearchFinds(t *testing.T) {
	if !etcdtest.Full() {
		t.Skip("it compiles this package for each mistake: run make test-full")
	}
	for _, m := range mistakes(t) {
		if !m.searched {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			out, failed := m.run(t, ".", "^TestSearch$/seed/^[0-7]?[0-9]$")
			_, found, printed := strings.Cut(out, "== "+foundName+"\n")
			found, _, _ = strings.Cut(found, "\n        \n")
			if !failed || !printed {
				t.Fatalf("the search does not find it:\n%s", out)
			}
			file := filepath.Join(t.TempDir(), "found.txt")
			must.Write(t, file, "== "+foundName+"\n"+found)
			again, _ := m.run(t, ".", "^TestFound$", scenarioFile+"="+file)
			if n := strings.Count(again, "--- FAIL: TestFound ("); n != 20 {
				t.Errorf("it fails %d times of 20:\n%s\n%s", n, found, again)
			}
		})
	}
}

// run runs the tests of a directory with the mistake, or 20 times those that variables choose.
func (m mistake) run(t *testing.T, dir, tests string, variables ...string) (out string, failed bool) {
	t.Helper()
	overlay := filepath.Join(t.TempDir(), "overlay.json")
	plant(t, overlay, "../../"+m.file, m.from, m.to)
	args := []string{"test", "-vet=off", "-count=1", "-timeout=0", "-failfast", "-overlay=" + overlay, "-run=" + tests, dir}
	if len(variables) > 0 {
		args = []string{"test", "-vet=off", "-count=20", "-timeout=0", "-overlay=" + overlay, "-run=" + tests, dir}
	}
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Env = append(append(os.Environ(), "ETCD_TEST_FULL="), variables...)
	text, err := cmd.CombinedOutput()
	return string(text), err != nil && strings.Contains(string(text), "--- FAIL: ")
}

// plant writes an overlay for the compiler, in which the text of a file is another one.
func plant(t *testing.T, overlay, file, from, to string) {
	t.Helper()
	source := must.Read(t, file)
	if n := strings.Count(source, from); n != 1 {
		t.Fatalf("%s has %q %d times, want once", file, from, n)
	}
	mutated := strings.TrimSuffix(overlay, ".json") + filepath.Ext(file)
	must.Write(t, mutated, strings.Replace(source, from, to, 1))
	path, err := filepath.Abs(file)
	must.Succeed(t, err)
	replace := map[string]string{path: mutated}
	list, err := json.Marshal(map[string]map[string]string{"Replace": replace})
	if err == nil {
		err = os.WriteFile(overlay, list, 0o600)
	}
	must.Succeed(t, err)
}
