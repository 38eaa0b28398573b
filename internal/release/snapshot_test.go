// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

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

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/must"
)

const root = "../.."

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
