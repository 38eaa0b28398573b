// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdsim

import (
	"errors"
	"slices"
	"time"
)

const (
	// readTimeout is how long a connection between peers counts as active after
	// the other side fell silent without closing it: ConnReadTimeout,
	// server/etcdserver/api/rafthttp/peer.go. The end of a process closes it.
	readTimeout = 5 * time.Second
	// removedDelay is how long a removed member serves until it stops itself:
	// stopWithDelay in applyAll, server/etcdserver/server.go.
	removedDelay = time.Second
)

// Why a process does not start.
var (
	errUnequal = errors.New("error validating peerURLs: member count is unequal")
	errStarted = errors.New("member has already been bootstrapped")
	errRemoved = errors.New("the member has been permanently removed from the cluster")
	errLostLog = errors.New("tocommit is out of range [lastIndex]. Was the raft log corrupted, truncated, or lost?")
)

// Process is an etcd process, running or not, with its data. [Network.Form] and
// [Cluster.NewProcess] create it.
type Process struct {
	Name, ClientURL string
	// PeerURL is where the process listens for peers, whatever the list of members has.
	// It may be changed while the process does not run.
	PeerURL string
	// Version may be changed while the process does not run.
	Version Version

	c    *Cluster
	also []string // see Publish

	// data, which Wipe removes
	id      uint64 // 0 until it has joined
	state   *state
	applied int // entries of the cluster's log

	// the process
	running, frozen, stalled, leaving bool
	died                              chan struct{} // closed at the end of this life
	started                           time.Time     // the start of this life
	peers                             map[uint64]*peer
	failures                          map[uint64]*failure

	// what it last heard of a leader, and until when
	lead, term uint64
	contact    bool
	heard      time.Time
}

// Publish changes what the member publishes of itself: its name, and client URLs in
// addition to its own.
func (p *Process) Publish(name string, also ...string) {
	p.change(func() { p.Name, p.also = name, also })
}

func (p *Process) clientURLs() []string {
	return slices.Sorted(slices.Values(append([]string{p.ClientURL}, p.also...)))
}

// life identifies the time between a start and the end of a process.
func (p *Process) life() chan struct{} {
	if p == nil {
		return nil
	}
	return p.died
}

// ID returns the member ID, 0 before the process has joined.
func (p *Process) ID() uint64 {
	p.c.n.mu.Lock()
	defer p.c.n.mu.Unlock()
	return p.id
}

// ClusterID is the ID of its cluster.
func (p *Process) ClusterID() uint64 { return p.c.id }

// found gives a process without data that of an initial member.
func (p *Process) found() error {
	for _, m := range p.c.initial {
		if slices.Equal(m.PeerURLs, []string{p.PeerURL}) {
			p.id, p.state, p.applied, p.term, p.lead = m.ID, p.c.founding(), 0, 0, 0
			return nil
		}
	}
	return errUnequal
}

// StartNew starts a process without data as an initial member, with
// --initial-cluster-state=new. Another member that answers may know that it has run:
// isMemberBootstrapped, server/etcdserver/api/membership/cluster.go.
func (p *Process) StartNew() error {
	p.c.n.mu.Lock()
	defer p.c.n.mu.Unlock()
	if p.running || p.id != 0 {
		return errors.New("it runs, or has data")
	}
	if err := p.found(); err != nil {
		return err
	}
	for _, q := range p.c.processes {
		if q == p || !q.works() || p.c.side[p] != p.c.side[q] {
			continue
		}
		if m := q.state.find(p.id); m != nil && len(m.ClientURLs) > 0 {
			p.id, p.state = 0, nil
			return errStarted
		}
	}
	p.start()
	p.c.settle()
	return nil
}

// Done is closed at the end of the present life of a process. It is nil before the first.
func (p *Process) Done() <-chan struct{} {
	p.c.n.mu.Lock()
	defer p.c.n.mu.Unlock()
	return p.died
}

// Start starts the process. Without data it joins as the member that was added
// with its peer URL. The error is that with which the process exits.
func (p *Process) Start() error {
	p.c.n.mu.Lock()
	defer p.c.n.mu.Unlock()
	if p.running {
		return errors.New("it runs already")
	}
	if p.id == 0 {
		known := p.c.newest()
		for _, m := range known.members {
			if slices.Equal(m.PeerURLs, []string{p.PeerURL}) {
				p.id = m.ID
			}
		}
		if p.id == 0 {
			return errUnequal // until it is announced; membership.ValidateClusterAndAssignIDs
		}
		p.state, p.applied, p.term, p.lead = p.c.founding(), 0, 0, 0
		if p.c.leader != nil && p.c.match[p.id] > 0 {
			// A wiped member whose acknowledgements the leader counts on.
			p.id = 0
			return errLostLog
		}
	} else if p.c.newest().removed[p.id] {
		return errRemoved
	}
	p.start()
	p.c.settle()
	return nil
}

