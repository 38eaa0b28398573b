// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

import (
	"slices"
	"testing"
)

func TestJudgeFailover(t *testing.T) {
	// The voters are 1 to n, the first of which are alive; the learner is 9.
	snap := func(n, alive int) Snapshot {
		s := Snapshot{ClusterID: 1, Answers: map[MemberID]Answer{}, Linearizable: alive >= Quorum(n)}
		for id := MemberID(1); id <= MemberID(n); id++ {
			s.Members = append(s.Members, Member{ID: id, Name: "m", ClientURLs: []string{"http://x:1"}})
			s.Answers[id] = Answer{State: Silent}
			if id <= MemberID(alive) {
				s.Answers[id] = Answer{State: Answered, MemberID: id, ClusterID: 1, Leader: 1, Term: 2, ReadOK: s.Linearizable}
			}
		}
		s.Members = append(s.Members, Member{ID: 9, Name: "standby", Learner: true, ClientURLs: []string{"http://x:9"}})
		s.Answers[9] = Answer{State: Silent}
		return s
	}
	headless := snap(3, 2)
	for id, a := range headless.Answers {
		a.Leader = 0
		headless.Answers[id] = a
	}
	for _, c := range []struct {
		name             string
		s                Snapshot
		seen             map[MemberID]bool
		lost             []MemberID
		first, unsettled bool
	}{
		{"all are there, and a learner is not", snap(3, 3), map[MemberID]bool{9: false}, nil, false, false},
		{"one of three", snap(3, 2), map[MemberID]bool{3: false}, []MemberID{3}, true, false},
		{"one of three, that the leader sees", snap(3, 2), map[MemberID]bool{3: true}, nil, false, false},
		{"one of five", snap(5, 4), map[MemberID]bool{5: false}, []MemberID{5}, false, false},
		{"two of five", snap(5, 3), map[MemberID]bool{4: false, 5: false}, []MemberID{4, 5}, true, false},
		{"two of three", snap(3, 1), map[MemberID]bool{2: false, 3: false}, nil, false, false},
		{"an election goes on", headless, nil, nil, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := JudgeFailover(c.s, c.seen)
			if !slices.Equal(f.Lost, c.lost) || f.First != c.first || f.Unsettled != c.unsettled {
				t.Errorf("got %+v", f)
			}
		})
	}
}
