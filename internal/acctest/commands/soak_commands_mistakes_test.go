// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package commands

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// mistake is a provider with a planted error. It is built from modified
// sources, because the released sources have no hooks for it.
type mistake struct {
	name string
	in   []replacement
	// comes are the violations to which it leads.
	comes []string
	// shortest is a sequence that leads to one of them.
	shortest sequence
}

// replacement replaces the only text that matches in a file.
type replacement struct{ file, was, now string }

// mistakes are mistakes that were really made.
var mistakes = []mistake{
	{
		name:  "the guard does not count configurations",
		in:    []replacement{{"internal/provider/memberconfig/guard.go", `\n\t+at\.Replaced?(\.Set)?\(m\.ID[^)]*\)\n`, "\n"}},
		comes: []string{"below quorum", "no answer", voterStayed, voterRemoved},
		shortest: sequence{world{flat, 3, "3.6"}, []deed{
			{kind: "trigger all"}, {kind: "target", part: "etcd_member"},
		}},
	},
	{
		name:  "the backstop removes a voter that lives",
		in:    []replacement{{"internal/membership/withdraw.go", `case !m\.Learner && loss != Vanished:`, "case false && loss != Vanished:"}},
		comes: []string{voterRemoved},
		shortest: sequence{world{flat, 3, "3.6"}, []deed{
			{kind: "target and replace", part: "etcd_member_config"},
		}},
	},
	{
		name: "a bootstrap can be replaced",
		in: []replacement{
			{"internal/provider/initialcluster/plan.go", `\t\tr\.refuseReplacement\(ctx, [^\n]*\n\t\treturn\n`, ""},
			{"internal/provider/initialcluster/plan.go", `\tr\.refuseExisting\(ctx, plan, [^\n]*\n`, ""},
			{"internal/provider/initialcluster/resource.go", `\tr\.refuseReplacement\(ctx, [^\n]*\n`, ""},
		},
		comes: []string{"bootstrap replaced"},
		shortest: sequence{world{flat, 3, "3.6"}, []deed{
			{kind: "replace", part: bootstrapPart},
		}},
	},
	{
		name:  "a member on record is taken for the one of a new configuration",
		in:    []replacement{{"internal/provider/memberconfig/guard.go", `if (membership\.JudgeLoss\(snap, m\.ID, seen\) != membership\.Vanished) \{`, "if false && $1 {"}},
		comes: []string{voterStayed, "below quorum", "no answer"},
		shortest: sequence{world{flat, 3, "3.6"}, []deed{
			{kind: "state rm of config and member"}, {kind: "apply"},
		}},
	},
}

// overlay writes the modified sources, and the overlay file for the compiler.
func (m mistake) overlay(t testing.TB, root, dir string) string {
	t.Helper()
	texts := map[string]string{}
	for _, r := range m.in {
		path := filepath.Join(root, filepath.FromSlash(r.file))
		if texts[path] == "" {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			texts[path] = string(text)
		}
		was := regexp.MustCompile(r.was)
		if n := len(was.FindAllString(texts[path], -1)); n != 1 {
			t.Fatalf("%s: %d times in %s, want once: put the mistake into what stands there now: %s", m.name, n, r.file, r.was)
		}
		texts[path] = was.ReplaceAllString(texts[path], r.now)
	}
	replaced := map[string]string{}
	for path, text := range texts {
		to := filepath.Join(dir, filepath.Base(filepath.Dir(path))+"_"+filepath.Base(path))
		if err := os.WriteFile(to, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		replaced[path] = to
	}
	text, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// build builds a provider with the mistake and returns its path.
func (m mistake) build(t testing.TB) string {
	t.Helper()
	root, err := acctest.ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	overlay := m.overlay(t, root, dir)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-tags", acctest.RecordTag, "-overlay", overlay, "-o", dir+string(filepath.Separator), ".")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: go build: %v\n%s", m.name, err, out)
	}
	return filepath.Join(dir, acctest.ProviderName)
}

// The pattern of each mistake still matches the code.
func TestCommandMistakesFit(t *testing.T) {
	t.Parallel()
	root, err := acctest.ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range mistakes {
		m.overlay(t, root, t.TempDir())
	}
}

// hit reports whether the mistake leads to one of the violations.
func (m mistake) hit(found []violation) bool {
	return slices.ContainsFunc(found, func(v violation) bool { return slices.Contains(m.comes, v.class) })
}

// The search finds each of the mistakes within SOAK (by default half an hour)
// with any seed, and its shortest sequence fails. (Only with ETCD_TEST_FULL=1:
// it takes a while.)
func TestAccCommandMistakes(t *testing.T) {
	t.Parallel()
	if !etcdtest.Full() {
		t.Skip("the search for planted mistakes takes hours: set ETCD_TEST_FULL=1")
	}
	limit, seed := acctest.SoakSettings(t)
	if os.Getenv("SOAK") == "" {
		limit = 30 * time.Minute
	}
	for _, m := range mistakes {
		t.Run(m.name, func(t *testing.T) { // one after the other: the time counts
			c := &campaign{tb: t, seed: seed, kinds: map[string]int{}, provider: m.build(t)}
			if found, log := c.attempt(m.shortest); !m.hit(found) {
				t.Errorf("%s\ncomes to %v, want one of %q:\n%s", m.shortest, found, m.comes, strings.Join(log, "\n"))
			}
			begin := time.Now()
			hit := func(f failure) bool { return m.hit(f.found) }
			c.more = func(int) bool { return time.Since(begin) < limit && !slices.ContainsFunc(c.failures, hit) }
			c.run(parallelSequences())
			at := slices.IndexFunc(c.failures, hit)
			if at < 0 {
				t.Fatalf("seed %d: not found within %v, in %d sequences and %d commands", seed, limit, c.sequences, c.commands)
			}
			f := c.failures[at]
			t.Logf("seed %d: found after %v, %d sequences and %d commands: %s: %s\n%s",
				seed, time.Since(begin).Round(time.Second), c.sequences, c.commands, f.found[0].class, f.found[0].text, f.sequence)
		})
	}
}
