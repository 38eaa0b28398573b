// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/joinscript"
)

// Event is a line of a machine's events: etcd started, or exited.
type Event struct {
	At   time.Time
	What string // start PID, exit CODE
}

// Events returns the events of a machine, also after it was destroyed.
func (f *Fleet) Events(name string) []Event {
	f.TB.Helper()
	text, err := os.ReadFile(filepath.Join(f.Machines, name+".events"))
	if err != nil {
		f.TB.Fatal(err)
	}
	var out []Event
	for line := range strings.Lines(string(text)) {
		fields := strings.SplitN(strings.TrimSpace(line), " ", 3)
		ms, err := strconv.ParseInt(fields[0], 10, 64)
		if err != nil || len(fields) != 3 {
			f.TB.Fatalf("event of %s: %q", name, line)
		}
		out = append(out, Event{time.UnixMilli(ms), fields[2]})
	}
	return out
}

// LogLine is a line of etcd's own log.
type LogLine struct {
	At     time.Time
	Msg    string
	Fields map[string]any
}

// SetClock sets the offset of the wall clock of a node's next etcd, which waits
// for open, as with [Fleet.Gate].
func (f *Fleet) SetClock(name string, offset time.Duration) (open func()) {
	f.TB.Helper()
	if f.clocks == nil {
		f.clocks = map[string]time.Duration{}
	}
	f.clocks[name] = offset
	f.Nodes[name].Etcd = etcdtest.ClockBinary(f.TB)
	return f.Gate(name, fmt.Sprintf("CLOCK_OFFSET=%d", int(offset.Seconds())))
}

// Log returns the log lines of a machine's etcd with the message, over all its starts,
// also after it was destroyed. Their times are corrected by the offset of its clock.
func (f *Fleet) Log(name, msg string) []LogLine {
	f.TB.Helper()
	text, err := os.ReadFile(filepath.Join(f.Machines, name+".json"))
	if err != nil {
		f.TB.Fatal(err)
	}
	var out []LogLine
	for line := range strings.Lines(string(text)) {
		l := LogLine{Fields: map[string]any{}}
		if json.Unmarshal([]byte(line), &l.Fields) != nil {
			continue
		}
		l.Msg, _ = l.Fields["msg"].(string)
		ts, _ := l.Fields["ts"].(string)
		at, err := time.Parse("2006-01-02T15:04:05.000000Z0700", ts)
		if err != nil || !strings.Contains(l.Msg, msg) {
			continue
		}
		l.At = at.Add(-f.clocks[name])
		out = append(out, l)
	}
	return out
}

// PID returns the process ID in a file of a machine, or 0 if there is none.
func (f *Fleet) PID(name, file string) int {
	text, _ := os.ReadFile(filepath.Join(f.Machines, name, file))
	first, _, _ := strings.Cut(string(text), "\n")
	pid, _ := strconv.Atoi(first)
	return pid
}

// Crash kills the machine's supervisor and its etcd, and waits for their end:
// the machine is down, and its directory stays.
func (f *Fleet) Crash(names ...string) {
	f.TB.Helper()
	killed := map[int]bool{}
	for _, name := range names {
		f.awaitEtcd(name)
		for _, file := range []string{"supervisor.pid", "etcd.pid"} {
			killed[f.PID(name, file)] = true
			if err := f.SignalFile(name, file, syscall.SIGKILL); err != nil {
				f.TB.Fatalf("crash %s: %v", name, err)
			}
		}
	}
	etcdtest.Eventually(f.TB, fmt.Sprintf("%v are gone", names), func() error {
		for _, p := range Processes() {
			if killed[p.PID] {
				return fmt.Errorf("%d still runs", p.PID)
			}
		}
		return nil
	})
}

// Signal sends a signal to the machine's etcd.
func (f *Fleet) Signal(name string, sig os.Signal) {
	f.TB.Helper()
	f.awaitEtcd(name)
	if err := f.SignalFile(name, "etcd.pid", sig); err != nil {
		f.TB.Fatalf("signal %s: %v", name, err)
	}
}

// awaitEtcd waits for the etcd of a machine, which may be between two starts.
func (f *Fleet) awaitEtcd(name string) {
	f.TB.Helper()
	etcdtest.Eventually(f.TB, "etcd runs on "+name, func() error {
		if f.PID(name, "etcd.pid") == 0 {
			return fmt.Errorf("%s has no etcd.pid", name)
		}
		return nil
	})
}

// SignalFile sends a signal to the process in a file of a machine.
func (f *Fleet) SignalFile(name, file string, sig os.Signal) error {
	pid := f.PID(name, file)
	if pid == 0 {
		return fmt.Errorf("%s has no %s", name, file)
	}
	p, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	return p.Signal(sig)
}

