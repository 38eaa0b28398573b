// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

import "testing"

// TestGiveUpByVoters checks, in every state of every cluster of up to five voters,
// that a cluster whose voters may decide is never given up, and that any other one
// is given up only if its own ID is stated.
func TestGiveUpByVoters(t *testing.T) {
	t.Parallel()
	states := []Answer{
		{State: Answered, ClusterID: 7},               // without a quorum, or an election is going on
		{State: Answered, ClusterID: 7, ReadOK: true}, // serves
		{State: Silent},
		{State: WrongCluster, ClusterID: 8},
		{}, // never asked
	}
	for voters := 1; voters <= 5; voters++ {
		total := 1
		for range voters {
			total *= len(states)
		}
		for code := range total {
			s := Snapshot{ClusterID: 7, Answers: map[MemberID]Answer{}}
			answering, serving, rest := 0, 0, code
			for i := range voters {
				id := MemberID(i + 1)
				a := states[rest%len(states)]
				rest /= len(states)
				if a.State == Answered {
					a.MemberID = id
					answering++
				}
				if a.ReadOK {
					serving++
				}
				s.Members, s.Answers[id] = append(s.Members, Member{ID: id, Name: id.String(), ClientURLs: []string{"http://x:1"}}), a
			}
			var lost Code
			if answering > voters/2 || serving > 0 {
				lost = HasQuorum
			}
			for _, stated := range []ClusterID{0, 7, 8} {
				want := lost
				if want == "" && stated != 7 {
					want = NotStated
				}
				if d := DecideGiveUp(Evidence{Snapshot: s}, 7, stated); d.Code != want || (d.Verdict == Go) != (want == "") {
					t.Fatalf("%+v, stated %s: %v %q, want %q", s, stated, d.Verdict, d.Code, want)
				}
			}
			s.Linearizable = true
			if d := DecideGiveUp(Evidence{Snapshot: s}, 7, 7); d.Code != HasQuorum {
				t.Fatalf("a confirmed list, %+v: %v %q", s, d.Verdict, d.Code)
			}
		}
	}
}

// TestGiveUpByAnswers is the table over what each address answers: every answer that
// shows a server refuses, whatever the others answer and whatever is stated.
func TestGiveUpByAnswers(t *testing.T) {
	t.Parallel()
	survivor := Snapshot{ClusterID: 7, Members: []Member{{ID: 1}, {ID: 2}, {ID: 3}}, Answers: map[MemberID]Answer{1: {State: Answered, MemberID: 1, ClusterID: 7}}}
	other := Snapshot{ClusterID: 8, Members: []Member{{ID: 1}}, Answers: map[MemberID]Answer{1: {State: Answered, MemberID: 1, ClusterID: 8, ReadOK: true}}, Linearizable: true}
	const s, l, q, n = ReplyServer, ReplyLearner, ReplyNoQuorum, ReplyNone
	for _, c := range []struct {
		name  string
		snap  Snapshot
		heard []Reply
		want  Code // if the loss is stated
	}{
		{"nothing was asked", Snapshot{}, nil, ""},
		{"three do not answer", Snapshot{}, []Reply{n, n, n}, ""},
		{"one of three refuses the certificate", Snapshot{}, []Reply{n, s, n}, MayServe},
		{"all of three refuse the certificate", Snapshot{}, []Reply{s, s, s}, MayServe},
		{"a survivor without a quorum", survivor, []Reply{q, n, n}, ""},
		{"a survivor, and a server that refuses", survivor, []Reply{q, n, s}, MayServe},
		{"a survivor that completes no login", Snapshot{}, []Reply{q, n, n}, ""},
		{"no login, and a server that refuses", Snapshot{}, []Reply{q, s, n}, MayServe},
		{"a learner alone", Snapshot{}, []Reply{l, n, n, n}, MayServe},
		{"a learner and a survivor", survivor, []Reply{l, q, n, n}, ""},
		{"a learner, and no login", Snapshot{}, []Reply{l, q, n, n}, ""},
		{"another cluster in its place", other, []Reply{n, n, n}, ""},
		{"another cluster, and a learner of this one", other, []Reply{n, l, n}, MayServe},
	} {
		e := Evidence{Snapshot: c.snap}
		for _, r := range c.heard {
			e.Heard = append(e.Heard, Heard{Reply: r})
		}
		for _, stated := range []ClusterID{0, 7, 8} {
			want := c.want
			if want == "" && stated != 7 {
				want = NotStated
			}
			if d := DecideGiveUp(e, 7, stated); d.Code != want || (d.Verdict == Go) != (want == "") {
				t.Errorf("%s, stated %s: %v %q, want %q", c.name, stated, d.Verdict, d.Code, want)
			}
		}
	}
	if d := DecideGiveUp(Evidence{}, 0, 0); d.Code != NotStated {
		t.Errorf("a cluster without an ID: %v %q", d.Verdict, d.Code)
	}
}
