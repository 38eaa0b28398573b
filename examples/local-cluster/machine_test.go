// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package localcluster tests the machines of the local-cluster example.
package localcluster

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/joinscript"
)

// machine runs machine.sh for one directory.
type machine struct {
	shell []string
	dir   string
	etcd  string
}

// eachShell runs f with a machine for every shell.
func eachShell(t *testing.T, etcd string, f func(t *testing.T, m machine)) {
	t.Helper()
	for _, shell := range [][]string{{"dash"}, {"bash", "--posix"}, {"busybox", "sh"}} {
		t.Run(shell[0], func(t *testing.T) {
			t.Parallel() // most of the time passes in waiting
			etcdtest.Need(t, shell[0])
			m := machine{shell: shell, dir: filepath.Join(t.TempDir(), "node one"), etcd: etcd}
			t.Cleanup(func() {
				if t.Failed() {
					t.Logf("etcd.log:\n%s", m.file("etcd.log"))
				}
				m.run(t, "down")
			})
			f(t, m)
		})
	}
}

// run runs one command the way Terraform's local-exec does: it waits for the
// end of the process and of its output. It returns exit code and output.
func (m machine) run(t *testing.T, command string, env ...string) (int, string) {
	t.Helper()
	// Not t.Context(): down also runs when the test is over.
	ctx, cancel := context.WithTimeout(context.Background(), etcdtest.WaitLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, m.shell[0], append(m.shell[1:], "machine.sh", command, m.dir)...)
	cmd.Env = append(os.Environ(), append([]string{"ETCD_BIN=" + m.etcd, "ETCD_INHERITED=must not be seen"}, env...)...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if cmd.ProcessState == nil {
		t.Fatalf("machine.sh %s: %v", command, err)
	}
	if ctx.Err() != nil {
		t.Fatalf("machine.sh %s does not return, or leaves its output open", command)
	}
	return cmd.ProcessState.ExitCode(), out.String()
}

func (m machine) must(t *testing.T, code int, command string, env ...string) string {
	t.Helper()
	got, out := m.run(t, command, env...)
	if got != code {
		t.Fatalf("machine.sh %s: exit code %d, want %d\n%s", command, got, code, out)
	}
	return out
}

// says is [machine.must] for a command that prints something.
func (m machine) says(t *testing.T, code int, what, command string, env ...string) {
	t.Helper()
	if out := m.must(t, code, command, env...); !strings.Contains(out, what) {
		t.Errorf("%s says %q, want %q", command, out, what)
	}
}

// file is the text of a file of the machine, "" if it is not there.
func (m machine) file(name string) string {
	text, _ := os.ReadFile(filepath.Join(m.dir, name))
	return string(text)
}

// pid returns the pid in a file of the machine, 0 if there is none.
func (m machine) pid(name string) int {
	first, _, _ := strings.Cut(m.file(name), "\n")
	pid, _ := strconv.Atoi(first)
	return pid
}

// runs waits for an etcd of the machine other than one before, and returns its pid.
func (m machine) runs(t *testing.T, before int) (pid int) {
	t.Helper()
	etcdtest.Until(t, "etcd runs", func() bool { pid = m.pid("etcd.pid"); return pid != 0 && pid != before })
	return pid
}

// there reports whether there is a file at a path.
func there(elements ...string) bool {
	_, err := os.Stat(filepath.Join(elements...))
	return err == nil
}

// events returns the words after the name of every event, and checks the time.
func (m machine) events(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(m.dir + ".events")
	must(t, err)
	var all []string
	for line := range strings.Lines(string(text)) {
		ms, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		at, err := strconv.ParseInt(ms, 10, 64)
		if age := time.Since(time.UnixMilli(at)); err != nil || age < -time.Second || age > 24*time.Hour {
			t.Errorf("event %q: the time is not in milliseconds", line)
		}
		what, ok := strings.CutPrefix(rest, filepath.Base(m.dir)+" ")
		if !ok {
			t.Errorf("event %q does not name the machine", line)
		}
		all = append(all, what)
	}
	return all
}

// alive reports whether the process runs. One that has ended and that nobody
// has waited for, as happens in containers without an init, does not.
func alive(pid int) bool {
	if pid <= 0 || syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || !strings.Contains(string(stat), ") Z ")
}

// standIn writes a program that takes etcd's place: it appends its environment
// to env.txt in its directory and stays.
func standIn(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "etcd")
	script := "#!/bin/sh\n{ env | grep ^ETCD | sort; pwd; echo --; } >>env.txt\nexec sleep 1000\n"
	must(t, os.WriteFile(file, []byte(script), 0o700))
	return file
}

