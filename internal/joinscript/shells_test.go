// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package joinscript

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// shell is one way to run the script: an interpreter, and the directory that
// comes first on its PATH so that its own awk, sed and the like are meant.
type shell struct {
	name string
	argv []string
	path string
}

// busyboxTools are the programs that the script runs, besides curl.
var busyboxTools = []string{"awk", "date", "grep", "sed", "sh", "sleep", "sort", "tr"}

// shells returns those to test with. dash and sh must be there; what is left
// out for want of busybox is said by name.
func shells(t *testing.T) []shell {
	t.Helper()
	var all []shell
	known := map[string]bool{}
	for _, name := range []string{"dash", "sh"} {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Fatalf("%s is needed to test the join script: %v", name, err)
		}
		// On Debian sh is dash.
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			t.Fatal(err)
		}
		if known[real] {
			continue
		}
		known[real] = true
		all = append(all, shell{name: name, argv: []string{path}})
	}
	if _, err := exec.LookPath("curl"); err != nil {
		t.Fatalf("curl is needed to test the join script: %v", err)
	}
	busybox, err := exec.LookPath("busybox")
	if err != nil {
		t.Logf("LEFT OUT: the join script under busybox sh: no busybox on PATH")
		return all
	}
	dir := t.TempDir()
	for _, tool := range busyboxTools {
		if err := os.Symlink(busybox, filepath.Join(dir, tool)); err != nil {
			t.Fatal(err)
		}
	}
	return append(all, shell{name: "busybox", argv: []string{busybox, "sh"}, path: dir})
}

// eachShell runs f once for every shell there is, all at the same time: most of
// it passes in waiting.
func eachShell(t *testing.T, f func(t *testing.T, sh shell)) {
	t.Helper()
	for _, sh := range shells(t) {
		t.Run(sh.name, func(t *testing.T) {
			t.Parallel()
			f(t, sh)
		})
	}
}

// result is what one run of the script left.
type result struct {
	code           int
	stdout, stderr string
}

// run runs the script with exactly the given environment, PATH besides.
func (sh shell) run(t *testing.T, script string, env ...string) result {
	t.Helper()
	file := filepath.Join(t.TempDir(), "etcd-join")
	if err := os.WriteFile(file, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	path := os.Getenv("PATH")
	if sh.path != "" {
		path = sh.path + ":" + path
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, sh.argv[0], append(sh.argv[1:], file)...)
	cmd.WaitDelay = time.Second // what it has started may hold the pipes
	cmd.Dir = t.TempDir()
	cmd.Env = append([]string{"PATH=" + path}, env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if ctx.Err() != nil {
		t.Fatalf("the script does not end:\n%s", &stderr)
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("run the script: %v", err)
	}
	r := result{code: cmd.ProcessState.ExitCode(), stdout: stdout.String(), stderr: stderr.String()}
	for line := range strings.Lines(r.stdout) {
		if !strings.HasPrefix(line, "ETCD_") || !strings.Contains(line, "=") {
			t.Errorf("standard output has a line that is no ETCD_ assignment: %q", line)
		}
	}
	for line := range strings.Lines(r.stderr) {
		if !strings.HasPrefix(line, "etcd-join: ") {
			t.Errorf("standard error has a line that is not the script's own: %q", line)
		}
	}
	return r
}

// want checks the exit code, the whole of standard output, and that standard
// error holds reason (is empty, if reason is).
func (r result) want(t *testing.T, code int, stdout, reason string) {
	t.Helper()
	if r.code != code {
		t.Errorf("exit code %d, want %d", r.code, code)
	}
	if r.stdout != stdout {
		t.Errorf("standard output\n%s\nwant\n%s", r.stdout, stdout)
	}
	if !strings.Contains(r.stderr, reason) || (reason == "" && r.stderr != "") {
		t.Errorf("standard error does not say %q", reason)
	}
	if t.Failed() {
		t.Logf("standard error:\n%s", r.stderr)
	}
}

// joined is what the script prints for a member that starts with cluster.
func joined(name, urls, cluster string) string {
	return "ETCD_NAME=" + name + "\nETCD_INITIAL_ADVERTISE_PEER_URLS=" + urls + "\n" +
		"ETCD_INITIAL_CLUSTER=" + cluster + "\nETCD_INITIAL_CLUSTER_STATE=existing\n" +
		"ETCD_DISCOVERY=\nETCD_DISCOVERY_TOKEN=\nETCD_DISCOVERY_ENDPOINTS=\n"
}
