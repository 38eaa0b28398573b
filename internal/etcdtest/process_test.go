// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdtest

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestSuperviseRestarts(t *testing.T) {
	t.Parallel()
	p := NewProcess(t, Options{})
	p.Env["ETCD_INITIAL_CLUSTER"] = p.Name + "=" + p.PeerURL()
	p.Supervise(10 * time.Millisecond)
	noError(t, p.WaitReady(WaitContext(t)))
	first := p.PID()
	p.Kill()
	Until(t, "started again", func() bool { return p.Running() && p.PID() != first })
	if p.Starts() != 2 || p.Exits() != 1 || p.ExitCode() != -1 {
		t.Errorf("starts %d, exits %d, exit code %d", p.Starts(), p.Exits(), p.ExitCode())
	}
	p.Stop()
	if p.Running() {
		t.Error("it runs after Stop")
	}
	if _, err := p.WaitExit(WaitContext(t)); err != nil || p.Starts() != 2 {
		t.Errorf("after Stop: %v, %d starts", err, p.Starts())
	}
}

// The supervisor restarts a new member until it has been added to the cluster.
func TestSupervisedJoinerGetsInOnceAnnounced(t *testing.T) {
	t.Parallel()
	c := Start(t, 1, Options{})
	p := c.NewJoiner(t, "infra2")
	p.Supervise(50 * time.Millisecond)
	Until(t, "two vain starts", func() bool { return p.Exits() >= 2 })
	if p.ExitCode() != 1 {
		t.Errorf("exit code %d", p.ExitCode())
	}
	_, err := c.Client(t).MemberAddAsLearner(WaitContext(t), []string{p.PeerURL()})
	noError(t, err)
	noError(t, p.WaitReady(WaitContext(t)))
	if got := c.MemberID(t, p); got == 0 {
		t.Error("no member ID")
	}
}

func script(t *testing.T, text string) []string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pre-start")
	noError(t, os.WriteFile(path, []byte(text), 0o600))
	return []string{"sh", path}
}

func TestPreStartLaterThenAssignments(t *testing.T) {
	t.Parallel()
	p := NewProcess(t, Options{Name: "x1"})
	count := filepath.Join(t.TempDir(), "count")
	p.Env["COUNT"] = count
	p.PreStart = script(t, `
echo again >> "$COUNT"
if [ $(wc -l < "$COUNT") -lt 3 ]; then echo "not yet, $ETCD_NAME" >&2; exit 75; fi
echo "ETCD_INITIAL_CLUSTER='$ETCD_NAME=$ETCD_INITIAL_ADVERTISE_PEER_URLS'"
`)
	p.Supervise(10 * time.Millisecond)
	noError(t, p.WaitReady(WaitContext(t)))
	if p.Attempts() != 3 || p.Starts() != 1 || p.Exits() != 2 || p.ExitCode() != ExitLater {
		t.Errorf("attempts %d, starts %d, exits %d, exit code %d", p.Attempts(), p.Starts(), p.Exits(), p.ExitCode())
	}
	if log := p.Log(); strings.Count(log, "not yet, x1\n") != 2 || !strings.Contains(log, "ETCD_INITIAL_CLUSTER='x1=http://127.0.0.1:") {
		t.Error("the log does not hold what the script wrote")
	}
}

func TestPreStartNever(t *testing.T) {
	t.Parallel()
	p := NewProcess(t, Options{})
	p.PreStart = script(t, "exit 78\n")
	p.Supervise(time.Millisecond)
	code, err := p.WaitExit(WaitContext(t))
	if err != nil || code != ExitNever {
		t.Errorf("exit code %d, %v", code, err)
	}
	if p.Attempts() != 1 || p.Starts() != 0 {
		t.Errorf("%d attempts, %d starts", p.Attempts(), p.Starts())
	}
	if err := p.WaitReady(WaitContext(t)); err == nil || !strings.Contains(err.Error(), "exit code 78") {
		t.Errorf("WaitReady: %v", err)
	}
}

// Without a supervisor, exit code 75 ends the process too. Output that is not
// an assignment prevents the start of etcd.
func TestPreStartOnce(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{"exit 75\n": 75, "echo no assignment\n": 1, "kill -9 $$\n": -1} {
		p := NewProcess(t, Options{})
		p.PreStart = script(t, text)
		p.Start()
		code, err := p.WaitExit(WaitContext(t))
		if err != nil || code != want || p.Starts() != 0 {
			t.Errorf("%q: exit code %d, %v, %d starts", text, code, err, p.Starts())
		}
	}
}

func TestStopEndsPreStartAndItsChildren(t *testing.T) {
	t.Parallel()
	p := NewProcess(t, Options{})
	p.PreStart = script(t, "echo waiting >&2\nsleep 3600\n")
	p.Supervise(time.Millisecond)
	noError(t, p.WaitLog(WaitContext(t), "waiting"))
	if p.Running() || p.PID() != 0 {
		t.Error("a pre-start command counts as etcd running")
	}
	begin := time.Now()
	p.Stop()
	if took := time.Since(begin); took > WaitLimit {
		t.Errorf("Stop took %v", took)
	}
	if p.Starts() != 0 {
		t.Error("etcd was started")
	}
}

