// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package release

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// accepted are the accepted licences of modules linked into the provider, by
// SPDX identifier.
var accepted = []string{"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "MPL-2.0"}

// misread contains the licences, checked by a person, of modules for which the
// detection reports a different one.
var misread = map[string]string{
	"golang.org/x/net": "BSD-3-Clause", "golang.org/x/sys": "BSD-3-Clause", "golang.org/x/text": "BSD-3-Clause",
	"std": "BSD-3-Clause",
}

// Every module in the binary has a licence that permits its distribution.
func TestLicences(t *testing.T) {
	t.Parallel()
	cyclonedx := tool(t, "cyclonedx-gomod")
	dir := t.TempDir()
	binary, list := filepath.Join(dir, "provider"), filepath.Join(dir, "provider.cdx.json")
	run(t, []string{"CGO_ENABLED=0"}, "go", "build", "-trimpath", "-o", binary, ".")
	run(t, nil, cyclonedx, "bin", "-json", "-std", "-licenses", "-version", "v0.0.0", "-output", list, binary)
	var bom struct {
		Components []struct {
			Name     string
			Version  string
			Evidence struct {
				Licenses []struct{ License struct{ ID, Name string } }
			}
		}
	}
	must(t, json.Unmarshal([]byte(read(t, list)), &bom))
	if len(bom.Components) < 20 {
		t.Fatalf("only %d modules are said to be in the binary", len(bom.Components))
	}
	for _, c := range bom.Components {
		var licences []string
		for _, l := range c.Evidence.Licenses {
			licences = append(licences, l.License.ID)
		}
		if known := misread[c.Name]; known != "" {
			licences = []string{known}
		}
		if !slices.ContainsFunc(licences, func(l string) bool { return slices.Contains(accepted, l) }) {
			t.Errorf("%s %s is under %q; accepted are %s", c.Name, c.Version, licences, strings.Join(accepted, ", "))
		}
	}
}

// Changelog fragments become the section of a release, sorted by kind.
func TestChangelog(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, dir, "CHANGELOG.md", "# Changelog\n\n## [Unreleased]\n\n### Added\n\n- Something old.\n\n## [0.0.9] - 2026-01-01\n\n### Fixed\n\n- Something older.\n")
	put(t, dir, ".changes/fixed-a-thing.md", "A thing that was broken,\nexplained.\n")
	put(t, dir, ".changes/added-another.md", "Another thing.\n")
	put(t, dir, ".changes/README.md", "What this is.\n")
	script, err := filepath.Abs(filepath.Join(root, "tools", "changelog"))
	must(t, err)
	env := []string{"CHANGELOG_ROOT=" + dir}
	if got, want := run(t, env, script, "check"), "2 fragments\n"; got != want {
		t.Errorf("check says %q, want %q", got, want)
	}
	run(t, env, script, "release", "0.1.0", "2026-11-21")
	const want = `# Changelog

## [Unreleased]

## [0.1.0] - 2026-11-21

### Added

- Something old.
- Another thing.

### Fixed

- A thing that was broken,
  explained.

## [0.0.9] - 2026-01-01

### Fixed

- Something older.
`
	if got := read(t, filepath.Join(dir, "CHANGELOG.md")); got != want {
		t.Errorf("the changelog is now\n%s\nwant\n%s", got, want)
	}
	left, err := filepath.Glob(filepath.Join(dir, ".changes", "*"))
	if err != nil || len(left) != 1 {
		t.Errorf("left are %v (%v)", left, err)
	}
	run(t, nil, script, "check")
}
