// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

import (
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
)

// SnapshotPathTaken returns the error for two resources with the same file.
var SnapshotPathTaken = of1[string]("Two snapshots at one path",
	"Another etcd_snapshot of this configuration makes the file %s too, and each would replace the other's. Give each of them a path of its own.")

// SnapshotChanged returns the warning for a file that differs from the file
// that the resource made. now and made are hashes.
var SnapshotChanged = of3[string, string, string]("The snapshot file has changed",
	"%s has the SHA-256 %s. It was made with the SHA-256 %s. The apply takes a new snapshot and replaces the file. To keep the file, move it to another place first.")

// SnapshotUnread returns the warning for a file that a refresh cannot read.
var SnapshotUnread = of2[string, error]("Cannot check the snapshot file",
	"%s cannot be read, so this Terraform run assumes that it has not changed: %s.")

// SnapshotNotOurs returns the warning for a file that has changed and is not deleted.
var SnapshotNotOurs = of1[string]("The snapshot file was kept",
	"%s has changed since the snapshot was taken, so it may be another file. Delete it by hand if it is not needed.")

// SnapshotKept returns the warning for a file that could not be deleted.
var SnapshotKept = of2[string, error]("The snapshot file was kept",
	"%s could not be deleted: %s. Delete it by hand.")

// SnapshotImport is the error for the import of a snapshot.
var SnapshotImport = New("Cannot import a snapshot",
	"A file does not say which cluster and which member it came from. Create the resource with another path, which takes a new snapshot. To restore from the file, give its path to the restore: it needs no resource.")

// snapshotNotReplaced says why a new snapshot does not replace the file of an earlier
// one, and what was found.
func snapshotNotReplaced(k *reconfigure.BackupKept) string {
	return sprintf("The file %s stays as it is. It has %s. The new snapshot has %s. A snapshot replaces the file only if it is of the same cluster, and of the same or a later revision.\n\n"+
		"If the endpoints lead to another cluster than the one to save, correct them, then apply again. If the new data is the data to save from now on, as after a restore, "+
		"give the resource another path. The file at the present path is then kept.", k.Path, own(backup(k.Was.Cluster, k.Was.Most)), own(backup(k.Now.Cluster, k.Now.Least)))
}

func backup(cluster membership.ClusterID, revision int64) string {
	return sprintf("revision %d of cluster %s", revision, cluster)
}
