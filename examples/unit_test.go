// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package examples

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// machine runs a systemd service whose files stand below a directory of the
// test's, as systemd would run it: nothing is read or written outside of it,
// and nobody has to be root. It understands the directives that the examples
// use, and fails for others.
type machine struct {
	root string
	tb   testing.TB

	unit map[string][]string
	env  []string // of the machine

	mu     sync.Mutex
	log    bytes.Buffer
	exits  []int // of the main process
	cmd    *exec.Cmd
	ending bool

	stop chan struct{}
	done chan struct{}
}

// boot starts the service of the unit file (a path on the machine) and keeps
// it running until the test ends. env is the machine's.
func boot(tb testing.TB, root, unit string, env ...string) *machine {
	tb.Helper()
	m := &machine{root: root, tb: tb, unit: map[string][]string{}, env: env, stop: make(chan struct{}), done: make(chan struct{})}
	known := []string{
		"Type", "User", "StateDirectory", "StateDirectoryMode", "RuntimeDirectory", "EnvironmentFile", "ExecStartPre", "ExecStart",
		"TimeoutStartSec", "Restart", "RestartSec", "RestartPreventExitStatus", "LimitNOFILE",
	}
	section := ""
	for line := range strings.Lines(read(tb, filepath.Join(root, unit))) {
		line = strings.TrimSpace(line)
		key, value, ok := strings.Cut(line, "=")
		switch {
		case strings.HasPrefix(line, "["):
			section = line
		case section == "[Service]" && ok && !strings.HasPrefix(line, "#"):
			if !slices.Contains(known, key) {
				tb.Fatalf("%s has %s, which this test does not understand", unit, key)
			}
			m.unit[key] = append(m.unit[key], value)
		}
	}
	dirs := []string{"run/" + m.one("RuntimeDirectory"), "usr/local/bin"}
	if m.unit["StateDirectory"] != nil {
		dirs = append(dirs, "var/lib/"+m.one("StateDirectory"))
	}
	for _, dir := range dirs {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o700); err != nil {
			tb.Fatal(err)
		}
	}
	go m.supervise()
	tb.Cleanup(func() {
		m.end()
		if tb.Failed() {
			tb.Logf("%s:\n%s", root, m.said())
		}
	})
	return m
}

// one returns the only value of a directive.
func (m *machine) one(directive string) string {
	if values := m.unit[directive]; len(values) == 1 {
		return values[0]
	}
	m.tb.Fatalf("the unit has %q for %s, want one value", m.unit[directive], directive)
	return ""
}

// supervise is systemd's part: Restart=always, but not after an exit status of
// the main process that RestartPreventExitStatus names.
func (m *machine) supervise() {
	defer close(m.done)
	never := strings.Fields(strings.Join(m.unit["RestartPreventExitStatus"], " "))
	for {
		started := true
		for _, command := range m.unit["ExecStartPre"] {
			started = started && m.run(strings.TrimPrefix(command, "+")) == 0
		}
		if started {
			code := m.run(m.unit["ExecStart"][0])
			m.mu.Lock()
			m.exits = append(m.exits, code)
			m.mu.Unlock()
			if slices.Contains(never, strconv.Itoa(code)) {
				return
			}
		}
		select {
		case <-m.stop:
			return
		case <-time.After(200 * time.Millisecond): // RestartSec, in less time
		}
	}
}

// run runs a command of the unit to its end.
func (m *machine) run(command string) int {
	// Nobody has to be root: the files are those of who runs the test.
	args := strings.Fields(strings.Replace(command, "install -d -o etcd -g etcd ", "install -d ", 1))
	for i, arg := range args {
		if strings.HasPrefix(arg, "/") {
			args[i] = filepath.Join(m.root, arg)
		}
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = m.root
	cmd.Env = append(slices.Clone(m.env),
		"PATH="+filepath.Join(m.root, "usr/local/bin")+":"+os.Getenv("PATH"), "no_proxy=*", "TMPDIR="+m.root,
		"STATE_DIRECTORY="+filepath.Join(m.root, "var/lib", strings.Join(m.unit["StateDirectory"], "")),
		"RUNTIME_DIRECTORY="+filepath.Join(m.root, "run", m.unit["RuntimeDirectory"][0]),
	)
	for _, file := range m.unit["EnvironmentFile"] {
		file, optional := strings.CutPrefix(file, "-")
		text, err := os.ReadFile(filepath.Join(m.root, file))
		if err != nil && optional {
			continue
		}
		if err != nil {
			m.say(err)
			return -1
		}
		for line := range strings.Lines(string(text)) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
				assignment := unquoted(line)
				for _, name := range []string{"ETCD_DATA_DIR=", "ETCD_JOIN_BIN="} { // directories of the machine
					if dir, ok := strings.CutPrefix(assignment, name); ok {
						assignment = name + filepath.Join(m.root, dir)
					}
				}
				cmd.Env = append(cmd.Env, assignment)
			}
		}
	}
	out := &locked{mu: &m.mu, b: &m.log}
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // the script has children
	m.mu.Lock()
	if m.ending {
		m.mu.Unlock()
		return -1
	}
	err := cmd.Start()
	m.cmd = cmd
	m.mu.Unlock()
	if err != nil {
		m.say(err)
		return -1
	}
	err = cmd.Wait()
	m.say(command, "ended:", err)
	return cmd.ProcessState.ExitCode()
}

// unquoted is an assignment of an environment file as systemd reads it, if it is
// of environment_file.
func unquoted(line string) string {
	name, value, _ := strings.Cut(line, "=")
	inner, quoted := strings.CutPrefix(value, `"`)
	if !quoted {
		return line
	}
	inner = strings.TrimSuffix(inner, `"`)
	return name + "=" + strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\$`, `$`, "\\`", "`").Replace(inner)
}

// signal sends the service's processes a signal.
func (m *machine) signal(s syscall.Signal) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.cmd != nil && m.cmd.ProcessState == nil {
		_ = syscall.Kill(-m.cmd.Process.Pid, s)
	}
}

// end takes the machine down.
func (m *machine) end() {
	m.mu.Lock()
	first := !m.ending
	m.ending = true
	m.mu.Unlock()
	if first {
		close(m.stop)
	}
	m.signal(syscall.SIGTERM)
	select {
	case <-m.done:
	case <-time.After(10 * time.Second):
		m.signal(syscall.SIGKILL)
		<-m.done
	}
}

func (m *machine) say(what ...any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	fmt.Fprintln(&m.log, what...)
}

// said returns the end of what the service has printed.
func (m *machine) said() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	text := m.log.String()
	return text[max(0, len(text)-8000):]
}

// locked is a buffer behind a lock.
type locked struct {
	mu *sync.Mutex
	b  *bytes.Buffer
}

// Write implements io.Writer.
func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func read(tb testing.TB, path string) string {
	tb.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	return string(text)
}

// write writes a file below a directory of the test's.
func write(tb testing.TB, path string, mode os.FileMode, text []byte) {
	tb.Helper()
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, text, mode)
	}
	if err != nil {
		tb.Fatal(err)
	}
}
