// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

//go:build unix

package reconfigure

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// limitedIn names the directory for the process of [TestSaveWithinLimits].
const limitedIn = "SAVE_LIMITED_IN"

// If there is no space the error says so, and nothing is left. Whatever the
// umask, only the owner can read the file. Limits and umask apply to a process,
// so this test starts another one.
func TestSaveWithinLimits(t *testing.T) {
	dir := os.Getenv(limitedIn)
	if dir == "" {
		t.Parallel()
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestSaveWithinLimits$")
		cmd.Env = append(os.Environ(), limitedIn+"="+t.TempDir())
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	whole := snapshotOf("a")
	for _, mask := range []int{0, 0o777} {
		syscall.Umask(mask)
		path := filepath.Join(dir, "etcd.db")
		if _, err := sendingSnapshot(whole).Save(t.Context(), SaveRequest{Path: path, Overwrite: true, Limit: time.Minute}); err != nil {
			t.Fatal(err)
		}
		if at, err := os.Stat(path); err != nil || at.Mode() != 0o600 {
			t.Errorf("umask %o: %v, %v", mask, at.Mode(), err)
		}
	}
	before, _, err := Fingerprint(t.Context(), filepath.Join(dir, "etcd.db"))
	if err != nil {
		t.Fatal(err)
	}
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit) }() // for the coverage that is written at the end
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 4096, Max: limit.Max}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"etcd.db", "new.db"} {
		_, err := sendingSnapshot(snapshotOf("b")).Save(t.Context(), SaveRequest{Path: filepath.Join(dir, name), Overwrite: true, Limit: time.Minute})
		if !errors.Is(err, syscall.EFBIG) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if after, _, err := Fingerprint(t.Context(), filepath.Join(dir, "etcd.db")); err != nil || after != before {
		t.Errorf("the old file is another: %v", err)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 2 {
		t.Errorf("there are %v, %v", files, err)
	}
}