func TestStartFailures(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		do   func(TB)
		want string
	}{
		"v2 on 3.7": {func(tb TB) { NewProcess(tb, Options{Version: V37, V2: true}) }, "etcd 3.7 does not serve the v2 API"},
		"no script": {func(tb TB) {
			p := NewProcess(tb, Options{PreStart: []string{"/nowhere/script"}})
			p.Supervise(time.Millisecond)
		}, "no such file"},
		"frozen while down": {func(tb TB) { NewProcess(tb, Options{}).Freeze() }, "cannot freeze infra1: it was never started"},
		"started twice": {func(tb TB) {
			p := NewProcess(tb, Options{PreStart: []string{"sleep", "3600"}})
			p.Start()
			p.Start()
		}, "cannot start infra1: it runs"},
		"wiped while supervised": {func(tb TB) {
			p := NewProcess(tb, Options{PreStart: []string{"false"}})
			p.Supervise(time.Hour)
			Until(t, "between two starts", func() bool { return p.Exits() == 1 })
			p.Wipe()
		}, "cannot wipe infra1: it runs"},
		"no such member":    {func(tb TB) { newCluster(tb, Options{}).Member("x") }, "no member x"},
		"no links to split": {func(tb TB) { newCluster(tb, Options{}).Heal() }, "without Options.Links"},
	} {
		if err := Run(name, t.Logf, c.do); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestLogsAreShownOnFailureOnly(t *testing.T) {
	t.Parallel()
	for _, fail := range []bool{true, false} {
		var l lines
		err := Run("inner", l.logf, func(tb TB) {
			p := NewProcess(tb, Options{Version: V36})
			p.Env["ETCD_INITIAL_CLUSTER"] = "another=" + p.PeerURL()
			p.Start()
			if _, err := p.WaitExit(WaitContext(t)); err != nil || p.ExitCode() == 0 {
				t.Errorf("exit code %d, %v", p.ExitCode(), err)
			}
			if fail {
				tb.Fatalf("failed")
			}
		})
		if fail != (err != nil) {
			t.Errorf("error: %v", err)
		}
		shown := strings.Contains(l.String(), "the end of the log of infra1 (etcd 3.6)") && strings.Contains(l.String(), "initial-cluster")
		if shown != fail {
			t.Errorf("log shown: %v, failed: %v", shown, fail)
		}
	}
}

// orphanVariable makes this test binary the parent process in
// TestProcessesDoNotOutliveTheTestBinary.
const orphanVariable = "ETCDTEST_ORPHAN"

// orphanParent starts a process that writes nothing more: etcd itself would die
// of a broken pipe when it logs.
func orphanParent() {
	err := Run("orphan", func(string, ...any) {}, func(tb TB) {
		p := NewProcess(tb, Options{PreStart: []string{"sh", "-c", "echo pid=$$. >&2; exec sleep 600"}})
		p.Start()
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := p.WaitLog(ctx, ".\n"); err != nil {
			tb.Fatalf("%v", err)
		}
		_, pid, _ := strings.Cut(p.Log(), "pid=")
		pid, _, _ = strings.Cut(pid, ".")
		fmt.Println(pid, p.Dir())
		select {}
	})
	fmt.Println(err)
}

func TestProcessesDoNotOutliveTheTestBinary(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	noError(t, err)
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), orphanVariable+"=1", "TMPDIR="+t.TempDir())
	stdout, err := cmd.StdoutPipe()
	noError(t, err)
	noError(t, cmd.Start())
	line, err := bufio.NewReader(stdout).ReadString('\n')
	noError(t, err)
	var pid int
	var dir string
	if _, err := fmt.Sscan(line, &pid, &dir); err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	// The kernel shows no environment while the shell executes sleep.
	Until(t, "alive to begin with", func() bool { return alive(pid, dir) })
	noError(t, cmd.Process.Signal(syscall.SIGKILL))
	_ = cmd.Wait()
	Until(t, "gone with its parent", func() bool { return !alive(pid, dir) })
}

// alive reports whether pid is a process with that data directory, so that an
// unrelated process with the same ID does not count.
func alive(pid int, dir string) bool {
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	return err == nil && strings.Contains(string(env), "ETCD_DATA_DIR="+dir)
}

func TestEnvironmentOfOptions(t *testing.T) {
	t.Parallel()
	p := NewProcess(t, Options{
		Version: V35, V2: true, QuotaBytes: 1 << 24, Heartbeat: 20 * time.Millisecond, Election: 200 * time.Millisecond,
		Env: map[string]string{"ETCD_NAME": "other"},
	})
	for key, want := range map[string]string{
		"ETCD_ENABLE_V2":           "true",
		"ETCD_QUOTA_BACKEND_BYTES": "16777216",
		"ETCD_HEARTBEAT_INTERVAL":  "20",
		"ETCD_ELECTION_TIMEOUT":    "200",
		"ETCD_NAME":                "other",
		"ETCD_DATA_DIR":            p.Dir(),
	} {
		if p.Env[key] != want {
			t.Errorf("%s = %q, want %q", key, p.Env[key], want)
		}
	}
}
