// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package release tests the parts of a release: the archives in the format of
// the registries, their contents and licences, the changelog, and the workflows
// that publish it.
package release

import (
	"archive/zip"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/must"
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

// TestScripts runs the scripts of testdata, each in a directory of its own. One that fails
// shows the command at which it did.
func TestScripts(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.sh")
	if err != nil || len(files) == 0 {
		t.Fatal(err, files)
	}
	at, err := filepath.Abs(root)
	must.Succeed(t, err)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".sh"), func(t *testing.T) {
			t.Parallel()
			script, err := filepath.Abs(file)
			must.Succeed(t, err)
			cmd := exec.CommandContext(etcdtest.WaitContext(t), "bash", "-euxo", "pipefail", script)
			cmd.Dir, cmd.Env = t.TempDir(), append(os.Environ(), "ROOT="+at)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%.4000s", err, out)
			}
		})
	}
}

// tools/lint reports lines of more than 120 columns that are new or changed since the commit
// that it names, and no others. Without that commit it says that it checks none.
func TestColumns(t *testing.T) {
	t.Parallel()
	linter := tool(t, "golangci-lint")
	dir := t.TempDir()
	git := func(args ...string) string {
		identity := []string{
			"-C", dir, "-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false",
		}
		return strings.TrimSpace(run(t, nil, "git", append(identity, args...)...))
	}
	wide := "// Wide is " + strings.Repeat("wide ", 24) + "wide.\n"
	put(t, dir, "go.mod", "module example.com/a\n\ngo 1.26.0\n")
	put(t, dir, "a.go", "// Package a has a wide line.\npackage a\n\n"+wide+"const Wide = 1\n")
	put(t, dir, ".golangci.yml", must.Read(t, filepath.Join(root, ".golangci.yml")))
	must.Succeed(t, os.Mkdir(filepath.Join(dir, "bin"), 0o755))
	must.Succeed(t, os.Symlink(linter, filepath.Join(dir, "bin", "golangci-lint")))
	git("init", "-q")
	git("add", ".")
	git("commit", "-q", "-m", "one")
	since := regexp.MustCompile(`(?m)^since=[0-9a-f]{40}$`)
	lint := func(commit, want string) {
		t.Helper()
		script := must.Read(t, filepath.Join(root, "tools", "lint"))
		put(t, dir, "tools/lint", since.ReplaceAllString(script, "since="+commit))
		// Its other checks fail here, because the sources that they look at are not there.
		env := []string{"CLI=false", "GOLANGCI_LINT_CACHE=" + filepath.Join(dir, "cache")}
		out, _ := try(t, env, filepath.Join(dir, "tools", "lint"))
		if !strings.Contains(out, want) {
			t.Errorf("tools/lint does not print %q:\n%s", want, out)
		}
	}
	one := git("rev-parse", "HEAD")
	lint(one, "ok    columns of new lines")
	lint(strings.Repeat("0", 40),
		"NOT CHECKED whether new Go lines have at most 120 columns: this clone lacks commit 00000000")
	put(t, dir, "b.go", "package a\n\n"+strings.ReplaceAll(wide, "Wide", "Other")+"const Other = 1\n")
	lint(one, "FAIL  columns of new lines\nb.go:3:1: The line is 13")
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

const root = "../../.."

// tool returns the path of a program that make tools-ci builds into bin/.
func tool(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(root, "bin", name))
	must.Succeed(t, err)
	return etcdtest.Need(t, path)
}

// try runs a program at the root of the project and returns what it printed.
func try(t *testing.T, env []string, program string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(etcdtest.WaitContext(t), program, args...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// run is [try] of a program that must succeed.
func run(t *testing.T, env []string, program string, args ...string) string {
	t.Helper()
	out, err := try(t, env, program, args...)
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", filepath.Base(program), strings.Join(args, " "), err, out)
	}
	return out
}

// put writes a file that can be executed below a directory.
func put(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, []byte(text), 0o700)
	}
	must.Succeed(t, err)
}

// snapshot builds a release for this platform into a test directory, with the
// project's own configuration. It signs with the key in env, if there is one.
// Everything else is as for all platforms, which `make snapshot` builds.
func snapshot(t *testing.T, goreleaser string, env []string) string {
	t.Helper()
	dist := filepath.Join(t.TempDir(), "dist")
	config := must.Read(t, filepath.Join(root, ".goreleaser.yml")) + "\ndist: " + dist + "\n"
	for pattern, own := range map[string]string{`goos: \[.*\]`: "goos: [" + runtime.GOOS + "]", `goarch: \[.*\]`: "goarch: [" + runtime.GOARCH + "]"} {
		re := regexp.MustCompile(pattern)
		if len(re.FindAllString(config, -1)) != 1 {
			t.Fatalf(".goreleaser.yml does not have one %s", pattern)
		}
		config = re.ReplaceAllString(config, own)
	}
	dir := t.TempDir()
	put(t, dir, "goreleaser.yml", config)
	skip := "before"
	if !slices.ContainsFunc(env, func(s string) bool { return strings.HasPrefix(s, "GPG_FINGERPRINT=") }) {
		skip += ",sign"
	}
	// A clone has a remote. Without one, goreleaser ignores the commit and its
	// time.
	env = append(slices.Clone(env), "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=remote.origin.url",
		"GIT_CONFIG_VALUE_0=https://github.com/terraform-provider-etcd/terraform-provider-etcd")
	run(t, append(env, "PATH="+filepath.Dir(goreleaser)+string(filepath.ListSeparator)+os.Getenv("PATH")),
		goreleaser, "release", "--snapshot", "--skip="+skip, "--config", filepath.Join(dir, "goreleaser.yml"))
	return dist
}