// Repair boots a crashed machine again, with its disk.
func (f *Fleet) Repair(names ...string) {
	f.TB.Helper()
	for _, name := range names {
		dir := filepath.Join(f.Machines, name)
		env, err := os.ReadFile(filepath.Join(dir, "etcd.env"))
		if err != nil {
			f.TB.Fatal(err)
		}
		join, _ := os.ReadFile(filepath.Join(dir, "join.sh"))
		f.RunMachine("up", name, "ETCD_BIN="+f.Nodes[name].Etcd, "MACHINE_ENV="+string(env), MachineJoin(string(join)))
	}
}

// MachineJoin returns the variable that passes a join script, which may be
// empty, to machine.sh.
func MachineJoin(script string) string {
	if script == "" {
		return "MACHINE_JOIN="
	}
	return "MACHINE_JOIN=" + joinscript.Encode(script)
}

// RunMachine runs machine.sh for a machine.
func (f *Fleet) RunMachine(command, name string, env ...string) {
	f.TB.Helper()
	cmd := exec.Command("sh", f.MachineScript, command, filepath.Join(f.Machines, name))
	cmd.Env = append(CleanEnvironment(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		f.TB.Fatalf("machine.sh %s %s: %v\n%s", command, name, err, out)
	}
}

// MustBeGone fails the test if a process or a directory of a machine is left.
func (f *Fleet) MustBeGone() {
	f.TB.Helper()
	// A sleep or curl of a join script outlives it for a moment. systemd would
	// end it with the service.
	var left []string
	for range 40 {
		if left = ProcessesIn(filepath.Dir(f.Dir)); len(left) == 0 {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	for _, p := range left {
		f.TB.Errorf("left running: %s", p)
	}
	entries, err := os.ReadDir(f.Machines)
	if err != nil {
		f.TB.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() {
			f.TB.Errorf("left: %s", filepath.Join(f.Machines, e.Name()))
		}
	}
}

// Gate gives a node an etcd that waits at its start until open is called, so
// that a test can act between the addition and the start of the member.
//
// environment is additionally set for that etcd, as KEY=value.
func (f *Fleet) Gate(name string, environment ...string) (open func()) {
	f.TB.Helper()
	gate := filepath.Join(f.Machines, name+".open")
	exports := ""
	for _, e := range environment {
		exports += fmt.Sprintf("export '%s'\n", e)
	}
	f.wrap(name, exports+fmt.Sprintf("while [ ! -e '%s' ]; do sleep 0.05; done\n", gate))
	return func() {
		f.TB.Helper()
		if err := os.WriteFile(gate, nil, 0o600); err != nil {
			f.TB.Fatal(err)
		}
	}
}

// Break gives a node an etcd that fails until repair is called.
func (f *Fleet) Break(name string) (repair func()) {
	f.TB.Helper()
	marker := filepath.Join(f.Machines, name+".mended")
	f.wrap(name, fmt.Sprintf("[ -e '%s' ] || exit 1\n", marker))
	return func() {
		f.TB.Helper()
		if err := os.WriteFile(marker, nil, 0o600); err != nil {
			f.TB.Fatal(err)
		}
	}
}

// wrap runs shell commands before a node's etcd.
func (f *Fleet) wrap(name, commands string) {
	f.TB.Helper()
	path := filepath.Join(f.Machines, name+".etcd")
	if f.Nodes[name].Etcd == path {
		f.TB.Fatalf("acctest: the etcd of %s is wrapped already", name)
	}
	text := fmt.Sprintf("#!/bin/sh\n%sexec '%s' \"$@\"\n", commands, f.Nodes[name].Etcd)
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		f.TB.Fatal(err)
	}
	f.Nodes[name].Etcd = path
}

// Rewrite changes a machine's etcd.env, line by line, and restarts its etcd. It
// returns when the next process runs.
func (f *Fleet) Rewrite(name string, line func(string) string) {
	f.TB.Helper()
	path := filepath.Join(f.Machines, name, "etcd.env")
	text, err := os.ReadFile(path)
	if err != nil {
		f.TB.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	for i, l := range lines {
		lines[i] = line(l)
	}
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		f.TB.Fatal(err)
	}
	was := f.PID(name, "etcd.pid")
	f.Signal(name, syscall.SIGTERM)
	etcdtest.Eventually(f.TB, name+" starts again", func() error {
		if now := f.PID(name, "etcd.pid"); now == 0 || now == was {
			return fmt.Errorf("process %d", now)
		}
		return nil
	})
}
