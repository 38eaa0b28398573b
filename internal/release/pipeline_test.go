// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package release tests the parts of a release: the archives in the format of
// the registries, their contents and licences, the changelog, and the workflows
// that publish it.
package release

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/must"
)

// workflow returns the text of a workflow.
func workflow(t *testing.T, name string) string {
	t.Helper()
	return must.Read(t, filepath.Join(root, ".github", "workflows", name))
}

// A release requires that every check has passed, an approval, and an attestation of its
// origin. The checks run with all programs that they need, and no other as root. The
// registry learns the protocol that main serves.
func TestReleaseDependsOnTheChecks(t *testing.T) {
	t.Parallel()
	has := func(name, text string, expressions ...string) {
		t.Helper()
		for _, expression := range expressions {
			if !regexp.MustCompile(expression).MatchString(text) {
				t.Errorf("%s: nothing matches %s", name, expression)
			}
		}
	}
	has("the manifest", must.Read(t, filepath.Join(root, "terraform-registry-manifest.json")), `"version": 1,(\n.*)*"protocol_versions": \["6\.0"\]`)
	has("release.yml", workflow(t, "release.yml"),
		`(?m)^  check:\n    uses: \./\.github/workflows/check\.yml$`,
		`(?m)^  build:\n(    .*\n)*    needs: check$`,
		`(?m)^  release:\n(    .*\n)*    needs: build$`,
		`(?m)^  release:\n(    .*\n)*    environment: release$`,
		`(?s)goreleaser release.*gpg .*--detach-sign.*uses: actions/attest-build-provenance@.*dist/\*\.zip`,
		`(?m)^      id-token: write`, `(?m)^      attestations: write`)
	check := workflow(t, "check.yml")
	has("check.yml", check, `(?m)^  workflow_call:$`, `(?m)^      - run: \.ci/run\n        env:\n          VULNCHECK: required`)
	wanted := regexp.MustCompile(`for command in (.*); do`).FindStringSubmatch(must.Read(t, filepath.Join(root, ".ci", "run")))
	if wanted == nil {
		t.Fatal(".ci/run wants no programs")
	}
	for command := range strings.FieldsSeq(wanted[1]) {
		has("check.yml", check, `(?m)^            .*\b`+strings.TrimSuffix(command, "-analyze")+`\b`)
	}
	for line := range strings.Lines(check) {
		if strings.Contains(line, "sudo") && !strings.Contains(line, "apt-get") {
			t.Errorf("as root: %s", line)
		}
	}
}

// A toolchain is one fixed patch release, which the workflows read from go.mod. (For a go
// line without a patch, setup-go uses the first patch release.) Dependabot updates each
// module and every action.
func TestEveryModule(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(root, "tools", "*", "go.mod"))
	if err != nil || len(files) < 10 {
		t.Fatalf("%d modules, %v", len(files), err)
	}
	line := regexp.MustCompile(`(?m)^toolchain go(1\.\d+)\.\d+$`)
	pinned := line.FindStringSubmatch(must.Read(t, filepath.Join(root, "go.mod")))
	if pinned == nil {
		t.Fatal("go.mod pins no toolchain")
	}
	config := must.Read(t, filepath.Join(root, ".github", "dependabot.yml"))
	if listed := strings.Count(config, "      - /"); listed != len(files)+1 || !strings.Contains(config, "      - /\n") || !strings.Contains(config, "package-ecosystem: github-actions\n") {
		t.Errorf("dependabot.yml updates %d modules of %d, or no actions", listed, len(files)+1)
	}
	for _, file := range files {
		mod := must.Read(t, file)
		if got := line.FindString(mod); got != pinned[0] || !strings.Contains(mod, "\ngo "+pinned[1]+".") {
			t.Errorf("%s has %q, and go.mod %q", file, got, pinned[0])
		}
		if dir := filepath.Base(filepath.Dir(file)); !strings.Contains(config, "      - /tools/"+dir+"\n") {
			t.Errorf("dependabot.yml does not update tools/%s", dir)
		}
	}
}

// What is built of sources, of this project or of its tools, can neither write nor sign:
// only jobs without sources have the rights and the secrets. Actions are pinned by commit,
// with the release in a comment, because a tag can be moved; workflows of this project are
// used from the same commit.
func TestWorkflows(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(root, ".github", "workflows", "*.yml"))
	if err != nil || len(files) < 2 {
		t.Fatalf("%q, %v", files, err)
	}
	job, comment := regexp.MustCompile(`(?m)^  [\w-]+:$`), regexp.MustCompile(`(?m)#.*$`)
	powerful := regexp.MustCompile(`: write\b|write-all|secrets[.:]|environment:`)
	builds := regexp.MustCompile(`actions/checkout@|actions/setup-go@|\b(make|go|goreleaser|git clone)\b`)
	uses := regexp.MustCompile(`(?m)^\s*-?\s*uses:\s*(.*)$`)
	pinned := regexp.MustCompile(`^[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$|^\./\.github/workflows/`)
	held, used := 0, 0
	for _, file := range files {
		text := must.Read(t, file)
		before, jobs, found := strings.Cut(text, "\njobs:\n")
		if !found || !strings.Contains(before+"\n", "\npermissions:\n  contents: read\n") || powerful.MatchString(before) {
			t.Errorf("%s: the rights of all jobs are not read alone", file)
		}
		setups := strings.Count(text, "uses: actions/setup-go@")
		if strings.Count(text, "go-version-file: go.mod\n") != setups || strings.Contains(text, "go-version:") {
			t.Errorf("%s does not take the version of Go from go.mod", file)
		}
		for _, text := range job.Split(jobs, -1) {
			if text = comment.ReplaceAllString(text, ""); powerful.MatchString(text) {
				held++
				if found := builds.FindString(text); found != "" {
					t.Errorf("%s: a job may write or sign, and has %q:\n%s", file, found, text)
				}
			}
		}
		for _, action := range uses.FindAllStringSubmatch(text, -1) {
			if used++; !pinned.MatchString(action[1]) {
				t.Errorf("%s uses %s, which is not pinned", file, action[1])
			}
		}
	}
	if held != 1 || used < 5 {
		t.Errorf("%d jobs may write or sign, want one; %d actions are used", held, used)
	}
}

