// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// TestMaintenanceOfEveryCluster checks the promises of a defragmentation against the
// real states of the members, in every cluster of up to four members.
func TestMaintenanceOfEveryCluster(t *testing.T) {
	goes := map[string]int{}
	for n := range 5 {
		worlds(n, func(w world) {
			s := w.snapshot()
			_, open := w.naiveGate()
			var voters []MemberID
			for i := range n {
				id := MemberID(i + 1)
				if w.voter(i) {
					voters = append(voters, id)
				} else if d := DecideDefragment(s, append(slices.Clone(voters), id), true); d.Verdict == Go || open && d.Code != LearnerUnserved {
					t.Fatalf("%s: %s is a learner: %v %s", w, id, d.Verdict, d.Code)
				}
			}
			for _, interrupt := range []bool{false, true} {
				defragments(t, w, s, voters, interrupt, open, goes)
			}
		})
	}
	for _, what := range []string{"defragment", "defragment the leader", "interrupt"} {
		if goes[what] == 0 {
			t.Errorf("nothing was ever allowed to %s: the campaign does not reach what it should", what)
		}
	}
}

func defragments(t *testing.T, w world, s Snapshot, left []MemberID, interrupt, open bool, goes map[string]int) {
	t.Helper()
	d := DecideDefragment(s, left, interrupt)
	voters, well := 0, true
	for i := range w.members {
		well = well && w.bears(i)
		if w.voter(i) {
			voters++
		}
	}
	if d.Verdict != Go {
		if len(left) > 0 && (d.Code == "" || open && well && (interrupt || voters > 2)) {
			t.Fatalf("%s: refused (%s), interruption allowed: %v", w, d.Code, interrupt)
		}
		return
	}
	subject := int(d.Facts.Subject) - 1
	leader, _, _ := w.agreed()
	stay := voters
	if w.voter(subject) {
		stay--
	}
	switch {
	case !open || !well:
		t.Fatalf("%s: %d may be defragmented, while somebody is not well", w, subject+1)
	case w.voter(subject) && !most(stay, voters) && !interrupt:
		t.Fatalf("%s: without %d the cluster stands still", w, subject+1)
	case subject == leader && len(left) > 1:
		t.Fatalf("%s: the leader %d comes before %v", w, subject+1, left)
	}
	goes["defragment"]++
	if subject == leader {
		goes["defragment the leader"]++
	}
	if !most(stay, voters) && w.voter(subject) {
		goes["interrupt"]++
	}
	defragments(t, w, s, slices.DeleteFunc(slices.Clone(left), func(id MemberID) bool { return id == d.Facts.Subject }), interrupt, open, goes)
}

func TestFind(t *testing.T) {
	s := Snapshot{Members: []Member{{ID: 0xa, Name: "b"}, {ID: 0xb, Name: "a"}, {ID: 0xc, Name: "c"}, {ID: 0xd, Name: "c"}, {ID: 0xe}}}
	for text, want := range map[string][]MemberID{"a": {0xa}, "A": {0xa}, "b": {0xb}, "c": {0xc}, "e": {0xe}, "": nil, "x": nil} {
		if got := IDs(s.Find(text)); !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
	s.Members[2].ID, s.Members[3].ID = 0xd, 0xf
	if got := IDs(s.Find("c")); !slices.Equal(got, []MemberID{0xd, 0xf}) {
		t.Errorf("two of one name: %v", got)
	}
	if got := IDs(s.ByName()); !slices.Equal(got, []MemberID{0xb, 0xa, 0xd, 0xf, 0xe}) {
		t.Errorf("by name: %v", got)
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

// A release that is named as the way out has none of the defects, no patch release before
// it is without one of those that it is named for, and the releases that were current when
// the table was written have none but those without a fix.
func TestDefectsAreFixed(t *testing.T) {
	for minor := 4; minor <= 8; minor++ {
		for patch := range 60 {
			for _, bypasses := range []bool{false, true} {
				version := fmt.Sprintf("3.%d.%d", minor, patch)
				has, fixed := DefectsOf(version, bypasses)
				left, again := DefectsOf(fixed, bypasses)
				if len(left) > 0 || len(has) == 0 && fixed != version {
					t.Errorf("%s has %v, fixed in %q, which has %v, fixed in %q", version, has, fixed, left, again)
				}
				if later, _ := DefectsOf(fmt.Sprintf("3.%d.%d", minor, patch+1), bypasses); len(later) > len(has) {
					t.Errorf("the patch release after %s has more defects", version)
				}
			}
		}
	}
	for _, version := range []string{"3.5.35", "3.6.16", "3.7.3", "", "3.6", "4.0.0", "2.3.8"} {
		harm, _ := DefectsOf(version, false)
		bypasses, _ := DefectsOf(version, true)
		unfixed := func(d Defect) bool { return d.Source == "etcd-io/etcd#22386" && version == "3.5.35" }
		if len(harm) > 0 || !slices.ContainsFunc(bypasses, unfixed) && len(bypasses) > 0 {
			t.Errorf("%q has %v %v", version, harm, bypasses)
		}
	}
}

// A certificate is told of in its last 30 days, and later.
func TestEndingCertificates(t *testing.T) {
	now := time.Date(2026, 11, 27, 0, 0, 0, 0, time.UTC)
	for name, tt := range map[string]struct {
		left []time.Duration // -1 is http
		want string
	}{
		"http":                {[]time.Duration{-1, -1}, ""},
		"30 days":             {[]time.Duration{30 * 24 * time.Hour, -1}, ""},
		"less than 30 days":   {[]time.Duration{31 * 24 * time.Hour, 30*24*time.Hour - time.Second}, "[2] 2026-12-26T23:59:59Z"},
		"both, the first end": {[]time.Duration{24 * time.Hour, -time.Hour}, "[1 2] 2026-11-26T23:00:00Z"},
	} {
		s := Snapshot{Answers: map[MemberID]Answer{}}
		for i, d := range tt.left {
			id := MemberID(i + 1)
			s.Members = append(s.Members, Member{ID: id})
			if s.Answers[id] = (Answer{State: Answered}); d != -1 {
				s.Answers[id] = Answer{State: Answered, CertificateEnd: now.Add(d)}
			}
		}
		got := ""
		for _, w := range s.endingCertificates(now) {
			got += fmt.Sprintf("%d %s", w.Facts.Others, w.Facts.Detail)
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
