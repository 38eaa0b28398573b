// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

//go:build unix

package reconfigure

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// Whatever the umask, the owner can read the file, and nobody else. The umask belongs to the
// process, so no other test runs at the same time.
func TestSaveWhateverTheUmask(t *testing.T) {
	path := filepath.Join(t.TempDir(), "etcd.db")
	defer syscall.Umask(syscall.Umask(0o777))
	if _, err := sendingSnapshot(snapshotOf("a")).Save(t.Context(), SaveRequest{Path: path, Limit: time.Minute}); err != nil {
		t.Fatal(err)
	}
	if at, err := os.Stat(path); err != nil || at.Mode() != 0o600 {
		t.Errorf("%v, %v", at.Mode(), err)
	}
}
