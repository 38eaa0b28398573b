// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// built returns a directory with the provider and the demo, built once for all tests.
var built = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "demo-built-")
	if err != nil {
		return "", err
	}
	for name, pkg := range map[string]string{"terraform-provider-etcd": "../..", "demo": "."} {
		if out, err := exec.Command("go", "build", "-o", filepath.Join(dir, name), pkg).CombinedOutput(); err != nil {
			return dir, errors.New(string(out))
		}
	}
	return dir, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if dir, _ := built(); dir != "" {
		_ = os.RemoveAll(dir)
	}
	os.Exit(code)
}

// program returns the path of one of the built programs.
func program(t *testing.T, name string) string {
	t.Helper()
	dir, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, name)
}

// cli returns the CLI that TF_ACC_TERRAFORM_PATH names, or else the first one
// on PATH.
func cli(t *testing.T) string {
	t.Helper()
	for _, candidate := range []string{os.Getenv("TF_ACC_TERRAFORM_PATH"), "terraform", "tofu"} {
		if path, err := exec.LookPath(candidate); err == nil {
			return path
		}
	}
	t.Fatal("there is no terraform and no tofu on PATH: run make test, which builds one")
	return ""
}

// performance is a run of the demo in a separate process.
type performance struct {
	cmd *exec.Cmd
	tmp string
	out sharedBuffer
}

// perform starts the demo with its own directory for temporary files.
func perform(t *testing.T, etcd string) *performance {
	t.Helper()
	p := &performance{tmp: t.TempDir()}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	t.Cleanup(cancel)
	p.cmd = exec.CommandContext(ctx, program(t, "demo"),
		"-cli", cli(t), "-provider", program(t, "terraform-provider-etcd"),
		"-etcd", etcd, "-etcdctl", etcdtest.EtcdctlBinary(t, etcdtest.V36), "-example", "../../examples/local-cluster")
	p.cmd.Env = append(os.Environ(), "TMPDIR="+p.tmp,
		// Variables that a user may have set have no effect.
		"TF_LOG=error", "TF_CLI_ARGS_plan=-no-such-flag", "TF_VAR_directory=/nowhere", "ETCDCTL_ENDPOINTS=nowhere:1", "ETCD_NAME=nobody")
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.out
	p.cmd.Cancel = func() error { return p.cmd.Process.Signal(os.Interrupt) }
	p.cmd.WaitDelay = time.Minute
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return p
}

// end waits for the demo to end, checks that it leaves neither processes nor
// files behind, and returns the output.
func (p *performance) end(t *testing.T, code int) string {
	t.Helper()
	err := p.cmd.Wait()
	out := p.out.String()
	if got := p.cmd.ProcessState.ExitCode(); got != code {
		t.Fatalf("the demo ended with %d (%v), want %d:\n%s", got, err, code, out)
	}
	left, err := os.ReadDir(p.tmp)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range left {
		t.Errorf("left behind: %s", entry.Name())
	}
	for _, process := range processesIn(t, p.tmp) {
		t.Errorf("left running: %s", process)
	}
	if t.Failed() {
		t.Logf("the output was:\n%s", out)
	}
	return out
}

// processesIn returns the processes whose command line or working directory
// contains the directory.
func processesIn(t *testing.T, dir string) []string {
	t.Helper()
	procs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, proc := range procs {
		command, _ := os.ReadFile(proc + "/cmdline") // it may have ended already
		cwd, _ := os.Readlink(proc + "/cwd")
		if bytes.Contains(command, []byte(dir)) || strings.HasPrefix(cwd, dir) {
			found = append(found, fmt.Sprintf("%s in %s: %q", proc, cwd, command))
		}
	}
	return found
}

// inOrder fails unless the patterns match in the text one after the other.
func inOrder(t *testing.T, text string, patterns ...string) {
	t.Helper()
	rest := text
	for _, pattern := range patterns {
		at := regexp.MustCompile("(?m)" + pattern).FindStringIndex(rest)
		if at == nil {
			t.Fatalf("the output lacks %q after what came before it:\n%s", pattern, text)
		}
		rest = rest[at[1]:]
	}
}

