// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

import (
	"errors"
	"io/fs"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
)

func TestSnapshotTexts(t *testing.T) {
	denied := &fs.PathError{Op: "open", Path: "etcd.db", Err: errors.New("permission denied")}
	for _, tt := range []struct {
		got           Message
		summary, want string
	}{
		{
			SnapshotPathTaken("etcd.db"), "Two snapshots at one path",
			"Another etcd_snapshot of this configuration makes the file etcd.db too, and each would replace the other's. Give each of them a path of its own.",
		},
		{
			SnapshotChanged("etcd.db", "bb", "aa"), "The snapshot file has changed",
			"etcd.db has the SHA-256 bb. It was made with the SHA-256 aa. The apply takes a new snapshot and replaces the file. To keep the file, move it to another place first.",
		},
		{SnapshotUnread("etcd.db", denied), "Cannot check the snapshot file", "etcd.db cannot be read, so this Terraform run assumes that it has not changed: open etcd.db: permission denied."},
		{
			SnapshotNotOurs("etcd.db"), "The snapshot file was kept",
			"etcd.db has changed since the snapshot was taken, so it may be another file. Delete it by hand if it is not needed.",
		},
		{SnapshotKept("etcd.db", denied), "The snapshot file was kept", "etcd.db could not be deleted: open etcd.db: permission denied. Delete it by hand."},
		{
			Maintenance("save a snapshot", &reconfigure.Unfinished{Action: reconfigure.ActionSave, Err: &reconfigure.BackupKept{Path: "etcd.db",
				Was: membership.Backup{Cluster: 0x2a, Least: 9, Most: 10}, Now: membership.Backup{Cluster: 0x2b, Least: 1, Most: 2}}}), "Cannot save a snapshot",
			"The file etcd.db stays as it is. It has revision 10 of cluster 2a. The new snapshot has revision 1 of cluster 2b. A snapshot replaces the file only if it is of the same cluster, and of the same or a later revision.\n\n" +
				"If the endpoints lead to another cluster than the one to save, correct them, then apply again. If the new data is the data to save from now on, give the resource another path. The file at the present path is then kept.",
		},
		{
			SnapshotImport, "Cannot import a snapshot",
			"A file does not say which cluster and which member it came from. Create the resource with another path, which takes a new snapshot. To restore from the file, give its path to the restore: it needs no resource.",
		},
	} {
		if tt.got != (Message{tt.summary, tt.want}) {
			t.Errorf("got  %q\nwant %q, %q", tt.got, tt.summary, tt.want)
		}
	}
}

// Test that a snapshot that requires a quorum names the member that can be
// saved without it.
func TestSnapshotOfSurvivor(t *testing.T) {
	s := seen(silent, ok, silent)
	s.Linearizable = false
	s.Answers[infra2] = func(a membership.Answer) membership.Answer {
		a.Leader, a.ReadOK, a.Applied, a.Term, a.DBSize = 0, false, 42, 3, 3<<20
		return a
	}(s.Answers[infra2])
	d := s.Gate(0)
	err := &reconfigure.Refusal{Action: reconfigure.ActionSave, Decision: d, Snapshot: s}
	const hint = ` To save what infra2 (8e9e05c52164694d) alone has, set member = "infra2".`
	if got, other := Maintenance("save a snapshot", err).Detail, Maintenance("x", &reconfigure.Refusal{Decision: d, Snapshot: s}).Detail; got != other+hint {
		t.Errorf("got %q", got)
	}
	const want = "infra2 (8e9e05c52164694d) has the most data of the members that answer: raft index 42 applied, in term 3, 3.0 MiB. If the others cannot come back, " +
		`save it before anything else (resource etcd_snapshot with member = "infra2"), then restore the cluster from that file.`
	if got := Advice(membership.Warning{Code: membership.SurvivorLeft, Facts: membership.Facts{Subject: infra2}}, s); got != want {
		t.Errorf("got %q", got)
	}
	s.Members[0].Name = "infra2"
	if got := reference(s, infra2); got != "8e9e05c52164694d" {
		t.Errorf("of two members with one name: %q", got)
	}
	if got := Maintenance("save a snapshot", &reconfigure.IsDirectory{Path: "backup"}); got != (Message{"Cannot save a snapshot", "backup is a directory. Choose the path of a file in it."}) {
		t.Errorf("got %q", got)
	}
}
