// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package model is an apply as a small state machine: the members of a cluster
// and their machines, up to two Terraform processes with their operations, the
// lock between them, the ownership records, and what may go wrong at any
// moment. Every state that can be reached is visited, and a few sentences are
// checked in each of them. There is nothing in it but tests.
//
// What is decided is decided by the code itself: membership.DecideAdd,
// DecidePromote, DecideRemove and Identify, on the Snapshot of the state. What
// package reconfigure does around them is restated, one remote call to a step;
// each step says which function it stands for, and [TestEngineTakesTheSteps]
// walks the real engine through the model to see that it takes no others.
//
// What is assumed, and therefore not shown here: a look at the cluster is one
// moment (it is confirmed by a second list); a cluster in which a quorum of
// voters can talk has a leader after an election, which ends; a change whose
// answer was lost stands in the leader's log, or is not made at all. Two worlds
// do without: in one a process falls asleep between the check of its lock and
// the call that follows, in the other a change may arrive however late. No
// client can prevent either, so there the servers' own checks are counted on,
// and less is promised, see [options]. Everywhere else these checks are off,
// except that etcd takes one learner at a time and no URL twice: the decisions
// alone must be enough.
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

// none stands for no node, no task, no process.
const none = 0xff

// seat is what the member list says of a node.
type seat uint8

const (
	outside seat = iota
	learner
	voter
)

// machine is how the process at a node's address does.
type machine uint8

const (
	knocking machine = iota // it runs, and is waiting to be let in
	up                      // it has started as a member
	dead                    // it never comes back
)

// link is who can talk to a node.
type link uint8

const (
	linked link = iota
	cut         // not its peers; we can
	hidden      // not we; its peers can
)

// node is a machine with one peer URL, and the member that has it.
type node struct {
	seat seat
	// gen counts the announcements of the URL: with the node it is the
	// member's ID.
	gen     uint8
	machine machine
	link    link
	started bool // it has published its name
	synced  bool // it has the leader's log
	// owner is who announced it, for the checks alone; none for a founder.
	owner uint8
}

// record is the ownership record of one owner.
type record struct {
	state recordState
	node  uint8 // whose peer URL it names
	gen   uint8 // the ID it names, with node; 0 for none
	ran   bool  // that member has run
}

type recordState uint8

const (
	noRecord recordState = iota
	intended
	announced
	removed
)

// run is what one operation knows, and how far it is.
type run struct {
	pc pc
	// id is the gen of the member it works on, 0 while it is not known.
	id uint8
	// rec is the record as it was read, recFresh whether nobody has written it
	// since: then a write by compare and swap succeeds.
	rec      record
	recFresh bool
	// claim is true while it believes to hold the lock that spans processes.
	claim bool
	// before is what the learner answered last time.
	before seen
	// leader is who led in the snapshot the decision was taken on, to whom
	// leadership is to move, none if it need not.
	leader, to uint8
	// tried: the removal was sent; of a join, that its member has run.
	tried bool
	begun bool // its turn is on record
	// unseen: its member did not answer from here, for the checks alone.
	unseen bool
	// left: the backstop leaves the member in the cluster.
	left bool
	// fault: something has failed since the look, for the checks alone.
	fault bool
}

type seen uint8

const (
	notSeen  seen = iota
	seenNow       // in this term, under this leader
	seenThen      // before an election
)

// change is a call to the cluster that alters the membership.
type change struct {
	what  changeKind
	node  uint8
	gen   uint8
	owner uint8
	fault bool
	// replace: a removal that makes room for a successor.
	// unseen: one that did not answer when that was decided, so that it was
	// taken for dead, which may go at any time.
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

// state is everything. It is a value, comparable, and holds no pointer.
type state struct {
	nodes  [maxNodes]node
	leader uint8
	// claim is the lock between processes: who holds it, as a process plus
	// one; 0 is free, orphaned means that its holder is gone.
	claim   uint8
	locks   [maxProcs]uint8 // the lock of each process: the task that has it, or none
	tasks   [maxTasks]run
	records [maxOwners]record
	// turns are the replacements on record: how many voters there were when the
	// member of the node went; 0 for none.
	turns [maxNodes]uint8
	// out is what should be on record, for the checks alone.
	out [maxNodes]uint8
	// pending is a change whose caller got no answer and which may still happen.
	pending change
	left    budget
	// killed: a machine has died since the beginning.
	killed bool
}

const orphaned = 0xfe

// budget is how often something may still go wrong.
type budget struct {
	faults    uint8 // a node is killed, cut off, or hidden from us
	crashes   uint8 // a Terraform process is killed
	freezes   uint8 // a process sleeps for longer than its lock lives
	ambiguous uint8 // a call's answer is lost
}

// idOf is the ID of the member that has the node's URL for the gen-th time.
func idOf(n, gen uint8) membership.MemberID {
	return membership.MemberID(uint64(n+1)<<8 | uint64(gen))
}

func nodeOf(id membership.MemberID) (n, gen uint8) { return uint8(id>>8) - 1, uint8(id) }

// lives: it takes part in what the cluster decides.
func (n node) lives() bool { return n.seat != outside && n.machine == up && n.link != cut }

// count returns how many voters there are and how many of them live.
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

// quorum reports whether the cluster can decide anything.
func (s *state) quorum() bool {
	voters, living := s.count()
	return 2*living > voters
}

// led: there is a quorum, and a leader that leads it.
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

// view is what a look sees of one node, and all that a decision depends on.
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

// snapshot is what cluster.Client.Observe would say of the state.
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
		case n.link == cut && at == s.leader: // it does not know yet
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