// A machine that is up stays as it is, starts its etcd again after a crash, and says what
// runs. The clusters of README.md are machines with a real etcd.
func TestMachineRuns(t *testing.T) {
	eachShell(t, standIn(t), func(t *testing.T, m machine) {
		m.must(t, 0, "up", "MACHINE_ENV=ETCD_NAME=a")
		etcd, supervisor := m.runs(t, 0), m.pid("supervisor.pid")
		m.says(t, 0, "node one: etcd runs (pid ", "status")
		m.must(t, 0, "up", "MACHINE_ENV=ETCD_NAME=a")
		if m.pid("etcd.pid") != etcd || m.pid("supervisor.pid") != supervisor {
			t.Error("a second up with the same contents restarted the machine")
		}
		must(t, syscall.Kill(etcd, syscall.SIGKILL))
		second := m.runs(t, etcd)
		m.must(t, 0, "down")
		if there(m.dir) || alive(second) || alive(supervisor) {
			t.Errorf("after down the directory is there, or etcd %d or its supervisor %d runs", second, supervisor)
		}
		want := fmt.Sprintf("start %d, exit 137, start %d, exit 143", etcd, second)
		if got := strings.Join(m.events(t), ", "); got != want {
			t.Errorf("the events are %q, want %q", got, want)
		}
		if m.must(t, 0, "down") != "" {
			t.Error("down without a machine is not silent")
		}
		m.says(t, 3, "node one: not up\n", "status")
	})
}

// A machine that is created is new, also if the one before it has the same
// contents and was not taken down. One with other contents is new with up, too.
func TestNewMachineIsNew(t *testing.T) {
	etcd := standIn(t)
	must(t, os.Symlink(etcd, filepath.Join(filepath.Dir(etcd), "etcdutl")))
	eachShell(t, etcd, func(t *testing.T, m machine) {
		m.must(t, 0, "up", "MACHINE_ENV=ETCD_NAME=a")
		for _, again := range []string{"up", "new"} {
			first := m.runs(t, 0)
			must(t, os.MkdirAll(filepath.Join(m.dir, "data", "member"), 0o700))
			m.must(t, 0, again, "MACHINE_ENV=ETCD_NAME=b")
			if m.runs(t, 0); alive(first) || there(m.dir, "data") {
				t.Errorf("%s: the machine that was replaced runs on, or the new one has its data", again)
			}
		}
		if !there(m.dir, "bin", "etcdutl") {
			t.Error("the machine has no etcdutl")
		}
	})
}

// The join script decides; what it prints comes over what stands in etcd.env.
func TestMachineObeysTheJoinScript(t *testing.T) {
	join := "MACHINE_JOIN=" + joinscript.Encode(`#!/bin/sh
echo "run" >>runs.txt
env | grep ^ETCD | sort >>seen.txt
echo "a reason" >&2
[ "$(grep -c run runs.txt)" -ge 3 ] || { echo ETCD_INITIAL_CLUSTER=wrong; exit 75; }
echo ETCD_INITIAL_CLUSTER=right
echo ETCD_DISCOVERY=
`)
	env := "MACHINE_ENV=# a comment\n\nETCD_NAME=a\nETCD_INITIAL_CLUSTER=frozen\nETCD_DISCOVERY=http://x\n" +
		"ETCD_QUOTED=\"two words\"\nETCD_SINGLE='$(touch PWNED)'\nETCD_BARE=$(touch PWNED) `touch PWNED` \\ \" '\nnot an assignment\nETCD_EQ=a=b,c=d"
	eachShell(t, standIn(t), func(t *testing.T, m machine) {
		m.must(t, 0, "up", env, join)
		etcdtest.Until(t, "etcd has written", func() bool { return strings.Contains(m.file("env.txt"), "--") })
		want := "ETCD_BARE=$(touch PWNED) `touch PWNED` \\ \" '\nETCD_DATA_DIR=" + m.dir + "/data\nETCD_DISCOVERY=\nETCD_EQ=a=b,c=d\n" +
			"ETCD_INITIAL_CLUSTER=right\nETCD_JOIN_BIN=" + m.dir + "/bin\nETCD_NAME=a\nETCD_QUOTED=two words\nETCD_SINGLE=$(touch PWNED)\n" + m.dir + "\n--\n"
		if text := m.file("env.txt"); text != want {
			t.Errorf("etcd sees\n%s\nwant\n%s", text, want)
		}
		for file, line := range map[string]string{"runs.txt": "run\n", "seen.txt": "ETCD_INITIAL_CLUSTER=frozen\n", "etcd.log": "a reason\n"} {
			if text := m.file(file); strings.Count(text, line) != 3 {
				t.Errorf("%s has %q %d times, want three times:\n%s", file, line, strings.Count(text, line), text)
			}
		}
		if files, _ := filepath.Glob(filepath.Join(m.dir, "PWNED*")); files != nil {
			t.Error("a value of etcd.env was run")
		}
		if info, err := os.Stat(filepath.Join(m.dir, "etcd.env")); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("etcd.env may be read by others: %v %v", info.Mode(), err)
		}
	})
}

func TestMachineStaysDownAfter78(t *testing.T) {
	eachShell(t, standIn(t), func(t *testing.T, m machine) {
		m.must(t, 0, "up", "MACHINE_ENV=ETCD_NAME=a", "MACHINE_JOIN="+joinscript.Encode("echo run >>runs.txt; exit 78"))
		etcdtest.Until(t, "it is stopped for good", func() bool { code, _ := m.run(t, "status"); return code == 2 })
		time.Sleep(time.Second) // more than two retries
		if runs := m.file("runs.txt"); runs != "run\n" {
			t.Errorf("the join script ran %q, want once", runs)
		}
		m.says(t, 2, "node one: stopped for good by the join script\n", "status")
		if got := m.events(t); len(got) != 1 || got[0] != "never 78" {
			t.Errorf("the events are %q", got)
		}
		m.must(t, 0, "down")
	})
}

