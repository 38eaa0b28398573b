// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package commands

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// In a read-only directory the apply fails with an error that says so, and the
// existing file does not change.
func TestAccSnapshotReadOnly(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("a file system can be mounted by root only")
	}
	b := etcdtest.Start(t, 1, etcdtest.Options{})
	s := newSnapshots(t, b)
	disk := filepath.Join(s.Dir, "disk")
	if err := os.Mkdir(disk, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("none", disk, "tmpfs", 0, "size=64m"); err != nil {
		t.Skipf("no file system can be mounted: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(disk, syscall.MNT_DETACH) })
	s.configureAt("disk/etcd.db", `triggers = { day = "monday" }`)
	s.Apply().MustSucceed().MustBeQuiet()
	before, _ := s.mustHold("disk/etcd.db")
	if err := syscall.Mount("none", disk, "tmpfs", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	s.Plan().MustBeEmpty()
	s.write(3)
	s.configureAt("disk/etcd.db", `triggers = { day = "tuesday" }`)
	e := s.Apply().MustFail().MustSay("Cannot save a snapshot")
	e.MustContain(t, e.Summary, "read-only file system")
	if after, _ := s.mustHold("disk/etcd.db"); after != before {
		t.Errorf("the file was %+v and is %+v", before, after)
	}
	if err := syscall.Mount("none", disk, "tmpfs", syscall.MS_REMOUNT, ""); err != nil {
		t.Fatal(err)
	}
	s.Apply().MustSucceed().MustBeQuiet()
	if after, _ := s.mustHold("disk/etcd.db"); after.Revision <= before.Revision {
		t.Errorf("the revision was %d and is %d", before.Revision, after.Revision)
	}
}
