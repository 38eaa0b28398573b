// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package model

import (
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// kind is the kind of an operation.
type kind uint8

const (
	join     kind = iota // Engine.Join: etcd_member's create
	leave                // Engine.Leave: etcd_member's delete
	withdraw             // Engine.Withdraw: etcd_member_config's delete
)

// task is an operation of a Terraform process.
type task struct {
	kind  kind
	proc  uint8
	node  uint8
	owner uint8
	// after is a task that must be done first, because of the graph; or none.
	after uint8
	// gen is the ID in state of a member that leaves; 0 for an initial member.
	gen uint8
	// replacement: it leaves to make room for a successor; its record stays.
	replacement bool
	// insteadOf is an interrupted task that is not resumed: the operator runs
	// this task instead; or none.
	insteadOf uint8
}

// scenario is the start and the tasks of a search.
type scenario struct {
	name   string
	voters uint8
	// deadNodes are dead from the beginning.
	deadNodes []uint8
	tasks     []task
	// parallel is how many operations a process runs at once.
	parallel [maxProcs]uint8
	budget   budget
	// endless: some tasks cannot always be done, and are refused.
	endless bool
	options
}

// options are the variants of the world, and the mistakes that are added to the
// protocol to test that they are found.
type options struct {
	// guard: the servers refuse what etcd refuses (strict-reconfig-check).
	// Without it the decisions alone must be sufficient.
	guard bool
	// fenced: a change whose answer was lost is in the leader's log or is
	// dropped, so that it happens, if at all, before the next write is
	// answered. Without fenced, it may happen at any time.
	fenced bool
	// rude: a process may freeze between the check of its lock and the call
	// that follows. Only the servers' checks protect against that.
	rude bool

	mistake mistake
	rules   rules
}

// orderly reports whether calls are made only while the lock is held and end
// before the next one begins. Only then can the model promise that the leader
// always hands over before it leaves, and that one more failure is tolerated.
// The quorum must survive in every world.
func (o options) orderly() bool { return o.fenced && !o.rude }

// mistake is a mistake in the protocol.
type mistake uint8

const (
	noMistake mistake = iota
	removeUnlocked
	announceUnrecorded
	lockUnchecked
	noLookUnderLock
	lockKept
	lockKeptWaiting
	withdrawUnlocked
	turnUnrecorded
)

// rules are the decisions. Searches for mistakes replace them.
type rules struct {
	identify func(membership.Snapshot, membership.IdentifyRequest) membership.Identity
	add      func(membership.Snapshot, membership.AddRequest) membership.Decision
	promote  func(membership.Snapshot, membership.PromoteRequest) membership.Decision
	remove   func(membership.Snapshot, membership.RemoveRequest) membership.Decision
	withdraw func(membership.Snapshot, membership.WithdrawRequest) membership.Decision
}

var theRules = rules{membership.Identify, membership.DecideAdd, membership.DecidePromote, membership.DecideRemove, membership.DecideWithdraw}

// question is everything on which a decision depends, so that each is asked once.
type question struct {
	what   uint8
	node   uint8
	gen    uint8
	views  [maxNodes]view
	leader uint8
	rec    record
	before seen
	more   uint8 // the members that leave, one bit for each node
	flag   bool  // it will be replaced
	turns  [maxNodes]uint8
}

type answer struct {
	verdict membership.Verdict
	code    membership.Code
	moveTo  uint8
	step    membership.Step
	gen     uint8 // the member that Identify or DecideWithdraw found
	found   uint8
	// unmanaged: the member stays, and a warning tells the operator.
	unmanaged bool
}

// mind answers questions and remembers the answers.
type mind struct {
	rules rules
	known map[question]answer
}

func (s *state) ask(what, n, gen uint8) question {
	q := question{what: what, node: n, gen: gen, leader: s.leader}
	for i := range s.nodes {
		q.views[i] = s.viewOf(i)
	}
	return q
}

func (m *mind) answer(s *state, q question) answer {
	if a, ok := m.known[q]; ok {
		return a
	}
	snap := s.snapshot()
	var d membership.Decision
	var a answer
	id := idOf(q.node, q.gen)
	urls := []string{urlOf(q.node)}
	switch q.what {
	case 'i':
		r := membership.IdentifyRequest{Name: nameOf(q.node), PeerURLs: urls}
		r.Ownership = q.rec.ownership()
		found := m.rules.identify(snap, r)
		a.step, a.code, a.found = found.Step, found.Code, none
		if found.ID != 0 {
			a.found, a.gen = nodeOf(found.ID)
		}
	case 'a':
		d = m.rules.add(snap, membership.AddRequest{Name: nameOf(q.node), PeerURLs: urls})
	case 'p':
		r := membership.PromoteRequest{ID: id}
		if q.before != notSeen {
			r.Before = snap.Answer(id)
			r.Before.State, r.Before.MemberID, r.Before.ClusterID, r.Before.Learner = membership.Answered, id, clusterID, true
			r.Before.Applied = max(1, r.Before.Applied) - 1 // the record is written between two observations
			if q.before == seenThen {
				r.Before.Term--
			}
		}
		d = m.rules.promote(snap, r)
	case 'r':
		r := membership.RemoveRequest{ID: id, Name: nameOf(q.node), PeerURLs: urls, Replacement: q.flag}
		for i, n := range s.nodes {
			if q.more&(1<<i) != 0 {
				r.Leaving = append(r.Leaving, idOf(uint8(i), n.gen))
			}
		}
		for i, n := range q.turns {
			if n > 0 {
				r.Turns = append(r.Turns, membership.Turn{Name: nameOf(uint8(i)), Voters: int(n)})
			}
		}
		d = m.rules.remove(snap, r)
	}
	if q.what == 'w' {
		d = m.rules.withdraw(snap, s.withdrawal(q))
	}
	if q.what != 'i' {
		a = answer{verdict: d.Verdict, code: d.Code, moveTo: none}
		if d.MoveLeaderTo != 0 {
			a.moveTo, _ = nodeOf(d.MoveLeaderTo)
		}
		if q.what == 'w' && d.Verdict == membership.Go {
			a.found, a.gen = nodeOf(d.Facts.Subject)
		}
		for _, w := range d.Warnings {
			a.unmanaged = a.unmanaged || w.Code == membership.Unmanaged
		}
	}
	m.known[q] = a
	return a
}

// ownership returns the contents of a record.
func (r record) ownership() membership.Ownership {
	if r.state == noRecord {
		return membership.Ownership{}
	}
	c := membership.Ownership{Recorded: true, PeerURLs: []string{urlOf(r.node)}, Removed: r.state == removed, Retired: r.ran}
	if r.state != intended {
		c.ID = idOf(r.node, r.gen)
	}
	return c
}

// withdrawal returns the request of the backstop: the configuration is
// destroyed permanently, and the leader is connected to every living member.
func (s *state) withdrawal(q question) membership.WithdrawRequest {
	r := membership.WithdrawRequest{
		Owner: "o", RecordOwner: "o", Name: nameOf(q.node), PeerURLs: []string{urlOf(q.node)},
		RecordName: nameOf(q.rec.node), Ownership: q.rec.ownership(), Seen: map[membership.MemberID]bool{},
	}
	for i, n := range s.nodes {
		if n.seat != outside {
			r.Seen[idOf(uint8(i), n.gen)] = n.lives()
		}
	}
	return r
}
