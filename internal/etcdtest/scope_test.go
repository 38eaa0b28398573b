// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdtest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// lines collects log lines.
type lines struct {
	mu  sync.Mutex
	all []string
}

func (l *lines) logf(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, fmt.Sprintf(format, args...))
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.all, "\n")
}

func TestRun(t *testing.T) {
	var order []string
	var dir string
	err := Run("a name/with: signs", t.Logf, func(tb TB) {
		dir = tb.TempDir()
		if other := tb.TempDir(); other == dir {
			t.Errorf("the same directory twice: %s", dir)
		}
		noError(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
		tb.Cleanup(func() { order = append(order, "first") })
		tb.Cleanup(func() {
			if !tb.Failed() {
				t.Error("not failed, in a cleanup after Fatalf")
			}
			order = append(order, "second")
			tb.Fatalf("in a cleanup")
		})
		if tb.Failed() {
			t.Error("failed before Fatalf")
		}
		tb.Fatalf("it broke: %s", "the cause")
		t.Error("Fatalf returned")
	})
	if err == nil || !strings.Contains(err.Error(), "it broke: the cause") || !strings.Contains(err.Error(), "in a cleanup") {
		t.Errorf("error: %v", err)
	}
	if !slices.Equal(order, []string{"second", "first"}) {
		t.Errorf("cleanups in the order %v", order)
	}
	if _, err := os.Stat(filepath.Dir(dir)); !os.IsNotExist(err) {
		t.Errorf("the directory is still there: %v", err)
	}
	noError(t, Run("fine", t.Logf, func(TB) {}))
}

func TestMissingBinary(t *testing.T) {
	t.Setenv(binDirVariable, t.TempDir())
	for name, find := range map[string]func(TB, Version) string{"etcd-3.6": Binary, "etcdctl-3.6": EtcdctlBinary} {
		err := Run("missing", t.Logf, func(tb TB) { find(tb, V36) })
		if err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "run `make tools` at the root of the repository, or set ETCDTEST_BIN") {
			t.Errorf("%s: %v", name, err)
		}
	}
	path := filepath.Join(os.Getenv(binDirVariable), "etcd-3.6")
	noError(t, os.WriteFile(path, nil, 0o600))
	if err := Run("no program", t.Logf, func(tb TB) { Binary(tb, V36) }); err == nil || !strings.Contains(err.Error(), "no executable file") {
		t.Errorf("a file that is no program: %v", err)
	}
	noError(t, os.Chmod(path, 0o700))
	noError(t, Run("there", t.Logf, func(tb TB) {
		if got := Binary(tb, V36); got != path {
			t.Errorf("Binary = %s, want %s", got, path)
		}
	}))
}

func TestLogBuffer(t *testing.T) {
	var b logBuffer
	_, _ = b.Write([]byte("first\n"))
	if got := b.lastLines(3); got != "first" {
		t.Errorf("last lines of one: %q", got)
	}
	chunk := []byte(strings.Repeat("0123456789abcde\n", 1<<16)) // 1 MiB
	for range 8 {
		_, _ = b.Write(chunk)
	}
	b.notef("the %s", "end")
	got := b.String()
	if !strings.HasPrefix(got, "first\n0123") || !strings.HasSuffix(got, "\n--- etcdtest: the end\n") {
		t.Errorf("beginning and end: %q … %q", got[:20], got[len(got)-40:])
	}
	if len(got) < logHead+logTail || len(got) > logHead+2*logTail+100 {
		t.Errorf("%d bytes kept", len(got))
	}
	if !strings.Contains(got, "bytes left out ---\n") || !b.contains("bytes left out") {
		t.Error("it does not say that something is missing")
	}
	if got := b.lastLines(2); got != "0123456789abcde\n--- etcdtest: the end" {
		t.Errorf("last lines: %q", got)
	}
}

func TestParseAssignments(t *testing.T) {
	got, err := parseAssignments("# comment\n; too\n\nETCD_A=1\n ETCD_B='x \"y\"' \nETCD_C=\"a \\\"b\\\\\"\nETCD_D=\nETCD_E=a=b,c=d")
	noError(t, err)
	want := map[string]string{"ETCD_A": "1", "ETCD_B": `x "y"`, "ETCD_C": `a "b\`, "ETCD_D": "", "ETCD_E": "a=b,c=d"}
	for k, v := range want {
		if got[k] != v {
			t.Errorf("%s = %q, want %q", k, got[k], v)
		}
	}
	if len(got) != len(want) {
		t.Errorf("got %v", got)
	}
	for _, bad := range []string{"no assignment", "=x", "export ETCD_A=1"} {
		if _, err := parseAssignments(bad); err == nil || !strings.Contains(err.Error(), "is no assignment") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
