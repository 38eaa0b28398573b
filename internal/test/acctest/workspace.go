// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/must"
)

// Workspace is a directory with a configuration, in which a real Terraform or
// OpenTofu runs the built provider, each in its own process. At the end of the
// test, remaining processes are killed. Only the test's goroutine may call the
// methods; those of [Running] may be called from any goroutine.
type Workspace struct {
	// Dir is the working directory of the CLI.
	Dir string
	// Env is added to the environment of the CLI.
	Env []string

	TB testing.TB
	// Prepare is called before each run of the CLI, if it is not nil.
	Prepare func()

	cli, cliConfig string // the program, and the file of its own settings

	mu   sync.Mutex
	runs []*Running
}

// WorkspaceOptions say how the CLI finds the provider.
type WorkspaceOptions struct {
	// Mirror installs the provider from a file system mirror with init.
	Mirror bool
	// Others are the binaries of other providers, by organisation/name, or by
	// organisation/name/version for those in the mirror.
	Others map[string]string
	// Served says that the test serves the providers: nothing is built, and there is no init.
	Served bool
	// CLI is the Terraform or OpenTofu to run, that of [CLI] if empty.
	CLI string
}

// NewWorkspace creates an empty workspace.
func NewWorkspace(tb testing.TB, o WorkspaceOptions) *Workspace {
	tb.Helper()
	base := tb.TempDir()
	o.CLI = cmp.Or(o.CLI, CLI(tb))
	w := &Workspace{Dir: filepath.Join(base, "workspace"), TB: tb, cli: o.CLI, cliConfig: cliConfig(tb, base, o)}
	must.Succeed(tb, os.Mkdir(w.Dir, 0o755))
	guard(tb, base)
	tb.Cleanup(w.end)
	return w
}

// guardScript waits for the end of its standard input and then ends the remaining
// processes of a test: every process that works below the test's directory (the
// CLI, its providers, machines), repeatedly because supervisors start new ones. If
// there is no /proc, it stops the machines with their own script.
//
//go:embed testdata/guard.sh
var guardScript string

// guard starts a process that ends all processes of the test when the test or
// this process ends for any reason: a provider outlives a killed CLI, and a
// machine is a separate session.
func guard(tb testing.TB, dir string) {
	tb.Helper()
	cmd := exec.Command("sh", "-c", guardScript, "guard", dir, filepath.Join(etcdtest.ModuleRoot(tb), "examples", "local-cluster", "machine.sh"))
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	must.Succeed(tb, err)
	tb.Cleanup(func() {
		_ = in.Close()
		if err := cmd.Wait(); err != nil {
			tb.Logf("acctest: ending what was left running: %v", err)
		}
		for _, p := range processesIn(dir) {
			tb.Errorf("acctest: still running after the test: %s", p)
		}
	})
}

// end kills the remaining runs and, if the test failed, logs the output of
// every run.
func (w *Workspace) end() {
	for _, r := range w.runs {
		r.Kill()
		if w.TB.Failed() {
			w.TB.Log(r.outcome().String())
		}
	}
}

// Write writes a file of the configuration.
func (w *Workspace) Write(name, text string) {
	w.TB.Helper()
	must.Write(w.TB, filepath.Join(w.Dir, name), text)
}

// Read returns the contents of a file of the workspace.
func (w *Workspace) Read(name string) string {
	w.TB.Helper()
	return must.Read(w.TB, filepath.Join(w.Dir, name))
}

// Init runs init. It is necessary only with a mirror.
func (w *Workspace) Init(args ...string) *Outcome {
	w.TB.Helper()
	return w.Run(append([]string{"init", "-input=false"}, args...)...).MustSucceed()
}

// Mirror returns the directory of the mirror, if the options enable it.
func (w *Workspace) Mirror() string { return mirrorIn(filepath.Dir(w.Dir)) }

// Apply runs apply and accepts any result.
func (w *Workspace) Apply(args ...string) *Outcome {
	w.TB.Helper()
	return w.Start(append([]string{"apply"}, args...)...).Wait()
}

// Destroy runs destroy and accepts any result.
func (w *Workspace) Destroy(args ...string) *Outcome {
	w.TB.Helper()
	return w.Start(append([]string{"destroy"}, args...)...).Wait()
}

// Plan runs plan and accepts any result. Its exit code is 0 for an empty plan,
// 1 for an error and 2 for changes.
func (w *Workspace) Plan(args ...string) *Plan {
	w.TB.Helper()
	w.mu.Lock()
	file := fmt.Sprintf("plan-%d.bin", len(w.runs))
	w.mu.Unlock()
	return &Plan{Outcome: w.Run(append([]string{"plan", "-json", "-input=false", "-detailed-exitcode", "-out=" + file}, args...)...), File: file}
}

