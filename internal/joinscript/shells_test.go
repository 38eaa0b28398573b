// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package joinscript

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/must"
)

// shell is one way to run the script: an interpreter, and a directory that
// comes first on PATH to select its awk, sed and other tools.
type shell struct {
	name string
	argv []string
	path string
	// needs are the programs that a machine may lack.
	needs []string
	// script is the variant to run.
	script Variant
	// index is the position among the count shells.
	index, count int
}

// busyboxTools are the programs that the script runs, in addition to curl.
var busyboxTools = strings.Fields("awk base64 cat chmod chown date dirname ls mkdir mktemp mv od rm rmdir sed sh " +
	"sha1sum sha256sum sleep sort sync tar tr uname")

// shells returns the shells to test: dash (sh of Debian) and bash with the awk
// of the machine. With ETCD_TEST_FULL=1 also bash with gawk (Fedora CoreOS) and
// busybox (Alpine). What runs under a shell calls [shell.must] first.
func shells(t *testing.T) []shell {
	t.Helper()
	// As sh, bash follows POSIX.
	all := []shell{
		{name: "dash", argv: []string{"dash"}, needs: []string{"dash"}},
		{name: "bash", argv: []string{"bash", "--posix"}, needs: []string{"bash"}},
	}
	if etcdtest.Full() {
		all = append(all,
			shell{name: "gawk", argv: []string{"bash", "--posix"}, needs: []string{"bash", "gawk"}, path: links(t, "gawk", "awk")},
			shell{name: "busybox", argv: []string{"busybox", "sh"}, needs: []string{"busybox"}, path: links(t, "busybox", busyboxTools...)})
	}
	for i := range all {
		all[i].needs = append(all[i].needs, "curl")
		all[i].script, all[i].index, all[i].count = Discovery(), i, len(all)
	}
	return all
}

// nth returns the shell of the nth case, of those that take turns.
func nth(t *testing.T, n int) shell {
	t.Helper()
	all := shells(t)
	sh := all[n%len(all)]
	sh.must(t)
	return sh
}

// links returns a directory in which a program has these names, if the machine
// has it.
func links(t *testing.T, program string, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	if path, err := exec.LookPath(program); err == nil {
		for _, name := range names {
			must.Succeed(t, os.Symlink(path, filepath.Join(dir, name)))
		}
	}
	return dir
}

// due reports whether the shell runs the nth case of a table. The shells, or the
// variants of [each], take turns; with ETCD_TEST_FULL=1 each runs all cases.
func (sh shell) due(nth int) bool { return nth%sh.count == sh.index || etcdtest.Full() }

// must skips the test if the machine cannot run the shell.
func (sh shell) must(t *testing.T) {
	t.Helper()
	for _, program := range sh.needs {
		etcdtest.Need(t, program)
	}
}

// each runs f with these variants of the script: each under one shell, which differs
// from test to test, and with ETCD_TEST_FULL=1 under every shell. They run in parallel
// and mostly wait. A test without a discovery cluster or a restore names the variants
// static and discovery, which share its code.
func each(t *testing.T, f func(t *testing.T, sh shell), names ...string) {
	t.Helper()
	for i, name := range names {
		all := shells(t)
		if !etcdtest.Full() {
			one := all[(len(t.Name())+i)%len(all)]
			one.index, one.count = i, len(names)
			all = []shell{one}
		}
		for _, sh := range all {
			sh.script = variants[name]
			t.Run(name+"-"+sh.name, func(t *testing.T) {
				t.Parallel()
				sh.must(t)
				f(t, sh)
			})
		}
	}
}

// result is the result of one run of the script.
type result struct {
	code           int
	stdout, stderr string
}

// hurried simulates programs: a clock that advances TEST_STEP seconds (50) per read
// from TEST_NOW, so a run takes two rounds; no pauses; and an etcd that does not register itself. It
// starts no program, because there are thousands of runs. Usually curl waits as long as
// necessary (TEST_PATIENCE), because a server may be slow on a busy machine. If a peer
// hangs, it waits only as long as the script specifies.
var hurried = map[string]string{
	"date":  program("date"),
	"sleep": "#!/bin/sh\n",
	"etcd":  "#!/bin/sh\necho etcd Version: 3.5.0\n",
	"curl":  program("curl"),
}

//go:embed testdata/programs
var programs embed.FS

// program is a program that stands in for another one.
func program(name string) string {
	text, err := programs.ReadFile("testdata/programs/" + name)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// tools creates a directory of programs.
func tools(t *testing.T, programs map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range programs {
		must.Succeed(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700))
	}
	return dir
}

// put writes a file, and its directory if there is none.
func put(t *testing.T, file, text string) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(file), 0o700)
	if err == nil {
		err = os.WriteFile(file, []byte(text), 0o600)
	}
	must.Succeed(t, err)
}

// wipe removes what is at a path.
func wipe(t *testing.T, path string) {
	t.Helper()
	must.Succeed(t, os.RemoveAll(path))
}

// write writes the script as shipped and returns the file.
func (v Variant) write(t *testing.T) string {
	t.Helper()
	return filepath.Join(tools(t, map[string]string{"etcd-join": v.Text}), "etcd-join")
}

// command returns a run of the script with arguments and exactly the given environment
// in addition to PATH, on which the directories before come first.
func (sh shell) command(t *testing.T, before, env []string, args ...string) *exec.Cmd {
	t.Helper()
	path := slices.DeleteFunc(append(slices.Clone(before), sh.path, os.Getenv("PATH")), func(dir string) bool { return dir == "" })
	cmd := exec.CommandContext(etcdtest.WaitContext(t), sh.argv[0], slices.Concat(sh.argv[1:], []string{sh.script.write(t)}, args)...)
	cmd.Env = append([]string{"PATH=" + strings.Join(path, ":")}, env...)
	return cmd
}

// run runs the script without pauses, with exactly the given environment in
// addition to PATH and the directory of etcd.
func (sh shell) run(t *testing.T, env ...string) result {
	t.Helper()
	hurried := tools(t, hurried)
	base := []string{"ETCD_JOIN_BIN=" + hurried, fmt.Sprintf("TEST_NOW=%d", time.Now().Unix())} // the last one takes precedence
	cmd := sh.command(t, []string{hurried}, append(base, env...))
	cmd.WaitDelay = time.Second // a process it started may hold the pipes
	cmd.Dir = t.TempDir()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) || t.Context().Err() != nil || cmd.ProcessState.ExitCode() < 0 {
		t.Fatalf("the script does not end: %v\n%s", err, &stderr)
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
		if !strings.HasPrefix(line, "etcd-join: ") || strings.ContainsAny(line, "\x01\x1b") {
			t.Errorf("standard error has a line that is not the script's own: %q", line)
		}
	}
	return r
}

// Test that a member with its data starts also on a machine without curl.
func TestWithoutCurl(t *testing.T) {
	t.Parallel()
	dir := tools(t, nil)
	for _, tool := range []string{"dirname", "awk", "sed", "sort", "tr", "date", "sh"} {
		path, err := exec.LookPath(tool)
		if err == nil {
			err = os.Symlink(path, filepath.Join(dir, tool))
		}
		must.Succeed(t, err)
	}
	each(t, func(t *testing.T, sh shell) {
		newScene(t, sh, nil, "", rowOf("|PATH="+dir+"| | wait | curl is not on PATH"), rowOf("|data peers= | | start with data | -")).play()
	}, "discovery")
}
