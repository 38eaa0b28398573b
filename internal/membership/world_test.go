// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

import (
	"fmt"
	"strings"
)

// mind is a state of one member, as far as the rules distinguish it.
type mind uint8

const (
	vAlive   mind = iota // a healthy voter
	vBehind              // alive, with a shorter log
	vStale               // alive, but considers itself the leader, in an older term
	vPending             // alive, and its last change of peer URLs is not proven
	vNoRead              // answers, but serves no linearizable read
	vSilent
	vUnstarted
	vUnprobed
	vForeign // another member answers at its address
	vWrong   // a process of another cluster answers at its address
	lAlive   // a learner that has caught up
	lLagging
	lStale      // alive and caught up, in an older term
	lCallsVoter // alive and caught up, but reports that it is a voter
	lSilent
	lUnstarted
	lUnprobed
	lForeign
	lWrong
	minds
)

// world is a cluster of the campaign: the states of its members in ascending
// order (so that each combination occurs once), the leader that they name (the
// index of a member, or -1 for none), and what else a decision depends on. Member
// i has the ID i+1.
type world struct {
	members []mind
	leader  int
	moved   bool // the list was not confirmed
	strict  bool // the release requires every voter to be connected
}

// here is the cluster of the campaign, elsewhere is another cluster.
const here, elsewhere = ClusterID(0xc1), ClusterID(0xc2)

const (
	nowTerm, oldTerm = 5, 4
	leadIndex        = 100_000
	behindIndex      = leadIndex - 1
	laggingIndex     = behindIndex - 1_001
	newerV, olderV   = "3.7.3", "3.6.10"
	urlBefore        = "http://10.0.0.98:2380" // of every member whose change is pending
)

// mindNames are the words for [mind].
var mindNames = [...]string{"voter", "voter behind", "voter stale", "voter pending", "voter without reads", "voter silent", "voter unstarted",
	"voter unprobed", "voter foreign", "voter of another cluster", "learner", "learner lagging", "learner stale",
	"learner calls itself voter", "learner silent", "learner unstarted", "learner unprobed", "learner foreign", "learner of another cluster"}

func (w world) String() string {
	var out []string
	for i, m := range w.members {
		out = append(out, fmt.Sprintf("%d %s", i+1, mindNames[m]))
	}
	return fmt.Sprintf("[%s] leader=%d moved=%t strict=%t", strings.Join(out, "; "), w.leader+1, w.moved, w.strict)
}

// view returns the leader that member i names, and the term.
func (w world) view(i int) (leader, term int) {
	switch w.members[i] {
	case vStale:
		return i, oldTerm
	case lStale:
		return w.leader, oldTerm
	default:
		return w.leader, nowTerm
	}
}

// snapshot returns what the code under test sees of the world.
func (w world) snapshot() Snapshot {
	s := Snapshot{ClusterID: here, Linearizable: !w.moved, Answers: map[MemberID]Answer{}, Pending: map[MemberID]Pending{}}
	for i, state := range w.members {
		id := MemberID(i + 1)
		m := Member{
			ID: id, Name: "m" + id.String(), Learner: state >= lAlive,
			PeerURLs: []string{"http://10.0.0." + id.String() + ":2380"}, ClientURLs: []string{"http://10.0.0." + id.String() + ":2379"},
		}
		leader, term := w.view(i)
		a := Answer{
			State: Answered, MemberID: id, ClusterID: here, Leader: MemberID(leader + 1), Term: uint64(term),
			Index: leadIndex, Applied: leadIndex, Learner: m.Learner, ReadOK: !m.Learner, Version: newerV,
		}
		if w.strict {
			a.Version = olderV
		}
		switch state {
		case vBehind:
			a.Index, a.Applied = behindIndex, behindIndex
		case vPending:
			if !w.pending(i) {
				break
			}
			s.Pending[id] = Pending{URLChange: URLChange{ID: id, PeerURLs: m.PeerURLs, Before: []string{urlBefore}}, State: URLsNotRestarted}
		case vNoRead:
			a.ReadOK = false
		case vSilent, lSilent:
			a = Answer{State: Silent}
		case vUnstarted, lUnstarted:
			m.Name, m.ClientURLs, a = "", nil, Answer{}
		case vUnprobed, lUnprobed:
			a = Answer{}
		case vForeign, lForeign: // another member answers, and is healthy
			a.MemberID = 77
		case vWrong, lWrong:
			a = Answer{State: WrongCluster, ClusterID: elsewhere}
		case lLagging:
			a.Applied = laggingIndex
		case lCallsVoter:
			a.Learner = false
		}
		s.Members = append(s.Members, m)
		s.Answers[id] = a
	}
	return s
}

// worlds calls f for every combination of states of n members, with every leader
// that makes a difference, and with a confirmed and an unconfirmed list.
func worlds(n int, f func(world)) {
	members := make([]mind, n)
	var fill func(at int, from mind)
	fill = func(at int, from mind) {
		if at < n {
			for m := from; m < minds; m++ {
				members[at] = m
				fill(at+1, m)
			}
			return
		}
		for leader := -1; leader < n; leader++ {
			if leader > 0 && members[leader] == members[leader-1] {
				continue // the same world again
			}
			for _, moved := range []bool{false, true} {
				f(world{members: members, leader: leader, moved: moved})
			}
		}
	}
	fill(0, 0)
}

// subjects returns the members that differ, by state or by leading, and one index
// that is not in the list (n).
func (w world) subjects() []int {
	var out []int
	for i := range w.members {
		first := i == 0 || w.members[i] != w.members[i-1]
		if first || i == w.leader+1 {
			out = append(out, i)
		}
	}
	return append(out, len(w.members))
}
