// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package joinscript

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// Test a disk that is too small for the restored data: the message says so,
// nothing remains, and the same run succeeds on a larger disk.
func TestRestoreOnAFullDisk(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("a file system of a certain size can be mounted by root only")
	}
	file, sum, _ := backup(t, etcdtest.V36)
	url := serve(t, file)
	each(t, func(t *testing.T, sh shell) {
		disk := t.TempDir()
		if err := syscall.Mount("none", disk, "tmpfs", 0, "size=16k"); err != nil {
			t.Skipf("no file system can be mounted: %v", err)
		}
		t.Cleanup(func() { _ = syscall.Unmount(disk, syscall.MNT_DETACH) })
		bin := programs(t, etcdtest.V36)
		for _, c := range []struct{ snapshot, says string }{{file, "cannot copy it: "}, {url, "cannot download it: "}} {
			env := []string{
				"ETCD_INITIAL_CLUSTER=us=" + own, "ETCD_INITIAL_CLUSTER_TOKEN=T", window, at(created), "ETCD_DATA_DIR=" + filepath.Join(disk, "data"), "ETCD_JOIN_BIN=" + bin,
				RestoreVariable + "=" + c.snapshot, RestoreSHA256Variable + "=" + sum,
			}
			ask(t, sh, true, nil, env...).want(t, exitRetry, "", "cannot restore the snapshot: "+c.says)
			wantNothing(t, filepath.Join(disk, "data"))
			if err := syscall.Mount("none", disk, "tmpfs", syscall.MS_REMOUNT, "size=512m"); err != nil {
				t.Fatal(err)
			}
			ask(t, sh, true, nil, env...).want(t, 0, "", "no peer answers")
			if err := os.RemoveAll(filepath.Join(disk, "data")); err != nil {
				t.Fatal(err)
			}
			if left, _ := filepath.Glob(disk + "/data.*"); len(left) != 1 || os.Remove(left[0]) != nil {
				t.Fatalf("beside the data are %q", left)
			}
			if err := syscall.Mount("none", disk, "tmpfs", syscall.MS_REMOUNT, "size=16k"); err != nil {
				t.Fatal(err)
			}
		}
	}, "restore")
}
