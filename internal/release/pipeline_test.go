// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package release

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// modules returns the directories with a go.mod, such as "/" and "/tools/…".
func modules(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "tools", "*", "go.mod"))
	if err != nil || len(files) < 10 {
		t.Fatalf("%d modules, %v", len(files), err)
	}
	out := []string{"/"}
	for _, file := range files {
		out = append(out, "/tools/"+filepath.Base(filepath.Dir(file)))
	}
	return out
}

// All modules use the same Go: a fixed patch release, which the workflows read
// from go.mod. (For a go line without a patch, setup-go uses the first patch
// release.)
func TestOneToolchain(t *testing.T) {
	t.Parallel()
	line := regexp.MustCompile(`(?m)^toolchain go(1\.\d+)\.\d+$`)
	pinned := line.FindStringSubmatch(read(t, filepath.Join(root, "go.mod")))
	if pinned == nil {
		t.Fatal("go.mod pins no toolchain")
	}
	for _, dir := range modules(t) {
		mod := read(t, filepath.Join(root, dir, "go.mod"))
		if got := line.FindString(mod); got != pinned[0] || !strings.Contains(mod, "\ngo "+pinned[1]+".") {
			t.Errorf("%s has %q, and go.mod %q", dir, got, pinned[0])
		}
	}
	for _, name := range []string{"check.yml", "release.yml"} {
		workflow := read(t, filepath.Join(root, ".github", "workflows", name))
		setups := strings.Count(workflow, "uses: actions/setup-go@")
		if setups == 0 || strings.Count(workflow, "go-version-file: go.mod\n") != setups || strings.Contains(workflow, "go-version:") {
			t.Errorf("%s does not take the version of Go from go.mod", name)
		}
	}
}

// A release requires that every check has passed, an approval, and an
// attestation of its origin. The checks run without unnecessary rights and with
// all programs that they need.
func TestReleaseDependsOnTheChecks(t *testing.T) {
	t.Parallel()
	has := func(name string, expressions ...string) {
		t.Helper()
		workflow := read(t, filepath.Join(root, ".github", "workflows", name))
		for _, expression := range expressions {
			if !regexp.MustCompile(expression).MatchString(workflow) {
				t.Errorf("%s: nothing matches %s", name, expression)
			}
		}
	}
	has("release.yml",
		`(?m)^  check:\n    uses: \./\.github/workflows/check\.yml$`,
		`(?m)^  build:\n(    .*\n)*    needs: check$`,
		`(?m)^  release:\n(    .*\n)*    needs: build$`,
		`(?m)^  release:\n(    .*\n)*    environment: release$`,
		`(?s)goreleaser release.*gpg .*--detach-sign.*uses: actions/attest-build-provenance@.*dist/\*\.zip`,
		`(?m)^      id-token: write`, `(?m)^      attestations: write`)
	has("check.yml", `(?m)^  workflow_call:$`, `(?m)^      - run: \.ci/run\n        env:\n          VULNCHECK: required`)

	check := read(t, filepath.Join(root, ".github", "workflows", "check.yml"))
	packages := map[string]string{"systemd-analyze": "systemd"}
	wanted := regexp.MustCompile(`for command in (.*); do`).FindStringSubmatch(read(t, filepath.Join(root, ".ci", "run")))
	if wanted == nil {
		t.Fatal(".ci/run wants no programs")
	}
	for command := range strings.FieldsSeq(wanted[1]) {
		if name, other := packages[command]; other {
			command = name
		}
		if !regexp.MustCompile(`(?m)^            .*\b` + command + `\b`).MatchString(check) {
			t.Errorf("check.yml does not install %s", command)
		}
	}
	for line := range strings.Lines(check) {
		if strings.Contains(line, "sudo") && !strings.Contains(line, "apt-get") {
			t.Errorf("as root: %s", line)
		}
	}
}