// The commit of a tag is on main, or nothing is built of it.
func TestReleasedCommitIsOnMain(t *testing.T) {
	t.Parallel()
	steps := regexp.MustCompile(`(?m)^      - run: (.*)$`).FindAllStringSubmatch(workflow(t, "release.yml"), -1)
	if len(steps) == 0 || !strings.Contains(steps[0][1], "--is-ancestor") {
		t.Fatal("the first command of the workflow does not look whether the commit is on main")
	}
	script := `set -e
git init -q main; cd main; git config user.name a; git config user.email a@example.com; git config commit.gpgsign false
git checkout -q -b main; git commit -q --allow-empty -m one; git tag v1; git commit -q --allow-empty -m two
git checkout -q -b side; git commit -q --allow-empty -m three; git tag v2; git checkout -q main
cd ..; git clone -q main clone; cd clone
git checkout -q v1; (` + steps[0][1] + `) || { echo "v1 is refused"; exit 1; }
git checkout -q v2; if (` + steps[0][1] + `); then echo "v2 is let through"; exit 1; fi`
	cmd := exec.CommandContext(t.Context(), "sh", "-c", script)
	cmd.Dir, cmd.Env = t.TempDir(), append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// If the database cannot be reached, the output says so. This is a failure if
// the check is required.
func TestVulncheckWithoutADatabase(t *testing.T) {
	t.Parallel()
	for variable, fails := range map[string]bool{"": false, "VULNCHECK=required": true} {
		out, err := try(t, []string{variable}, "make", "--no-print-directory", "vulncheck", "VULNDB=http://127.0.0.1:1")
		if (err != nil) != fails || !strings.Contains(out, "\nNOT CHECKED for known vulnerabilities: http://127.0.0.1:1 cannot be reached\n") {
			t.Errorf("%q: %v\n%s", variable, err, out)
		}
	}
}

// The last lines of .ci/run list the skipped checks and the age of the
// toolchain. (All programs that it calls are stand-ins here.)
func TestLastLinesOfCI(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	env := []string{"PATH=" + dir + string(filepath.ListSeparator) + os.Getenv("PATH"), "GOTESTSUM_JSONFILE=/dev/null"}
	program := func(name, text string) { put(t, dir, name, "#!/bin/sh\n"+text+"\n") }
	for _, name := range []string{"shellcheck", "busybox", "dash", "gawk", "curl", "git", "cloud-init", "systemd-analyze", "gpg", "terraform", "apt-get"} {
		program(name, "exit 0")
	}
	const counted = `for a; do case $a in COUNT_FILE=*) echo "5 tests" >"${a#*=}" ;; esac; done`
	program("make", `case $1 in
vulncheck) echo "NOT CHECKED for known vulnerabilities: away" ;;
toolchain) echo "toolchain: old" ;;
test) `+counted+`; echo "NOT CHECKED by a test, which is told elsewhere" ;;
esac`)
	out := run(t, env, "./.ci/run")
	_, summary, _ := strings.Cut(out, "\n=== summary\n")
	if want := "NOT CHECKED for known vulnerabilities: away\ntoolchain: old\n5 tests\n"; !strings.HasSuffix(summary, want) || strings.Contains(summary, "by a test") {
		t.Errorf("it ends with\n%s\nwant\n%s", summary, want)
	}
	program("make", `[ "$1" != vulncheck ] || { echo "NOT CHECKED for known vulnerabilities: away"; exit 1; }; `+counted)
	failed, err := try(t, env, "./.ci/run")
	if err == nil || !strings.Contains(failed, "\nfailed: vulncheck\n") {
		t.Errorf("%v\n%.2000s", err, failed)
	}
}

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
	must.Succeed(t, json.Unmarshal([]byte(must.Read(t, list)), &bom))
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
	must.Succeed(t, err)
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
	if got := must.Read(t, filepath.Join(dir, "CHANGELOG.md")); got != want {
		t.Errorf("the changelog is now\n%s\nwant\n%s", got, want)
	}
	left, err := filepath.Glob(filepath.Join(dir, ".changes", "*"))
	if err != nil || len(left) != 1 {
		t.Errorf("left are %v (%v)", left, err)
	}
	run(t, nil, script, "check")
}