// signer returns an environment with a signing key that expires tomorrow, or
// nil if there is no gpg.
func signer(t *testing.T) []string {
	t.Helper()
	gpg, err := exec.LookPath("gpg")
	if err != nil {
		return nil
	}
	// Not below t.TempDir: the path of its socket must be short.
	home, err := os.MkdirTemp("", "gpg-")
	must.Succeed(t, err)
	env := []string{"GNUPGHOME=" + home}
	t.Cleanup(func() {
		kill := exec.Command("gpgconf", "--kill", "all") // the agent that gpg started
		kill.Env = append(os.Environ(), env...)
		if err := kill.Run(); err != nil {
			t.Errorf("gpgconf: %v", err)
		}
		_ = os.RemoveAll(home)
	})
	run(t, env, gpg, "--batch", "--quiet", "--passphrase", "", "--quick-generate-key", "Nobody <nobody@example.com>", "rsa2048", "sign", "1d")
	listed := run(t, env, gpg, "--batch", "--quiet", "--list-keys", "--with-colons")
	fingerprint := regexp.MustCompile(`(?m)^fpr:+([0-9A-F]{40}):`).FindStringSubmatch(listed)
	if fingerprint == nil {
		t.Fatalf("no fingerprint in\n%s", listed)
	}
	return append(env, "GPG_FINGERPRINT="+fingerprint[1])
}

// The archives have the format of the registries, are reproducible, and install
// from a file system mirror into Terraform and OpenTofu. The demo then runs on
// both.
func TestSnapshot(t *testing.T) {
	t.Parallel()
	goreleaser := tool(t, "goreleaser")
	tool(t, "cyclonedx-gomod") // goreleaser runs it
	run(t, nil, goreleaser, "check", "--quiet")
	env := signer(t)
	dist := snapshot(t, goreleaser, env)

	const name = "terraform-provider-etcd"
	var metadata struct{ Version string }
	must.Succeed(t, json.Unmarshal([]byte(must.Read(t, filepath.Join(dist, "metadata.json"))), &metadata))
	prefix := name + "_" + metadata.Version
	platform := runtime.GOOS + "_" + runtime.GOARCH
	archive := prefix + "_" + platform + ".zip"

	manifest := prefix + "_manifest.json"
	put(t, dist, manifest, must.Read(t, filepath.Join(root, "terraform-registry-manifest.json")))
	sums := run(t, nil, "sh", "-c", "cd '"+dist+"' && sha256sum -c "+prefix+"_SHA256SUMS")
	for _, file := range []string{archive, manifest, prefix + "_" + platform + ".cdx.json"} {
		if !strings.Contains(sums, file+": OK\n") {
			t.Errorf("SHA256SUMS does not name %s:\n%s", file, sums)
		}
	}
	t.Run("signature", func(t *testing.T) {
		gpg := etcdtest.Need(t, "gpg")
		run(t, env, gpg, "--batch", "--verify", filepath.Join(dist, prefix+"_SHA256SUMS.sig"), filepath.Join(dist, prefix+"_SHA256SUMS"))
	})

	files, err := zip.OpenReader(filepath.Join(dist, archive))
	must.Succeed(t, err)
	defer files.Close()
	var held []string
	for _, file := range files.File {
		held = append(held, file.Name)
		if file.Name == name+"_v"+metadata.Version && file.Mode()&0o111 == 0 {
			t.Errorf("%s cannot be executed", file.Name)
		}
	}
	slices.Sort(held)
	if want := []string{"CHANGELOG.md", "LICENSE", "README.md", name + "_v" + metadata.Version}; !slices.Equal(held, want) {
		t.Errorf("the archive has %q, want %q", held, want)
	}

	t.Log("again, and the same comes of it")
	again := snapshot(t, goreleaser, nil)
	if one, other := must.Read(t, filepath.Join(dist, archive)), must.Read(t, filepath.Join(again, archive)); one != other {
		t.Error("two builds of the same sources differ")
	}

	mirror := t.TempDir()
	for _, host := range []string{"registry.terraform.io", "registry.opentofu.org"} {
		dir := filepath.Join(mirror, host, "terraform-provider-etcd", "etcd")
		must.Succeed(t, os.MkdirAll(dir, 0o755))
		must.Succeed(t, os.Symlink(filepath.Join(dist, archive), filepath.Join(dir, archive)))
	}
	for _, cli := range []string{"tofu", "terraform"} {
		t.Run("demo on "+cli, func(t *testing.T) {
			path, err := exec.LookPath(cli)
			if cli == "tofu" {
				path, err = tool(t, cli), nil
			}
			if err != nil {
				t.Skip(err) // Terraform is not built here because of its licence
			}
			out := run(t, []string{"CLI=" + path, "MIRROR=" + mirror}, "tools/demo")
			if !strings.Contains(out, "All as it should be") {
				t.Errorf("the demo says\n%s", out)
			}
		})
	}
}