func (p *Process) start() {
	p.running, p.frozen, p.leaving, p.contact = true, false, false, false
	p.died, p.started, p.peers, p.failures, p.lead = make(chan struct{}), time.Now(), map[uint64]*peer{}, map[uint64]*failure{}, 0
	clear(p.state.users.tokens)
	p.c.n.listen(p.ClientURL, p)
}

// PowerOff ends the process at once. Its data stay.
func (p *Process) PowerOff() { p.change(p.end) }

func (p *Process) end() {
	if p.running {
		p.running, p.contact = false, false
		close(p.died)
		if p.c.lead == p {
			p.c.lead = nil
		}
	}
}

// Freeze stops the process from doing anything, while its connections stay open.
// Thaw continues it.
func (p *Process) Freeze() { p.change(func() { p.frozen = true }) }

// Thaw undoes [Process.Freeze].
func (p *Process) Thaw() { p.change(func() { p.frozen = false }) }

// Stall stops the process from replicating while it stays connected, as a learner
// that receives a large snapshot. CatchUp undoes it.
func (p *Process) Stall() { p.change(func() { p.stalled = true }) }

// CatchUp undoes [Process.Stall].
func (p *Process) CatchUp() { p.change(func() { p.stalled = false }) }

// Wipe removes the data of a process that does not run.
func (p *Process) Wipe() {
	p.change(func() {
		if !p.running {
			p.id, p.state, p.applied = 0, nil, 0
		}
	})
}

func (p *Process) change(how func()) {
	p.c.n.mu.Lock()
	defer p.c.n.mu.Unlock()
	how()
	p.c.settle()
}

// reaches reports whether messages pass between two processes, in both directions.
func (p *Process) reaches(q *Process) bool {
	return p.near(q) && (p == q || p.sends(q) && q.sends(p))
}

// near reports whether two processes work, and nothing is between them.
func (p *Process) near(q *Process) bool {
	return p.works() && q.works() && p.c.side[p] == q.c.side[q]
}

// sends reports whether the messages of a process get to another one: on the
// connection that the other one dialled, or else to an address in the list. peer.pick,
// server/etcdserver/api/rafthttp/peer.go.
func (p *Process) sends(q *Process) bool {
	return q.peers[p.id].active(time.Now()) || p.finds(q)
}

// finds reports whether a process has an address in its list where another one listens.
func (p *Process) finds(q *Process) bool {
	m := p.state.find(q.id)
	if m == nil || p.stalled || p.applied == 0 {
		m = p.c.newest().find(q.id) // see knows
	}
	return m != nil && slices.Contains(m.PeerURLs, q.PeerURL)
}

func (p *Process) works() bool { return p.running && !p.frozen }

// knows reports whether a process knows another one as a member. One that has not
// caught up has asked the others for their list: GetClusterFromRemotePeers.
func (p *Process) knows(q *Process) bool { return p.state.find(q.id) != nil || p.stalled }

// self returns the member that a process is, nil if it was removed.
func (p *Process) self() *record {
	if m := p.state.find(p.id); m != nil || !p.stalled {
		return m
	}
	return p.c.newest().find(p.id)
}

// leave ends the process of a removed member. One that does not know that yet is told by
// any member that it dials: errMemberRemoved, server/etcdserver/api/rafthttp/stream.go.
func (p *Process) leave() {
	if p.leaving || !p.works() {
		return
	}
	tells := func(q *Process) bool { return p.near(q) && q.state.removed[p.id] && (p == q || p.finds(q)) }
	if !slices.ContainsFunc(p.c.processes, tells) {
		return
	}
	p.leaving = true
	life := p.died
	time.AfterFunc(removedDelay, func() {
		p.change(func() {
			if p.died == life {
				p.end()
			}
		})
	})
}

// leaderID returns the member that the process takes for the leader. It notices
// the loss of a leader, and a leader that of its quorum, after an election timeout.
func (p *Process) leaderID() uint64 {
	if p.contact || time.Since(p.heard) < electionTimeout {
		return p.lead
	}
	return 0
}