// What is built of sources, of this project or of its tools, can neither write nor
// sign: only jobs without sources have the rights and the secrets.
func TestNothingIsBuiltWithTheRightToWrite(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(root, ".github", "workflows", "*.yml"))
	if err != nil {
		t.Fatal(err)
	}
	job := regexp.MustCompile(`(?m)^  [\w-]+:$`)
	powerful := regexp.MustCompile(`: write\b|write-all|secrets[.:]|environment:`)
	builds := regexp.MustCompile(`actions/checkout@|actions/setup-go@|\b(make|go|goreleaser|git clone)\b`)
	held := 0
	for _, file := range files {
		before, jobs, found := strings.Cut(read(t, file), "\njobs:\n")
		if !found || !strings.Contains(before+"\n", "\npermissions:\n  contents: read\n") || powerful.MatchString(before) {
			t.Errorf("%s: the rights of all jobs are not read alone", file)
		}
		starts := job.FindAllStringIndex(jobs, -1)
		for i, at := range starts {
			end := len(jobs)
			if i+1 < len(starts) {
				end = starts[i+1][0]
			}
			text := regexp.MustCompile(`(?m)#.*$`).ReplaceAllString(jobs[at[0]:end], "")
			if powerful.MatchString(text) {
				held++
				if found := builds.FindString(text); found != "" {
					t.Errorf("%s: the job %s may write or sign, and has %q", file, strings.TrimSpace(jobs[at[0]:at[1]]), found)
				}
			}
		}
	}
	if held != 1 {
		t.Errorf("%d jobs may write or sign, want one", held)
	}
}

// The commit of a tag is on main, or nothing is built of it.
func TestReleasedCommitIsOnMain(t *testing.T) {
	t.Parallel()
	steps := regexp.MustCompile(`(?m)^      - run: (.*)$`).FindAllStringSubmatch(read(t, filepath.Join(root, ".github", "workflows", "release.yml")), -1)
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

// Dependabot updates each module and every action.
func TestEverythingIsKeptUpToDate(t *testing.T) {
	t.Parallel()
	config := read(t, filepath.Join(root, ".github", "dependabot.yml"))
	var listed []string
	for _, found := range regexp.MustCompile(`(?m)^      - (/.*)$`).FindAllStringSubmatch(config, -1) {
		listed = append(listed, found[1])
	}
	slices.Sort(listed)
	if want := modules(t); !slices.Equal(listed, slices.Sorted(slices.Values(want))) {
		t.Errorf("kept up to date are %v, and there are %v", listed, want)
	}
	if !strings.Contains(config, "package-ecosystem: github-actions\n") {
		t.Error("actions are not kept up to date")
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

// The age of the toolchain is printed and never causes a failure.
func TestAgeOfTheToolchain(t *testing.T) {
	t.Parallel()
	pinned := regexp.MustCompile(`(?m)^toolchain go((1\.\d+)\.(\d+))$`).FindStringSubmatch(read(t, filepath.Join(root, "go.mod")))
	script, err := filepath.Abs(filepath.Join(root, "tools", "toolchain"))
	if pinned == nil || err != nil {
		t.Fatal(pinned, err)
	}
	// proxy returns the URL of a module proxy with these releases of Go.
	proxy := func(versions ...string) string {
		dir, list := t.TempDir(), ""
		for _, v := range versions {
			v = "v0.0.1-go" + v + ".linux-amd64"
			list += v + "\n"
			put(t, dir, "golang.org/toolchain/@v/"+v+".info", `{"Version":"`+v+`"}`)
		}
		put(t, dir, "golang.org/toolchain/@v/list", list)
		return "file://" + dir
	}
	for want, from := range map[string]string{
		"NOT CHECKED whether Go " + pinned[1] + " is the newest patch of " + pinned[2] + ": the module proxy cannot be reached": "off",
		"toolchain: releases are built with Go " + pinned[1] + ", the newest patch of " + pinned[2]:                             proxy(pinned[2]+".0", pinned[1], "1.99.1", "1.99rc1"),
		"toolchain: releases are built with Go " + pinned[1] + ", older than " + pinned[2] + ".100 by ":                         proxy(pinned[1], pinned[2]+".100", pinned[2]+".99"),
	} {
		if got := run(t, []string{"GOPROXY=" + from}, script); !strings.HasPrefix(got, want) {
			t.Errorf("it says %q, want %q", got, want)
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