// State returns the attributes of a resource in the state, or nil if it is not there. It reads
// the file: the CLI would start the provider to print the same.
func (w *Workspace) State(address string) map[string]any {
	w.TB.Helper()
	var state struct {
		Resources []struct {
			Module, Mode, Type, Name string
			Instances                []struct {
				Key        any `json:"index_key"`
				Deposed    string
				Attributes map[string]any
			}
		}
	}
	text, err := os.ReadFile(filepath.Join(w.Dir, "terraform.tfstate"))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = json.Unmarshal(text, &state)
	}
	must.Succeed(w.TB, err)
	for _, r := range state.Resources {
		for _, i := range r.Instances {
			at := strings.TrimPrefix(r.Module+"."+strings.TrimPrefix(r.Mode+".", "managed.")+r.Type+"."+r.Name, ".")
			if i.Key != nil {
				at += fmt.Sprintf("[%#v]", i.Key)
			}
			if at == address && i.Deposed == "" {
				return i.Attributes
			}
		}
	}
	return nil
}

// Run runs the CLI with only these arguments.
func (w *Workspace) Run(args ...string) *Outcome { w.TB.Helper(); return w.Begin(args...).Wait() }

// Start starts apply or destroy without confirmation and with machine-readable output.
func (w *Workspace) Start(args ...string) *Running {
	w.TB.Helper()
	return w.Begin(slices.Concat(args[:1], []string{"-json", "-input=false", "-auto-approve"}, args[1:])...)
}

// Begin starts the CLI with only these arguments.
func (w *Workspace) Begin(args ...string) *Running {
	w.TB.Helper()
	if w.Prepare != nil {
		w.Prepare()
	}
	r := &Running{w: w, Cmd: exec.Command(w.cli, args...), done: make(chan struct{})}
	r.Cmd.Dir = w.Dir
	r.Cmd.Env = append(etcdtest.CleanEnvironment(), "TF_CLI_CONFIG_FILE="+w.cliConfig, "CHECKPOINT_DISABLE=1", "TF_IN_AUTOMATION=1")
	// The CLI starts the provider three or four times, and each time creates
	// keys and certificates for the connection: half of the cost of a run.
	r.Cmd.Env = append(r.Cmd.Env, "TF_DISABLE_PLUGIN_TLS=1")
	r.Cmd.Env = append(r.Cmd.Env, w.Env...)
	var err1, err2 error
	r.stdout, err1 = os.CreateTemp(filepath.Dir(w.Dir), "stdout-")
	r.stderr, err2 = os.CreateTemp(filepath.Dir(w.Dir), "stderr-")
	r.Cmd.Stdout, r.Cmd.Stderr = r.stdout, r.stderr
	begin := time.Now()
	if err := cmp.Or(err1, err2, r.Cmd.Start()); err != nil {
		w.TB.Fatalf("acctest: %v", err)
	}
	go func() {
		_ = r.Cmd.Wait() // the exit code says it
		r.took = time.Since(begin)
		_, _ = r.stdout.Close(), r.stderr.Close()
		close(r.done)
	}()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.runs = append(w.runs, r)
	return r
}

// Running is one run of the CLI.
type Running struct {
	Cmd *exec.Cmd

	w              *Workspace
	stdout, stderr *os.File // a provider whose CLI was killed would hold a pipe open
	done           chan struct{}
	took           time.Duration // valid after done
}

// Wait waits for the end of the run. It fails the test if that takes longer
// than [etcdtest.WaitLimit].
func (r *Running) Wait() *Outcome {
	r.w.TB.Helper()
	select {
	case <-r.done:
	case <-time.After(etcdtest.WaitLimit):
		r.Kill()
		r.w.TB.Fatalf("acctest: %v did not end within %v", r.Cmd.Args[1:], etcdtest.WaitLimit)
	}
	return r.outcome()
}

// Ended reports whether the run has ended.
func (r *Running) Ended() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

// Steps is the number of starts and ends of changes that the run has printed so far.
func (r *Running) Steps() int {
	text, _ := os.ReadFile(r.stdout.Name())
	return bytes.Count(text, []byte(`"type":"apply_start"`)) + bytes.Count(text, []byte(`"type":"apply_complete"`))
}

// Kill ends the CLI with SIGKILL and waits for it. Its providers run until the
// test ends.
func (r *Running) Kill() {
	if !r.Ended() {
		_ = r.Cmd.Process.Kill()
	}
	<-r.done
}

func (r *Running) outcome() *Outcome {
	o := &Outcome{TB: r.w.TB, Args: r.Cmd.Args[1:], ExitCode: r.Cmd.ProcessState.ExitCode(), Took: r.took}
	var err1, err2 error
	o.Stdout, err1 = os.ReadFile(r.stdout.Name())
	o.Stderr, err2 = os.ReadFile(r.stderr.Name())
	must.Succeed(r.w.TB, cmp.Or(err1, err2))
	o.parse()
	return o
}