// A process that hangs is killed, after it has had its time.
func TestMachineDownKillsWhatHangs(t *testing.T) {
	eachShell(t, standIn(t), func(t *testing.T, m machine) {
		m.must(t, 0, "up", "MACHINE_ENV=ETCD_NAME=a")
		// Not before it has become what it is to be: a shell that is stopped on
		// its way there is another story.
		etcdtest.Until(t, "it runs", func() bool {
			command, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", m.pid("etcd.pid")))
			return err == nil && strings.HasPrefix(string(command), "sleep")
		})
		etcd := m.pid("etcd.pid")
		must(t, syscall.Kill(etcd, syscall.SIGSTOP))
		etcdtest.Until(t, "it is stopped", func() bool { return etcdtest.Frozen(etcd) })
		bin := t.TempDir()
		naps := filepath.Join(bin, "naps")
		shim := "#!/bin/sh\necho nap >>'" + naps + "'\nPATH=${PATH#*:}\nexec sleep \"$@\"\n"
		must(t, os.WriteFile(filepath.Join(bin, "sleep"), []byte(shim), 0o700))
		m.says(t, 0, "had to be killed", "down", "PATH="+bin+":"+os.Getenv("PATH"))
		// The 5 s of stop_seconds once, in naps of 0.05 s: not again for etcd,
		// which got its signal from the supervisor.
		text, err := os.ReadFile(naps)
		if n := strings.Count(string(text), "nap"); err != nil || n < 100 || n > 150 {
			t.Errorf("down waited %d times: %v", n, err)
		}
		etcdtest.Until(t, "it has ended", func() bool { return !alive(etcd) })
	})
}

// A join script that SIGTERM does not end, as one that is just being forked may miss
// it, is killed with its supervisor.
func TestMachineDownKillsTheJoinScript(t *testing.T) {
	join := "MACHINE_JOIN=" + joinscript.Encode("trap '' TERM\necho $$ >join.pid.new\nmv join.pid.new join.pid\nwhile :; do sleep 0.1; done\n")
	eachShell(t, standIn(t), func(t *testing.T, m machine) {
		m.must(t, 0, "up", "MACHINE_ENV=ETCD_NAME=a", join)
		etcdtest.Until(t, "the join script runs", func() bool { return m.pid("join.pid") != 0 })
		script := m.pid("join.pid")
		if out := m.must(t, 0, "down"); out != "" {
			t.Errorf("down says %q", out)
		}
		etcdtest.Until(t, "it has ended", func() bool { return !alive(script) })
	})
}

// Without its supervisor etcd is still found; a process that only has the same
// pid is left alone, and so is a directory that is no machine.
func TestMachineDownEndsItsOwnOnly(t *testing.T) {
	eachShell(t, standIn(t), func(t *testing.T, m machine) {
		m.must(t, 0, "up", "MACHINE_ENV=ETCD_NAME=a")
		etcd := m.runs(t, 0)
		must(t, syscall.Kill(m.pid("supervisor.pid"), syscall.SIGKILL))
		stranger := exec.CommandContext(t.Context(), "sleep", "1000")
		must(t, stranger.Start())
		defer func() { _ = stranger.Process.Kill(); _ = stranger.Wait() }()
		record := fmt.Sprintf("%d\n1\n", stranger.Process.Pid)
		must(t, os.WriteFile(filepath.Join(m.dir, "supervisor.pid"), []byte(record), 0o600))
		m.must(t, 0, "down")
		etcdtest.Until(t, "etcd has ended", func() bool { return !alive(etcd) })
		if !alive(stranger.Process.Pid) {
			t.Error("down ended a process that is not the machine's")
		}

		other := m
		other.dir = t.TempDir()
		kept := filepath.Join(other.dir, "kept")
		must(t, os.WriteFile(kept, nil, 0o600))
		if other.says(t, 64, "is no machine: nothing was touched", "down"); !there(kept) {
			t.Error("down removed what is no machine")
		}
	})
}

func TestMachineSaysWhatIsMissing(t *testing.T) {
	eachShell(t, standIn(t), func(t *testing.T, m machine) {
		m.says(t, 64, "MACHINE_ENV is empty", "up")
		m.says(t, 64, "no etcd: /no/such/etcd", "up", "MACHINE_ENV=ETCD_NAME=a", "ETCD_BIN=/no/such/etcd")
		if m.says(t, 64, "usage: machine.sh new|up|down|status DIR", "reboot"); there(m.dir) {
			t.Error("a machine was made")
		}
	})
}

func TestShellcheck(t *testing.T) {
	path := etcdtest.Need(t, "shellcheck")
	if out, err := exec.CommandContext(t.Context(), path, "--norc", "--shell=sh", "--severity=style", "machine.sh").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// must fails the test with an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
