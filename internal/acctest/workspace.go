// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"bytes"
	"cmp"
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

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// ProviderName is the name of the provider's binary.
const ProviderName = "terraform-provider-etcd"

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
	// CLIConfig is the file of the CLI's own settings.
	CLIConfig string

	cli   string
	limit time.Duration

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
	// Limit is how long one command of the CLI may take before it is killed and the
	// test fails, if not [etcdtest.WaitLimit].
	Limit time.Duration
}

// NewWorkspace creates an empty workspace.
func NewWorkspace(tb testing.TB, o WorkspaceOptions) *Workspace {
	tb.Helper()
	base := tb.TempDir()
	o.CLI = cmp.Or(o.CLI, CLI(tb))
	w := &Workspace{Dir: filepath.Join(base, "workspace"), TB: tb, cli: o.CLI, CLIConfig: cliConfig(tb, base, o), limit: cmp.Or(o.Limit, etcdtest.WaitLimit)}
	if err := os.Mkdir(w.Dir, 0o755); err != nil {
		tb.Fatal(err)
	}
	guard(tb, base)
	tb.Cleanup(w.end)
	return w
}

// guardScript waits for the end of its standard input and then ends the remaining
// processes of a test: every process that works below the test's directory (the
// CLI, its providers, machines), repeatedly because supervisors start new ones. If
// there is no /proc, it stops the machines with their own script.
const guardScript = `trap '' HUP INT TERM; cat >/dev/null
round=0
while [ "$round" -lt 600 ]; do
	round=$((round + 1))
	left=$(find /proc/[0-9]*/cwd -prune -lname "$1/*" 2>/dev/null)
	[ -n "$left" ] || break
	for cwd in $left; do
		process=${cwd%/cwd}
		kill -KILL "${process#/proc/}" 2>/dev/null
	done
	sleep 0.1
done
for dir in "$1"/machines/*/; do [ -d "$dir" ] && sh "$2" down "$dir" & done; wait`

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
	if err != nil {
		tb.Fatal(err)
	}
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
	if err := os.WriteFile(filepath.Join(w.Dir, name), []byte(text), 0o600); err != nil {
		w.TB.Fatal(err)
	}
}

// Read returns the contents of a file of the workspace.
func (w *Workspace) Read(name string) string {
	w.TB.Helper()
	text, err := os.ReadFile(filepath.Join(w.Dir, name))
	if err != nil {
		w.TB.Fatal(err)
	}
	return string(text)
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

// State returns the attributes of a resource in the state, or nil if it is not
// there. It reads the file: the CLI would start the provider to print the same.
func (w *Workspace) State(address string) map[string]any {
	w.TB.Helper()
	text, err := os.ReadFile(filepath.Join(w.Dir, "terraform.tfstate"))
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		w.TB.Fatal(err)
	}
	return stateOf(w.TB, text, address)
}

// Run runs the CLI with only these arguments.
func (w *Workspace) Run(args ...string) *Outcome { w.TB.Helper(); return w.launch(args).Wait() }

// Begin starts the CLI with only these arguments.
func (w *Workspace) Begin(args ...string) *Running { w.TB.Helper(); return w.launch(args) }

// Start starts apply or destroy without confirmation and with machine-readable output.
func (w *Workspace) Start(args ...string) *Running {
	w.TB.Helper()
	return w.launch(slices.Concat(args[:1], []string{"-json", "-input=false", "-auto-approve"}, args[1:]))
}

func (w *Workspace) launch(args []string) *Running {
	w.TB.Helper()
	r := &Running{w: w, Cmd: exec.Command(w.cli, args...), args: args, done: make(chan struct{})}
	r.Cmd.Dir = w.Dir
	r.Cmd.Env = append(CleanEnvironment(), "TF_CLI_CONFIG_FILE="+w.CLIConfig, "CHECKPOINT_DISABLE=1", "TF_IN_AUTOMATION=1")
	// The CLI starts the provider three or four times, and each time creates
	// keys and certificates for the connection: half of the cost of a run.
	r.Cmd.Env = append(r.Cmd.Env, "TF_DISABLE_PLUGIN_TLS=1")
	r.Cmd.Env = append(r.Cmd.Env, w.Env...)
	r.Cmd.Stdout, r.Cmd.Stderr = &r.stdout, &r.stderr
	// A provider whose CLI was killed holds the pipes open.
	r.Cmd.WaitDelay = time.Second
	r.begin = time.Now()
	if err := r.Cmd.Start(); err != nil {
		w.TB.Fatalf("acctest: %v", err)
	}
	go func() {
		r.err = r.Cmd.Wait()
		r.end = time.Now()
		close(r.done)
	}()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.runs = append(w.runs, r)
	return r
}

// CleanEnvironment omits the variables that configure the CLI, the provider or
// etcd.
func CleanEnvironment() []string {
	return slices.DeleteFunc(os.Environ(), func(s string) bool {
		return strings.HasPrefix(s, "TF_") || strings.HasPrefix(s, "ETCD")
	})
}

// Running is one run of the CLI.
type Running struct {
	w          *Workspace
	Cmd        *exec.Cmd
	args       []string
	begin, end time.Time
	done       chan struct{}
	err        error // valid after done

	stdout, stderr syncBuffer
}

// Wait waits for the end of the run. It fails the test if that takes longer
// than the limit.
func (r *Running) Wait() *Outcome {
	r.w.TB.Helper()
	timer := time.NewTimer(r.w.limit)
	defer timer.Stop()
	select {
	case <-r.done:
	case <-timer.C:
		r.Kill()
		r.w.TB.Fatalf("acctest: %s did not end within %v", strings.Join(r.args, " "), r.w.limit)
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
	return bytes.Count(r.stdout.bytes(), []byte(`"type":"apply_start"`)) + bytes.Count(r.stdout.bytes(), []byte(`"type":"apply_complete"`))
}

// Kill ends the CLI with SIGKILL and waits for it. Its providers run until the
// test ends.
func (r *Running) Kill() {
	if !r.Ended() {
		_ = r.Cmd.Process.Kill()
	}
	<-r.done
}

// Interrupt sends the CLI the signal of Ctrl-C.
func (r *Running) Interrupt() { _ = r.Cmd.Process.Signal(os.Interrupt) }

// Providers returns the process IDs of the run's providers (Linux only).
func (r *Running) Providers() []int {
	var pids []int
	for _, p := range Processes() {
		if p.parent == r.Cmd.Process.Pid && strings.HasPrefix(filepath.Base(p.exe), ProviderName) {
			pids = append(pids, p.PID)
		}
	}
	return pids
}

func (r *Running) outcome() *Outcome {
	o := &Outcome{TB: r.w.TB, Args: r.args, Stdout: r.stdout.bytes(), Stderr: r.stderr.bytes(), Took: r.end.Sub(r.begin)}
	o.ExitCode = r.Cmd.ProcessState.ExitCode()
	o.parse()
	return o
}

// syncBuffer can be read during writes.
type syncBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write implements io.Writer.
func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *syncBuffer) bytes() []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	return bytes.Clone(b.buf.Bytes())
}
