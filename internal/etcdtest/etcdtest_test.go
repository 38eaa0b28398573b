// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdtest

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// What starts, stops and joins is tested by the tests that use it. Here is what would
// let them pass for nothing.

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// verdict records the outcome of a test.
type verdict string

func (*verdict) Helper()                 {}
func (v *verdict) Skipf(string, ...any)  { *v += "skipped" }
func (v *verdict) Fatalf(string, ...any) { *v += "failed " }

func TestNeed(t *testing.T) {
	for _, c := range []struct {
		program, ci, missing string
		want                 verdict
	}{
		{"sh", "true", "", ""},
		{"no-such-program", "", "", "skipped"},
		{"no-such-program", "true", "", "failed skipped"}, // this Fatalf returns
		{"no-such-program", "true", " other no-such-program", "skipped"},
		{"no-such", "true", "no-such-program", "failed skipped"},
	} {
		t.Setenv("CI", c.ci)
		t.Setenv("CI_MISSING", c.missing)
		var got verdict
		if path := Need(&got, c.program); got != c.want || (path == "") != (c.want != "") {
			t.Errorf("%s, CI=%s CI_MISSING=%s: %q, %q; want %q", c.program, c.ci, c.missing, path, got, c.want)
		}
	}
}

func at(ms int) time.Time { return time.Unix(1000, 0).Add(time.Duration(ms) * time.Millisecond) }

func TestLongestGap(t *testing.T) {
	t.Parallel()
	var acks []Write
	for _, ms := range []int{130, 100, 110, 500, 520} { // not sorted
		acks = append(acks, Write{Acked: at(ms)})
	}
	for name, c := range map[string]struct {
		acks      []Write
		from, end time.Time
		want      Gap
	}{
		"in the middle":       {acks, time.Time{}, at(600), Gap{at(130), at(500)}},
		"at the end":          {acks, time.Time{}, at(2000), Gap{at(520), at(2000)}},
		"before the first":    {acks, at(-900), at(600), Gap{at(-900), at(100)}},
		"within another":      {acks, at(200), at(600), Gap{at(200), at(500)}},
		"after the long one":  {acks, at(505), at(600), Gap{at(520), at(600)}},
		"none in that time":   {acks, at(700), at(900), Gap{at(700), at(900)}},
		"one that is all":     {acks[:1], time.Time{}, at(130), Gap{}},
		"nothing was written": {nil, at(0), at(50), Gap{at(0), at(50)}},
	} {
		if got := longestGap(c.acks, c.from, c.end); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// A leader that is cut off from the others acknowledges no write, and clients reach it.
// The writer follows the others, counts what failed, and finds each write that is lost.
func TestLostWritesAreFound(t *testing.T) {
	t.Parallel()
	c := Start(t, 3, Options{Links: true, TLS: NewPKI(t)})
	client := c.Client(t)
	w := c.NewWriter(t, WriterOptions{Timeout: 500 * time.Millisecond})
	old := c.Leader(t)
	c.Split(old)
	Until(t, "another leader", func() bool { return c.Leader(t) != old })
	since := time.Now()
	Until(t, "writes go on", func() bool {
		acks := w.Acknowledged()
		return acks[len(acks)-1].Sent.After(since)
	})
	alone := old.Client(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := alone.Put(ctx, "key", "value"); err == nil {
		t.Error("a write through the isolated member was acknowledged")
	}
	if _, err := alone.Status(WaitContext(t), old.ClientURL()); err != nil {
		t.Errorf("the isolated member does not answer clients: %v", err)
	}
	c.Heal()
	must(t, c.WaitHealthy(WaitContext(t)))
	w.Stop()
	if failures, err := w.Failures(); failures == 0 || err == nil {
		t.Error("no write failed, though one member was cut off")
	}
	lost, err := w.Lost(WaitContext(t), client)
	if err != nil || len(lost) != 0 {
		t.Errorf("lost: %v, %v", lost, err)
	}

	acks := w.Acknowledged()
	gone, changed := acks[0], acks[len(acks)-1]
	_, err = client.Delete(WaitContext(t), gone.Key)
	must(t, err)
	_, err = client.Put(WaitContext(t), changed.Key, "something else")
	must(t, err)
	lost, err = w.Lost(WaitContext(t), client)
	if err != nil || len(lost) != 2 || lost[0] != gone || lost[1] != changed {
		t.Errorf("lost: %v, %v; want %v and %v", lost, err, gone, changed)
	}
}

// orphanVariable makes this test binary the parent process in
// TestProcessesDoNotOutliveTheTestBinary.
const orphanVariable = "ETCDTEST_ORPHAN"

// orphanParent starts a process that writes nothing more: etcd itself would die
// of a broken pipe when it logs.
func orphanParent(t *testing.T) {
	p := NewProcess(t, Options{})
	p.PreStart = []string{"sh", "-c", "echo pid=$$. >&2; exec sleep 600"}
	p.Start()
	Until(t, "it says its ID", func() bool { return strings.Contains(p.Log(), ".\n") })
	_, pid, _ := strings.Cut(p.Log(), "pid=")
	pid, _, _ = strings.Cut(pid, ".")
	fmt.Println(pid, p.Dir())
	select {}
}

func TestProcessesDoNotOutliveTheTestBinary(t *testing.T) {
	t.Parallel()
	if os.Getenv(orphanVariable) != "" {
		orphanParent(t)
	}
	self, err := os.Executable()
	must(t, err)
	cmd := exec.CommandContext(t.Context(), self, "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), orphanVariable+"=1", "TMPDIR="+t.TempDir())
	stdout, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	line, err := bufio.NewReader(stdout).ReadString('\n')
	must(t, err)
	var pid int
	var dir string
	if _, err := fmt.Sscan(line, &pid, &dir); err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	// The kernel shows no environment while the shell executes sleep.
	Until(t, "alive to begin with", func() bool { return alive(pid, dir) })
	must(t, cmd.Process.Signal(syscall.SIGKILL))
	_ = cmd.Wait()
	Until(t, "gone with its parent", func() bool { return !alive(pid, dir) })
}

// alive reports whether pid is a process with that data directory, so that an
// unrelated process with the same ID does not count.
func alive(pid int, dir string) bool {
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	return err == nil && strings.Contains(string(env), "ETCD_DATA_DIR="+dir)
}