func TestDemo(t *testing.T) {
	t.Parallel()
	p := perform(t, etcdtest.Binary(t, etcdtest.V36))
	out := p.end(t, 0)
	const id, rest = `[0-9a-f]{8,16}`, ` +3\.6\.\d+ +yes +http://127\.0\.0\.1:\d+$`
	inOrder(t, out,
		`^1  Three machines from nothing`, `plan   9 to add, 0 to change, 0 to destroy +\d+\.\d s$`, `apply  9 added, 0 changed, 0 destroyed`,
		`NAME  ID  +ROLE +LEADER  VERSION  ALIVE  ENDPOINT$`,
		`^   a +`+id+` +voter +(leader)?`+rest, `^   b +`+id+` +voter +(leader)?`+rest, `^   c +`+id+` +voter +(leader)?`+rest,
		`3 voters, quorum 2: 1 may fail\.`,
		`^2  `, `plan   no changes`,
		`^3  `, `plan   2 to add, 1 to change, 2 to destroy`, `Node a is rebuilt`, `Node b is rebuilt`, `Node c is rebuilt`, `3 voters, quorum 2: 1 may fail\.`, `plan   no changes`,
		`^4  `, `plan   2 to add, 1 to change, 0 to destroy`, `^   d +`+id+` +learner +`+rest, `3 voters, quorum 2: 1 may fail\.`,
		`^5  `, `plan   0 to add, 1 to change, 0 to destroy`, `^   d +`+id+` +voter +`+rest, `4 voters, quorum 3: 1 may fail\.`, `d has the data that was written before it joined\.`,
		`^6  `, `plan   0 to add, 1 to change, 2 to destroy`, `3 voters, quorum 2`, `the cluster has removed [abc]$`, `the process of [abc] has ended$`,
		`^7  `, `apply  0 added, 0 changed, 9 destroyed`, `Warning: Member [abcd] was the last voter$`, `All \d+ processes have ended`,
		`^All as it should be, in \d+\.\d s\.$`)
	if strings.Contains(out, "\x1b") {
		t.Error("there are escape sequences in what is no terminal")
	}
	// The picture of the demo shows a run whose leader was one of a, b and c,
	// as in nearly every run.
	if strings.Contains(out, ", the leader, is removed") {
		text, err := os.ReadFile("../pictures/demo.txt")
		if err != nil {
			t.Fatal(err)
		}
		recorded := regexp.MustCompile(`(?m)^ *\d+\.\d( {2}|$)`).ReplaceAllString(string(text), "")
		if got, want := shape(out), shape(recorded); got != want {
			t.Errorf("the recording is not what the demo prints: run make recording\n%s\nthe recording:\n%s", got, want)
		}
	}
}

// shape returns the output without the parts that differ between two runs.
func shape(out string) string {
	for _, varies := range []struct{ pattern, as string }{
		{`(Terraform|OpenTofu) v\S+`, "CLI"},
		{`\d+\.\d+\.\d+`, "VERSION"},
		{`everything in \S+`, "DIRECTORY"},
		{`[0-9a-f]{16}|[0-9a-f]{15} |[0-9a-f]{14} `, "ID"},
		{`(127\.0\.0\.1|VERSION\.1):\d+`, "PORT"},
		{`\d\d:\d\d:\d\d\.\d+`, "TIME"},
		{`\d+\.\d s`, "SECONDS"},
		{`All \d+ processes`, "PROCESSES"},
		{`voter +leader`, "voter"},
		{`\b[a-d]\b`, "NAME"},
		{` +`, " "},
	} {
		out = regexp.MustCompile(varies.pattern).ReplaceAllString(out, varies.as)
	}
	return out
}

// A user interrupts the demo.
func TestDemoInterrupted(t *testing.T) {
	t.Parallel()
	p := perform(t, etcdtest.Binary(t, etcdtest.V36))
	// In the middle of the first apply: machines run and members are not ready yet.
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		events, _ := filepath.Glob(filepath.Join(p.tmp, "*", "*", "machines.events"))
		if len(events) == 1 {
			if text, _ := os.ReadFile(events[0]); strings.Contains(string(text), " a start ") {
				break
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("no machine was started:\n%s", p.out.String())
		}
	}
	if err := p.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	out := p.end(t, exitInterrupted)
	inOrder(t, out, `^1  `, `^Interrupted\. What was started has been ended, and its files are gone\.$`)
	if strings.Contains(out, "All as it should be") {
		t.Errorf("it says that it went well:\n%s", out)
	}
}

// An etcd fails to start.
func TestDemoFails(t *testing.T) {
	t.Parallel()
	etcd := filepath.Join(t.TempDir(), "etcd")
	script := "#!/bin/sh\n[ \"$*\" != --version ] || { echo etcd Version: 0.0.0; exit; }\necho this etcd does not like mornings\nexit 1\n"
	if err := os.WriteFile(etcd, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	out := perform(t, etcd).end(t, exitFailed)
	inOrder(t, out, `etcd 0\.0\.0`, `^Failed in step 1, Three machines`, `^\w+ apply ended with exit code 1\.$`,
		`^--- \w+ apply`, `Error: `, `^--- machine registry: etcd\.log$`, `^this etcd does not like mornings$`,
		`^What was started has been ended, and its files are gone\.$`)
}

func TestDemoSaysWhatIsMissing(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	all := []string{"-cli", sh, "-provider", sh, "-etcd", sh, "-etcdctl", sh, "-example", "../../examples/local-cluster"}
	for want, args := range map[string][]string{
		"/no/such/terraform":     append(all, "-cli", "/no/such/terraform"),
		"/no/such/etcd":          append(all, "-etcd", "/no/such/etcd"),
		"run make demo":          append(all, "-example", t.TempDir()),
		`unknown argument "now"`: append(all, "now"),
	} {
		var stdout, stderr bytes.Buffer
		if code := run(t.Context(), args, &stdout, &stderr); code != exitUsage || !strings.Contains(stderr.String(), want) || stdout.Len() > 0 {
			t.Errorf("%q: exit code %d, %q %q, want %q", args, code, &stdout, &stderr, want)
		}
	}
}
