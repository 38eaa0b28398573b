// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

import "testing"

// TestSurvivorOfEveryCluster checks, in every cluster of up to four members, that a
// survivor is named if no quorum is possible, and that no answering member has more.
func TestSurvivorOfEveryCluster(t *testing.T) {
	found := 0
	for n := range 5 {
		worlds(n, func(w world) {
			s := w.snapshot()
			id, ok := s.Survivor()
			heard := w.which(w.heard)
			living := w.which(w.voter, w.lives)
			// The members in an unknown state may make up the number.
			maybe := w.which(w.voter, func(i int) bool { return w.heard(i) || w.unknown(i) })
			want := len(heard) > 0 && len(w.which(w.voter)) > 0 && len(living) == 0 && w.moved && !most(len(maybe), len(w.which(w.voter)))
			if ok != want {
				t.Fatalf("%s: %s, %v, want %v", w, id, ok, want)
			}
			if !ok {
				return
			}
			found++
			for _, i := range heard {
				if s.Answer(MemberID(i+1)).Applied > s.Answer(id).Applied {
					t.Fatalf("%s: %s has less than %d", w, id, i+1)
				}
			}
		})
	}
	if found == 0 {
		t.Error("there never was a survivor: the campaign does not reach what it should")
	}
}

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
