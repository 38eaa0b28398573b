// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

import (
	"slices"
	"testing"
)

// lostQuorum has five voters, of which 1 and 2 answer, and a learner that answers.
func lostQuorum() Snapshot {
	s := wellCluster(5).with(3, silent).with(4, silent).with(5, silent).withLearner(49_000)
	s.Linearizable = false
	for _, id := range []MemberID{1, 2, 6} {
		s = s.with(id, func(a *Answer) { a.Leader, a.ReadOK = 0, false })
	}
	return s
}

// wellCluster returns a cluster with that many healthy voters, led by the first.
func wellCluster(voters int) Snapshot {
	s := Snapshot{ClusterID: 9, Linearizable: true, Answers: map[MemberID]Answer{}, Others: map[ClusterID][]string{}}
	for i := range voters {
		id := MemberID(i + 1)
		s.Members = append(s.Members, Member{ID: id, Name: string(rune('a' + i)), ClientURLs: []string{"http://h:1"}})
		s.Answers[id] = Answer{
			State: Answered, MemberID: id, ClusterID: 9, Leader: 1, Term: 2, Index: 50_000, Applied: 50_000, ReadOK: true, Version: "3.6.16",
		}
	}
	return s
}

// with returns the cluster after f has changed the answer of a member.
func (s Snapshot) with(id MemberID, f func(*Answer)) Snapshot {
	a := s.Answers[id]
	f(&a)
	s.Answers[id] = a
	return s
}

func silent(a *Answer) { *a = Answer{State: Silent} }

// withLearner returns the cluster with a learner that has that applied index.
func (s Snapshot) withLearner(applied uint64) Snapshot {
	id := MemberID(len(s.Members) + 1)
	s.Members = append(slices.Clone(s.Members), Member{ID: id, Name: "l", ClientURLs: []string{"http://h:1"}, Learner: true})
	s.Answers[id] = Answer{State: Answered, MemberID: id, ClusterID: 9, Leader: 1, Term: 2, Applied: applied, Learner: true, Version: "3.6.16"}
	return s
}

func TestSurvivor(t *testing.T) {
	undecided := lostQuorum().with(3, func(a *Answer) { *a = Answer{} }) // never asked
	corrupt := func() Snapshot {
		return lostQuorum().with(1, func(a *Answer) { a.Applied, a.Alarms = 60_000, []Alarm{{1, AlarmCorrupt}} })
	}
	for name, tt := range map[string]struct {
		s    Snapshot
		want MemberID
	}{
		"a quorum holds":                    {wellCluster(3).with(1, silent), 0},
		"it may hold":                       {undecided, 0},
		"no member answers":                 {func() Snapshot { s := wellCluster(1).with(1, silent); s.Linearizable = false; return s }(), 0},
		"endpoints of two clusters":         {func() Snapshot { s := lostQuorum(); s.Others[7] = []string{"http://other"}; return s }(), 0},
		"equals":                            {lostQuorum(), 1},
		"the higher applied index":          {lostQuorum().with(2, func(a *Answer) { a.Applied = 50_001 }), 2},
		"whatever the term":                 {lostQuorum().with(1, func(a *Answer) { a.Term = 99 }).with(2, func(a *Answer) { a.Applied = 50_001 }), 2},
		"of equals, the higher commit":      {lostQuorum().with(2, func(a *Answer) { a.Index = 50_001 }), 2},
		"a learner with more":               {lostQuorum().with(6, func(a *Answer) { a.Applied = 50_001 }), 6},
		"a learner with as much":            {lostQuorum().with(6, func(a *Answer) { a.Applied, a.Index = 50_000, 50_000 }), 1},
		"a learner alone":                   {lostQuorum().with(1, silent).with(2, silent), 6},
		"a corrupt one, though it has more": {corrupt(), 2},
		"a corrupt one alone":               {corrupt().with(2, silent).with(6, silent), 1},
		"another's answer at its URL":       {lostQuorum().with(1, func(a *Answer) { a.Applied, a.MemberID = 60_000, 2 }), 2},
	} {
		id, ok := tt.s.Survivor()
		if id != tt.want || ok != (tt.want != 0) {
			t.Errorf("%s: %s, %v, want %s", name, id, ok, tt.want)
		}
	}
}

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

// TestWhoseDataIsSaved expects the least busy member that has all writes.
func TestWhoseDataIsSaved(t *testing.T) {
	before := wellCluster(3).withLearner(10)
	for name, tt := range map[string]struct {
		s, before Snapshot
		want      MemberID
	}{
		"a follower":                      {wellCluster(3), wellCluster(3), 2},
		"the most advanced follower":      {wellCluster(3).with(3, func(a *Answer) { a.Index = 50_001 }), wellCluster(3), 3},
		"a learner with as much":          {wellCluster(3).withLearner(50_000), before, 4},
		"a learner with less":             {wellCluster(3).withLearner(49_999), before, 2},
		"a learner with as much as one":   {wellCluster(3).withLearner(49_999).with(3, func(a *Answer) { a.Applied = 49_999 }), before, 4},
		"that one served no read before":  {wellCluster(3).withLearner(49_999).with(3, func(a *Answer) { a.Applied = 49_999 }), wellCluster(3).with(3, silent), 2},
		"nothing is known of before":      {wellCluster(3).withLearner(50_000), Snapshot{}, 2},
		"the leader, which is alone":      {wellCluster(1), wellCluster(1), 1},
		"the leader, others are down":     {wellCluster(3).with(2, silent), wellCluster(3), 3},
		"the leader and a learner":        {wellCluster(1).withLearner(50_000), wellCluster(1), 2},
		"the leader and a learner behind": {wellCluster(1).withLearner(40_000), wellCluster(1), 1},
	} {
		if d := DecideSave(tt.s, tt.before, 0, nil); d.Verdict != Go || d.Facts.Subject != tt.want {
			t.Errorf("%s: %+v, want %s", name, d, tt.want)
		}
	}
}

// TestWhoseDataReplacesABackup expects a member that is not behind the backup, in every
// cluster of three with revisions around it. Without one, and with a backup of another
// cluster, no data is transferred.
func TestWhoseDataReplacesABackup(t *testing.T) {
	for bits := range 27 {
		revisions := map[MemberID]int64{1: int64(bits % 3), 2: int64(bits / 3 % 3), 3: int64(bits / 9)}
		s := wellCluster(3)
		for id, r := range revisions {
			s = s.with(id, func(a *Answer) { a.Revision = r })
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
