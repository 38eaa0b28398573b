// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

import "testing"

func TestDecideUpdate(t *testing.T) {
	const fresh = "http://10.0.0.9:2380"
	url := func(n byte) string { return "http://10.0.0." + string('0'+n) + ":2380" }
	// snap has n voters, the last `dead` of them silent, and a learner if asked.
	snap := func(n, dead byte, learner bool, version string) Snapshot {
		s := Snapshot{ClusterID: 1, Linearizable: true, Answers: map[MemberID]Answer{}}
		for i := byte(1); i <= n; i++ {
			id := MemberID(i)
			s.Members = append(s.Members, Member{ID: id, Name: "m" + string('0'+i), PeerURLs: []string{url(i)}, ClientURLs: []string{"http://x:1"}})
			s.Answers[id] = Answer{State: Answered, MemberID: id, ClusterID: 1, Leader: 1, Term: 2, Index: 9, Applied: 9, ReadOK: int(n-dead) >= Quorum(int(n)), Version: version}
			if i > n-dead {
				s.Answers[id] = Answer{State: Silent}
			}
		}
		s.Linearizable = int(n-dead) >= Quorum(int(n))
		if learner {
			s.Members = append(s.Members, Member{ID: 8, Name: "m8", PeerURLs: []string{url(8)}, ClientURLs: []string{"http://x:1"}, Learner: true})
			s.Answers[8] = Answer{State: Answered, MemberID: 8, ClusterID: 1, Leader: 1, Term: 2, Index: 9, Applied: 9, Learner: true, Version: version}
		}
		return s
	}
	for _, c := range []struct {
		name    string
		s       Snapshot
		r       UpdateRequest
		verdict Verdict
		code    Code
	}{
		{"three, all well", snap(3, 0, false, "3.6.16"), UpdateRequest{ID: 1, PeerURLs: []string{fresh}}, Go, ""},
		{"in place already", snap(3, 0, false, "3.6.16"), UpdateRequest{ID: 1, PeerURLs: []string{url(1) + "/"}}, Done, ""},
		{"three, another one down", snap(3, 1, false, "3.6.16"), UpdateRequest{ID: 1, PeerURLs: []string{fresh}}, Refuse, BelowQuorum},
		{"three, itself down", snap(3, 1, false, "3.6.16"), UpdateRequest{ID: 3, PeerURLs: []string{fresh}}, Go, ""},
		{"five, another one down", snap(5, 1, false, "3.6.16"), UpdateRequest{ID: 1, PeerURLs: []string{fresh}}, Go, ""},
		{"five, two others down", snap(5, 2, false, "3.6.16"), UpdateRequest{ID: 1, PeerURLs: []string{fresh}}, Refuse, BelowQuorum},
		{"two", snap(2, 0, false, "3.6.16"), UpdateRequest{ID: 1, PeerURLs: []string{fresh}}, Go, ""},
		{"two, one down", snap(2, 1, false, "3.6.16"), UpdateRequest{ID: 1, PeerURLs: []string{fresh}}, Refuse, QuorumLost},
		{"one", snap(1, 0, false, "3.6.16"), UpdateRequest{ID: 1, PeerURLs: []string{fresh}}, Go, ""},
		{"another's URL", snap(3, 0, false, "3.6.16"), UpdateRequest{ID: 1, PeerURLs: []string{url(2)}}, Refuse, URLTaken},
		{"loopback", snap(3, 0, false, "3.6.16"), UpdateRequest{ID: 1, PeerURLs: []string{"http://127.0.0.1:2380"}}, Refuse, LoopbackURL},
		{"garbage", snap(3, 0, false, "3.6.16"), UpdateRequest{ID: 1, PeerURLs: []string{"http://x"}}, Refuse, BadURL},
		{"gone", snap(3, 0, false, "3.6.16"), UpdateRequest{ID: 7, PeerURLs: []string{fresh}}, Refuse, NotMember},
		{"somebody else", snap(3, 0, false, "3.6.16"), UpdateRequest{ID: 1, Name: "z", PeerURLs: []string{fresh}}, Refuse, NotOurs},
		{"a learner on 3.4", snap(3, 0, true, "3.4.44"), UpdateRequest{ID: 8, PeerURLs: []string{fresh}}, Refuse, VersionTooOld},
		{"a learner on 3.5.30", snap(3, 0, true, "3.5.30"), UpdateRequest{ID: 8, PeerURLs: []string{fresh}}, Refuse, VersionTooOld},
		{"a learner on 3.5.31", snap(3, 0, true, "3.5.31"), UpdateRequest{ID: 8, PeerURLs: []string{fresh}}, Go, ""},
		{"a learner on 3.6.11", snap(3, 0, true, "3.6.11"), UpdateRequest{ID: 8, PeerURLs: []string{fresh}}, Refuse, VersionTooOld},
		{"a learner on 3.6.12", snap(3, 0, true, "3.6.12"), UpdateRequest{ID: 8, PeerURLs: []string{fresh}}, Go, ""},
		{"a learner on 3.7", snap(3, 0, true, "3.7.3"), UpdateRequest{ID: 8, PeerURLs: []string{fresh}}, Go, ""},
		{"a learner on who knows what", snap(3, 0, true, "next"), UpdateRequest{ID: 8, PeerURLs: []string{fresh}}, Refuse, VersionTooOld},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := DecideUpdate(c.s, c.r)
			if d.Verdict != c.verdict || d.Code != c.code {
				t.Errorf("got %d %q, want %d %q", d.Verdict, d.Code, c.verdict, c.code)
			}
			// Member 1 leads; it hands over if there is another voter.
			if leads := d.Verdict == Go && c.r.ID == 1 && len(c.s.Voters()) > 1; (d.MoveLeaderTo != 0) != leads || d.MoveLeaderTo == 1 {
				t.Errorf("leadership moves to %s", d.MoveLeaderTo)
			}
		})
	}
}
