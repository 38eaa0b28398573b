// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

import (
	"fmt"
	"testing"
)

// settled states again, over every case of up to five voters, when a change of peer URLs
// is over: nobody is left to find the member, it never took effect, or the process that
// runs now is another one, serves, and is found by most of the others.
func settled(others, connected int, listed, alive, back bool, before, now string) bool {
	if !listed || others == 0 {
		return true
	}
	if before == "" || now == "" {
		return false
	}
	return before == now && back || before != now && alive && 2*connected > others
}

func TestEveryURLChange(t *testing.T) {
	states := map[URLState]int{}
	for others := range 5 {
		for connected := range others + 1 {
			for seen := connected; seen <= others; seen++ {
				for bits := range 8 {
					listed, alive, back := bits&1 != 0, bits&2 != 0, bits&4 != 0
					for _, starts := range [][2]string{{"", ""}, {"", "1"}, {"1", ""}, {"1", "1"}, {"1", "2"}, {"2", "1"}} {
						s := Snapshot{ClusterID: here, Linearizable: true, Answers: map[MemberID]Answer{}}
						change := URLChange{ID: 9, PeerURLs: []string{"http://new:2380"}, Before: []string{"http://old:2380"}, Start: starts[0]}
						e := URLEvidence{Start: starts[1], Connected: []MemberID{9, 77}} // its own word, and a learner's, count for nothing
						s.Members = append(s.Members, Member{ID: 77, Learner: true})
						for i := range others {
							id := MemberID(i + 1)
							s.Members = append(s.Members, Member{ID: id})
							switch {
							case i < connected:
								e.Connected = append(e.Connected, id)
							case i >= seen:
								e.NotSeen = append(e.NotSeen, id)
							}
						}
						if listed {
							urls := change.PeerURLs
							if back {
								urls = change.Before
							}
							s.Members = append(s.Members, Member{ID: 9, PeerURLs: urls})
						}
						if alive {
							s.Answers[9] = Answer{State: Answered, MemberID: 9, ClusterID: here, ReadOK: true}
						}
						got := change.Judge(s, e)
						states[got]++
						if want := settled(others, connected, listed, alive, back, starts[0], starts[1]); (got == URLsSettled) != want {
							t.Fatalf("%d others, %d connected, listed %v, alive %v, back %v, starts %q: %d, want settled %v", others, connected, listed, alive, back, starts, got, want)
						}
					}
				}
			}
		}
	}
	if len(states) != 4 {
		t.Errorf("states %v: the search does not reach what it should", states)
	}
}

// A second change of the member keeps the URLs from before the first one only while the
// same process runs: it listens there.
func TestNextURLChange(t *testing.T) {
	first := URLChange{ID: 1, PeerURLs: []string{"b"}, Before: []string{"a"}, Start: "7", Revision: 3}
	for _, c := range []struct {
		name, was, now string
		before         string
	}{
		{"not restarted", "7", "7", "[a]"}, {"restarted", "7", "8", "[]"}, {"no start time", "", "", "[]"}, {"no metrics now", "7", "", "[]"},
	} {
		first.Start = c.was
		next := first.Next([]string{"c"}, c.now)
		if fmt.Sprint(next.Before) != c.before || next.Start != c.now || next.Revision != 0 {
			t.Errorf("%s: %+v", c.name, next)
		}
	}
}

// What counts a member as healthy does not count one whose change is pending: a learner
// is not promoted, no other node is rebuilt, and no plan replaces another member.
func TestNothingReliesOnPending(t *testing.T) {
	s := world{members: []mind{vAlive, vAlive, vAlive, lAlive}}.snapshot()
	at := func(id MemberID) Snapshot {
		if s.Pending = nil; id != 0 {
			s.Pending = map[MemberID]Pending{id: {URLChange: URLChange{ID: id}}}
		}
		return s
	}
	before := s.Answer(4)
	before.Applied--
	for id, want := range map[MemberID]Code{3: URLsPending, 4: URLsPending, 0: ""} {
		if d := DecidePromote(at(id), 4, before); d.Code != want {
			t.Errorf("promote while %s is pending: %v %q, want %q", id, d.Verdict, d.Code, want)
		}
	}
	for id, want := range map[MemberID]int{3: 1, 1: 1, 0: 0} {
		now := at(id)
		replaced := Entry{Object: 1, ID: 1, Name: "m1", Effect: Replaced, Read: true}
		replaced.Before, replaced.After = &Side{Machine: "a"}, &Side{Machine: "b"}
		broken := Judge([]Entry{replaced}, Known{Snapshot: &now})
		if id == 1 {
			want = 0 // its own change ends with it
		}
		if len(broken) != want {
			t.Errorf("replace while %s is pending: %+v", id, broken)
		}
		broken = Judge([]Entry{{Object: 1, ID: 1, Name: "m1", Readdressed: true, After: &Side{PeerURLs: []string{"http://n:2380"}}}}, Known{Snapshot: &now})
		if len(broken) != want {
			t.Errorf("other peer URLs while %s is pending: %+v", id, broken)
		}
	}
	nodes := []Node{{ID: "1", Name: "m1"}, {ID: "2", Name: "m2"}, {ID: "3", Name: "m3"}}
	for id, want := range map[MemberID]NodesReason{3: NodesURLsPending, 0: NodesNext} {
		q := queue{nodes: nodes, health: JudgeNodes(at(id), nil, nil, nodes), wanted: map[string]NodeValues{"m1": {}, "m2": {}, "m3": {}}}
		if got, _, _ := q.mayRebuild(nodes[0]); got != want {
			t.Errorf("rebuild while %s is pending: %v, want %v", id, got, want)
		}
	}
}
