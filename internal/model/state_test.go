// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package model models an apply as a small state machine: the members of a
// cluster and their machines, up to two Terraform processes with their
// operations, the lock between them, the ownership records, and failures at any
// moment. The tests visit every reachable state and check a few conditions in
// each of them. The package contains only tests.
//
// The decisions are made by the real code: membership.DecideAdd, DecidePromote,
// DecideRemove and Identify, on the Snapshot of the state. The surrounding code
// of package reconfigure is restated, one remote call per step. Each step names
// the function that it stands for, and [TestEngineTakesTheSteps] walks the real
// engine through the model to check that it makes no other steps.
//
// The model assumes, and therefore does not prove: an observation of the
// cluster is atomic (a second list confirms it); a cluster in which a quorum of
// voters can communicate has a leader after an election, which ends; a change
// whose answer was lost is in the leader's log or is not made at all. Two
// worlds drop an assumption: in one, a process can freeze between the check of
// its lock and the call that follows; in the other, a change can arrive at any
// later time. No client can prevent either, so there the model relies on the
// servers' own checks and promises less, see [options]. Everywhere else these
// checks are off, except that etcd accepts only one learner at a time and no
// URL twice: the decisions alone must be sufficient.
package model

import (
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

const (
	maxNodes  = 5
	maxTasks  = 5
	maxOwners = maxNodes
	maxProcs  = 2
)

// none means no node, no task or no process.
const none = 0xff

// seat is the entry of a node in the member list.
type seat uint8

const (
	outside seat = iota
	learner
	voter
)

// machine is the condition of the process at a node's address.
type machine uint8

const (
	knocking machine = iota // it runs and waits to be added
	up                      // it was started as a member
	dead                    // it never comes back
)

// link is the connectivity of a node.
type link uint8

const (
	linked link = iota
	cut         // reachable from here, but not for its peers
	hidden      // reachable for its peers, but not from here
)

// node is a machine with one peer URL, and the member that has this URL.
type node struct {
	seat seat
	// gen counts the additions of the URL. Together with the node, it is the
	// member's ID.
	gen     uint8
	machine machine
	link    link
	started bool // it has published its name
	synced  bool // it has the leader's log
	// owner is the owner that added it, only for the checks; none for an initial member.
	owner uint8
}

// record is the ownership record of one owner.
type record struct {
	state recordState
	node  uint8 // the node whose peer URL it contains
	gen   uint8 // the ID that it contains, together with node; 0 for none
	ran   bool  // that member has run
}

type recordState uint8

const (
	noRecord recordState = iota
	intended
	announced
	removed
)

// run is the knowledge and the progress of one operation.
type run struct {
	pc pc
	// id is the gen of the member on which it works, 0 if unknown.
	id uint8
	// rec is the record as read. recFresh means that it was not written since:
	// then a write with compare-and-swap succeeds.
	rec      record
	recFresh bool
	// claim: the operation believes that it holds the lock between processes.
	claim bool
	// before is the previous answer of the learner.
	before seen
	// leader is the leader in the snapshot of the decision; to is the new
	// leader, or none if the leadership need not move.
	leader, to uint8
	// tried: the removal was sent; for a join, its member has run.
	tried bool
	begun bool // its turn is recorded
	// unseen: its member did not answer from here, only for the checks.
	unseen bool
	// left: the backstop leaves the member in the cluster.
	left bool
	// fault: something has failed since the observation, only for the checks.
	fault bool
}

type seen uint8

const (
	notSeen  seen = iota
	seenNow       // in this term, under this leader
	seenThen      // before an election
)

// change is a call to the cluster that changes the membership.
type change struct {
	what  changeKind
	node  uint8
	gen   uint8
	owner uint8
	fault bool
	// replace: a removal that makes room for a successor. unseen: a removal of
	// a member that did not answer when it was decided. It was considered dead,
	// and may be removed at any time.
	replace, unseen bool
	// backstop: a removal by the backstop.
	backstop bool
}

type changeKind uint8

const (
	noChange changeKind = iota
	addLearner
	promote
	remove
)

// state is the whole state. It is a comparable value without pointers.
type state struct {
	nodes  [maxNodes]node
	leader uint8
	// claim is the lock between processes: the number of the holding process
	// plus one; 0 means free, orphaned means that its holder is gone.
	claim   uint8
	locks   [maxProcs]uint8 // the lock of each process: the task that has it, or none
	tasks   [maxTasks]run
	records [maxOwners]record
	// turns are the recorded replacements: the number of voters when the member
	// of the node left, or 0 for none.
	turns [maxNodes]uint8
	// out is the expected content of the records, only for the checks.
	out [maxNodes]uint8
	// pending is a change without an answer that may still happen.
	pending change
	left    budget
	// killed: a machine has died since the beginning.
	killed bool
}

const orphaned = 0xfe

// budget is the number of failures that may still happen.
type budget struct {
	faults    uint8 // a node is killed, cut off, or unreachable from here
	crashes   uint8 // a Terraform process is killed
	freezes   uint8 // a process freezes for longer than its lock lives
	ambiguous uint8 // the answer of a call is lost
}

// idOf returns the ID of the member after the gen-th addition of the node's URL.
func idOf(n, gen uint8) membership.MemberID {
	return membership.MemberID(uint64(n+1)<<8 | uint64(gen))
}

func nodeOf(id membership.MemberID) (n, gen uint8) { return uint8(id>>8) - 1, uint8(id) }

// lives reports whether the node takes part in the decisions of the cluster.
func (n node) lives() bool { return n.seat != outside && n.machine == up && n.link != cut }

// count returns the number of voters, and how many of them are alive.
func (s *state) count() (voters, living int) {
	for _, n := range s.nodes {
		if n.seat == voter {
			voters++
			if n.lives() {
				living++
			}
		}
	}
	return voters, living
}

// quorum reports whether the cluster can decide.
func (s *state) quorum() bool {
	voters, living := s.count()
	return 2*living > voters
}

// led reports whether there is a quorum with a leader.
func (s *state) led() bool {
	return s.leader != none && s.nodes[s.leader].seat == voter && s.nodes[s.leader].lives() && s.quorum()
}

const (
	clusterID     = membership.ClusterID(0xc1)
	term, oldTerm = 2, 1
	leadIndex     = 100_000
)

func urlOf(n uint8) string  { return "http://10.0.0." + string(rune('1'+n)) + ":2380" }
func nameOf(n uint8) string { return "m" + string(rune('1'+n)) }

// view is the observable state of one node, on which a decision depends.
type view uint16

func (s *state) viewOf(i int) view {
	n := s.nodes[i]
	if n.seat == outside {
		return 0
	}
	v := view(n.seat) | view(n.machine)<<2 | view(n.link)<<4 | view(n.gen)<<8
	if n.started {
		v |= 1 << 6
	}
	if n.synced {
		v |= 1 << 7
	}
	return v
}

// snapshot returns the result of cluster.Client.Observe in this state.
func (s *state) snapshot() membership.Snapshot {
	led := s.led()
	snap := membership.Snapshot{ClusterID: clusterID, Linearizable: led, Answers: map[membership.MemberID]membership.Answer{}}
	for i, n := range s.nodes {
		if n.seat == outside {
			continue
		}
		at := uint8(i)
		m := membership.Member{ID: idOf(at, n.gen), PeerURLs: []string{urlOf(at)}, Learner: n.seat == learner}
		if !n.started {
			snap.Members = append(snap.Members, m)
			continue
		}
		m.Name, m.ClientURLs = nameOf(at), []string{"http://10.0.0." + string(rune('1'+at)) + ":2379"}
		snap.Members = append(snap.Members, m)
		if n.machine != up || n.link == hidden {
			snap.Answers[m.ID] = membership.Answer{State: membership.Silent, Detail: "connection refused"}
			continue
		}
		a := membership.Answer{
			State: membership.Answered, MemberID: m.ID, ClusterID: clusterID, Term: term,
			Index: leadIndex, Learner: m.Learner, ReadOK: led && !m.Learner, Version: "3.7.3",
		}
		if n.synced {
			a.Applied = leadIndex
		}
		switch {
		case n.link == cut && at == s.leader: // it has not noticed the loss yet
			a.Leader, a.Term, a.ReadOK = m.ID, oldTerm, false
		case n.link == cut:
			a.Term, a.ReadOK = oldTerm, false
		case s.leader != none:
			a.Leader = idOf(s.leader, s.nodes[s.leader].gen)
		}
		snap.Answers[m.ID] = a
	}
	return snap
}
