// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package joinscript

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// shell is one way to run the script: an interpreter, and the directory that
// comes first on its PATH so that its own awk, sed and the like are meant.
type shell struct {
	name string
	argv []string
	path string
	// need is a program that may be missing.
	need string
	// script is the variant that it runs.
	script Variant
	// index is the place among the shells.
	index int
}

// busyboxTools are the programs that the script runs, besides curl.
var busyboxTools = []string{"awk", "base64", "chmod", "chown", "date", "dirname", "ls", "mkdir", "mktemp", "mv", "od", "rm", "sed", "sh", "sha1sum", "sha256sum", "sleep", "sort", "sync", "tar", "tr"}

// shells returns those to test with: dash (the sh of Debian), bash with gawk (of
// Fedora CoreOS), and busybox (of Alpine). dash, bash and curl must be there.
func shells(t *testing.T) []shell {
	t.Helper()
	var all []shell
	for _, name := range []string{"dash", "bash"} {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Fatalf("%s is needed to test the join script: %v", name, err)
		}
		all = append(all, shell{name: name, argv: []string{path}, script: Discovery()})
	}
	// As sh, bash keeps to POSIX.
	all[1].argv = append(all[1].argv, "--posix")
	all[1].path, all[1].need = t.TempDir(), "gawk"
	if gawk, err := exec.LookPath("gawk"); err == nil {
		if err := os.Symlink(gawk, filepath.Join(all[1].path, "awk")); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := exec.LookPath("curl"); err != nil {
		t.Fatalf("curl is needed to test the join script: %v", err)
	}
	dir := t.TempDir()
	busybox, err := exec.LookPath("busybox")
	if err == nil {
		for _, tool := range busyboxTools {
			if err := os.Symlink(busybox, filepath.Join(dir, tool)); err != nil {
				t.Fatal(err)
			}
		}
	}
	all = append(all, shell{name: "busybox", argv: []string{busybox, "sh"}, path: dir, need: "busybox", script: Discovery()})
	for i := range all {
		all[i].index = i
	}
	return all
}

// due reports whether the shell runs a case of a table: the shells take turns,
// and with ETCD_TEST_FULL=1 each runs all of them.
func (sh shell) due(nth int) bool { return nth%3 == sh.index || whole() }

func whole() bool { return os.Getenv("ETCD_TEST_FULL") != "" }

// must skips a test of a shell that is missing.
func (sh shell) must(t *testing.T) {
	t.Helper()
	if sh.need != "" {
		etcdtest.Need(t, sh.need)
	}
}

// eachShell runs f for what needs no registry: the static variant of the script
// under every shell, and the other one under the first (ETCD_TEST_FULL=1: under
// every shell), because what they share is the same text. All run at the same
// time: most of it passes in waiting.
func eachShell(t *testing.T, f func(t *testing.T, sh shell)) {
	t.Helper()
	for i, sh := range shells(t) {
		if i == 0 || whole() {
			sh.parallel(t, f)
		}
		sh.name, sh.script = sh.name+"-static", Static()
		sh.parallel(t, f)
	}
}

// eachShellWithRegistry runs f with the variant that asks registries.
func eachShellWithRegistry(t *testing.T, f func(t *testing.T, sh shell)) {
	t.Helper()
	for _, sh := range shells(t) {
		sh.parallel(t, f)
	}
}

func (sh shell) parallel(t *testing.T, f func(t *testing.T, sh shell)) {
	t.Helper()
	t.Run(sh.name, func(t *testing.T) {
		t.Parallel()
		sh.must(t)
		f(t, sh)
	})
}

// result is what one run of the script left.
type result struct {
	code           int
	stdout, stderr string
}

// hurried is a clock that goes 50 seconds with each look, from TEST_NOW, so that a
// run of the script ends after two rounds; no pauses; and an etcd that does not
// register itself. It starts no program: there are some thousand runs. curl waits as long as TEST_PATIENCE says.
var hurried = map[string]string{
	"date": `#!/bin/sh
looks=0
[ ! -e "${0%/*}/looks" ] || read -r looks <"${0%/*}/looks"
echo $((looks + 1)) >"${0%/*}/looks"
case $TEST_NOW in *[!0-9]*) echo "$TEST_NOW" ;; *) echo $((TEST_NOW + 50 * looks)) ;; esac
`,
	"sleep": "#!/bin/sh\n",
	"etcd":  "#!/bin/sh\necho etcd Version: 3.5.0\n",
	"curl": `#!/bin/sh
PATH=${PATH#*:}
exec curl "$@" ${TEST_PATIENCE:+--connect-timeout $TEST_PATIENCE --max-time $TEST_PATIENCE}
`,
}

// patience and hurry are how long curl waits for an answer: in most cases as long as
// that takes, because who does not hang is slow on a machine under load; where a
// peer hangs, no longer than the script says.
const (
	patience = "TEST_PATIENCE=60"
	hurry    = "TEST_PATIENCE="
)

// tools makes a directory of programs.
func tools(t *testing.T, programs map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range programs {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// write writes the script as it is shipped, and returns the file.
func (v Variant) write(t *testing.T) string {
	t.Helper()
	return filepath.Join(tools(t, map[string]string{"etcd-join": v.Text}), "etcd-join")
}

// run runs the script, in a hurry, with exactly the given environment, besides
// PATH and the directory of etcd.
func (sh shell) run(t *testing.T, env ...string) result {
	t.Helper()
	file := sh.script.write(t)
	path := os.Getenv("PATH")
	if sh.path != "" {
		path = sh.path + ":" + path
	}
	hurried := tools(t, hurried)
	path = hurried + ":" + path
	ctx, cancel := context.WithTimeout(t.Context(), etcdtest.WaitLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, sh.argv[0], append(sh.argv[1:], file)...)
	cmd.WaitDelay = time.Second // what it has started may hold the pipes
	cmd.Dir = t.TempDir()
	cmd.Env = append([]string{"PATH=" + path, "ETCD_JOIN_BIN=" + hurried, fmt.Sprintf("TEST_NOW=%d", time.Now().Unix())}, env...) // the last one counts
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
	if files, _ := filepath.Glob(filepath.Join(cmd.Dir, "*")); len(files) > 0 {
		t.Errorf("the script left %q", files)
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
		noDiscovery
}

// started is what the script prints for the founder "us" of a registry that has
// these registrations.
func started(token string, registrations ...string) string {
	return "ETCD_NAME=us\nETCD_INITIAL_ADVERTISE_PEER_URLS=" + own + "\nETCD_INITIAL_CLUSTER=" + strings.Join(registrations, ",") +
		"\nETCD_INITIAL_CLUSTER_STATE=new\n" + noDiscovery + "ETCD_INITIAL_CLUSTER_TOKEN=" + token + "\n"
}

const noDiscovery = "ETCD_DISCOVERY=\nETCD_DISCOVERY_SRV=\nETCD_DISCOVERY_TOKEN=\nETCD_DISCOVERY_ENDPOINTS=\n"
