// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

import "testing"

// TestWhoseDataReplacesABackup expects a member that is not behind the backup, in every
// cluster of three with revisions around it. Without one, and with a backup of another
// cluster, no data is transferred.
func TestWhoseDataReplacesABackup(t *testing.T) {
	for bits := range 27 {
		revisions := map[MemberID]int64{1: int64(bits % 3), 2: int64(bits / 3 % 3), 3: int64(bits / 9)}
		s := *plannedCluster(3)
		s.Members = s.Members[:3] // without the learner
		for id, r := range revisions {
			a := s.Answers[id]
			a.Revision = r
			s.Answers[id] = a
		}
		for _, from := range []MemberID{0, 1, 2, 3} {
			d := DecideSave(s, s, from, &Backup{Cluster: s.ClusterID, Least: 0, Most: 1})
			want := Code("")
			if from == 0 && revisions[1] < 1 && revisions[2] < 1 && revisions[3] < 1 || from != 0 && revisions[from] < 1 {
				want = BackupOlder
			}
			if d.Code != want || want == "" && (d.Verdict != Go || revisions[d.Facts.Subject] < 1) || from != 0 && d.Facts.Subject != from {
				t.Errorf("revisions %v, of %s: %+v, want %q", revisions, from, d, want)
			}
			if d := DecideSave(s, s, from, &Backup{Cluster: s.ClusterID + 1}); d.Verdict != Refuse || d.Code != BackupOfAnother {
				t.Errorf("another cluster, of %s: %+v", from, d)
			}
		}
	}
}
