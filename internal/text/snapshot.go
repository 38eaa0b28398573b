// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

import (
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
)

// SnapshotPathTaken returns the error for two resources with the same file.
func SnapshotPathTaken(path string) Message {
	return newMessage("Two snapshots at one path", "Another etcd_snapshot of this configuration makes the file %s too, and each would replace the other's. Give each of them a path of its own.", path)
}

// SnapshotChanged returns the warning for a file that differs from the file
// that the resource made. now and made are hashes.
func SnapshotChanged(path, now, made string) Message {
	return newMessage("The snapshot file has changed", "%s has the SHA-256 %s. It was made with the SHA-256 %s. The apply takes a new snapshot and replaces the file. To keep the file, move it to another place first.", path, now, made)
}

// SnapshotUnread returns the warning for a file that a refresh cannot read.
func SnapshotUnread(path string, err error) Message {
	return newMessage("Cannot check the snapshot file", "%s cannot be read, so this Terraform run assumes that it has not changed: %s.", path, sentence(err))
}

// SnapshotNotOurs returns the warning for a file that has changed and is not deleted.
func SnapshotNotOurs(path string) Message {
	return newMessage("The snapshot file was kept", "%s has changed since the snapshot was taken, so it may be another file. Delete it by hand if it is not needed.", path)
}

// SnapshotKept returns the warning for a file that could not be deleted.
func SnapshotKept(path string, err error) Message {
	return newMessage("The snapshot file was kept", "%s could not be deleted: %s. Delete it by hand.", path, sentence(err))
}

// SnapshotImport is the error for the import of a snapshot.
var SnapshotImport = newMessage("Cannot import a snapshot",
	"A file does not say which cluster and which member it came from. Create the resource with another path, which takes a new snapshot. To restore from the file, give its path to the restore: it needs no resource.")

// snapshotNotReplaced says why a new snapshot does not replace the file of an earlier
// one, and what was found.
func snapshotNotReplaced(k *reconfigure.BackupKept) string {
	return sprintf("The file %s stays as it is. It has %s. The new snapshot has %s. A snapshot replaces the file only if it is of the same cluster, and of the same or a later revision.\n\n"+
		"If the endpoints lead to another cluster than the one to save, correct them, then apply again. If the new data is the data to save from now on, "+
		"give the resource another path. The file at the present path is then kept.", k.Path, own(backup(k.Was.Cluster, k.Was.Most)), own(backup(k.Now.Cluster, k.Now.Least)))
}

func backup(cluster membership.ClusterID, revision int64) string {
	return sprintf("revision %d of cluster %s", revision, cluster)
}
