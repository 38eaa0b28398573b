// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

import "testing"

func TestJudgeLoss(t *testing.T) {
	type seen = map[MemberID]bool
	snap := func(states ...AnswerState) Snapshot {
		s := Snapshot{ClusterID: 1, Answers: map[MemberID]Answer{}}
		alive := 0
		for _, st := range states {
			if st == Answered {
				alive++
			}
		}
		s.Linearizable = alive >= Quorum(len(states))
		for i, st := range states {
			id := MemberID(i + 1)
			s.Members = append(s.Members, Member{ID: id, Name: "m", ClientURLs: []string{"http://x:1"}})
			s.Answers[id] = Answer{State: st}
			if st == Answered {
				s.Answers[id] = Answer{State: st, MemberID: id, ClusterID: 1, Leader: 1, Term: 2, ReadOK: s.Linearizable}
			}
		}
		return s
	}
	unstarted := snap(Answered, Answered, Unprobed)
	unstarted.Members[2].ClientURLs = nil
	headless := snap(Answered, Answered, Silent)
	for id, a := range headless.Answers {
		a.Leader = 0
		headless.Answers[id] = a
	}
	for _, c := range []struct {
		name string
		s    Snapshot
		id   MemberID
		seen seen
		want Loss
	}{
		{"alive", snap(Answered, Answered, Answered), 3, seen{3: true}, Present},
		{"alive, whatever the leader says", snap(Answered, Answered, Answered), 3, seen{3: false}, Present},
		{"not in the list", snap(Answered, Answered, Answered), 9, seen{9: false}, Present},
		{"never started", unstarted, 3, seen{3: false}, Present},
		{"silent, and the leader has lost it", snap(Answered, Answered, Silent), 3, seen{2: true, 3: false}, Vanished},
		{"silent here alone", snap(Answered, Answered, Silent), 3, seen{3: true}, Unreachable},
		{"silent, the leader was not asked", snap(Answered, Answered, Silent), 3, nil, Unreachable},
		{"silent, the leader does not speak of it", snap(Answered, Answered, Silent), 3, seen{2: true}, Unreachable},
		{"another member answers in its place", snap(Answered, Answered, Unprobed), 3, seen{3: false}, Unreachable},
		{"another cluster answers in its place", snap(Answered, Answered, WrongCluster), 3, seen{3: false}, Vanished},
		{"two of three gone", snap(Answered, Silent, Silent), 3, seen{2: false, 3: false}, Unreachable},
		{"two of five gone", snap(Answered, Answered, Answered, Silent, Silent), 5, seen{4: false, 5: false}, Vanished},
		{"the leader is gone, and the others have not noticed", snap(Silent, Answered, Answered), 1, nil, Unsettled},
		{"an election goes on", headless, 3, nil, Unsettled},
		{"of two, one gone", snap(Answered, Silent), 2, seen{2: false}, Unreachable},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := JudgeLoss(c.s, c.id, c.seen); got != c.want {
				t.Errorf("got %d, want %d", got, c.want)
			}
		})
	}
}
