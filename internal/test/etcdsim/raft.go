// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdsim

import (
	"context"
	"slices"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/protobuf/proto"
)

// The defaults of server/embed/config.go, and ReqTimeout of server/config/config.go.
const (
	heartbeat       = 100 * time.Millisecond
	electionTimeout = time.Second
	requestTimeout  = 5*time.Second + 2*electionTimeout
)

// entry is an entry of the log.
type entry struct {
	apply  func(*state) (proto.Message, error)
	at     *Process // that waits for the result
	answer proto.Message
	err    error
	done   bool
}

// newest returns the state of a process that has applied most.
func (c *Cluster) newest() *state {
	var newest *Process
	for _, p := range c.processes {
		if p.state != nil && (newest == nil || p.applied > newest.applied) {
			newest = p
		}
	}
	if newest == nil {
		return c.founding() // nobody has started
	}
	return newest.state
}

// index returns the raft index of the last of so many entries of the log: the
// initial members' entries come first.
func (c *Cluster) index(entries int) uint64 { return uint64(max(len(c.initial)+entries, 0)) }

// votesFor returns how many voters follow a process as a leader, and how many make
// a quorum, by its own list. A candidate needs voters whose log is not longer.
func (p *Process) votesFor(candidate bool) (votes, quorum int) {
	voters := 0
	for _, m := range p.state.members {
		if m.IsLearner {
			continue
		}
		voters++
		if q := p.c.process(m.ID); q != nil && p.reaches(q) && (q == p || !q.stalled) && (!candidate || q.length() <= p.length()) {
			votes++
		}
	}
	return votes, voters/2 + 1
}

// length returns how many entries the log of a process has.
func (p *Process) length() int {
	if p == p.c.tailOf {
		return len(p.c.log) + len(p.c.tail)
	}
	return p.applied
}

func (c *Cluster) process(id uint64) *Process {
	for _, p := range c.processes {
		if p.id == id && id != 0 {
			return p
		}
	}
	return nil
}

// leads reports whether a process is, or as a candidate can become, the leader.
func (p *Process) leads(candidate bool) bool {
	if !p.works() || p.state == nil {
		return false
	}
	m := p.state.find(p.id)
	votes, quorum := p.votesFor(candidate)
	return m != nil && !m.IsLearner && votes >= quorum
}

// settle brings the cluster to rest after a change: connections, leader, log.
func (c *Cluster) settle() {
	c.reconnect()
	for {
		c.leader = nil
		if c.lead != nil && c.lead.leads(false) {
			c.leader = c.lead
		}
		if c.leader == nil || !c.commit() {
			break
		}
		c.reconnect() // the entry may have changed the members
	}
	c.reconnect() // and so may those of which a process was told now
	if c.leader != nil && c.election != nil {
		c.election.Stop()
		c.election = nil
	}
	if c.leader == nil && c.election == nil && (c.lead != nil || c.candidate() != nil) {
		c.election = time.AfterFunc(electionTimeout, c.timeout)
	}
	now := time.Now()
	for _, p := range c.processes {
		had := p.contact
		p.contact = p.running && c.leader != nil && c.leader.reaches(p) && c.leader.knows(p)
		if p.contact {
			p.lead, p.term = c.leader.id, c.term
		} else if had {
			p.heard = now
		}
		p.leave()
	}
	c.leases.settle()
	c.settleV2()
	c.n.notify()
}

// candidate returns the process that wins an election: that with the longest log,
// and of those the first.
func (c *Cluster) candidate() (best *Process) {
	for _, p := range c.processes {
		if p.leads(true) && (best == nil || p.length() > best.length()) {
			best = p
		}
	}
	return best
}

// timeout is the end of an election timeout without a leader.
func (c *Cluster) timeout() {
	c.n.mu.Lock()
	defer c.n.mu.Unlock()
	c.election = nil
	if c.leader == nil {
		c.lead = nil // it has stepped down
		if next := c.candidate(); next != nil {
			c.term++
			c.elect(next)
		}
	}
	c.settle()
}

// elect makes a process the leader. Entries that only others have are lost.
func (c *Cluster) elect(p *Process) {
	if c.tailOf != p {
		c.tail = nil
	}
	c.lead, c.tailOf, c.match = p, p, map[uint64]uint64{}
	c.tail = append(c.tail, &entry{}) // of the new term
	c.leases.promote()
}

// commit commits the first entry of the tail, or publishes a member, and
// replicates the log. It reports whether there was something to commit.
func (c *Cluster) commit() bool {
	if len(c.tail) == 0 {
		c.publish()
		c.downgraded()
	}
	more := len(c.tail) > 0
	if more {
		c.log = append(c.log, c.tail[0])
		c.tail = c.tail[1:]
	}
	// The leader applies first: others follow it only as far as its list says.
	order := slices.Clone(c.processes)
	slices.SortStableFunc(order, func(a, b *Process) int { return b2i(b == c.leader) - b2i(a == c.leader) })
	for _, p := range order {
		if p != c.leader && (p.stalled || !c.leader.reaches(p) || p.state == nil || !c.leader.knows(p) && !c.leader.state.removed[p.id]) {
			continue
		}
		for ; p.applied < len(c.log) && !p.state.removed[p.id]; p.applied++ {
			e := c.log[p.applied]
			if e.apply == nil {
				continue
			}
			p.state.index = c.index(p.applied + 1)
			if answer, err := e.apply(p.state); p == e.at {
				e.answer, e.err, e.done = answer, err, true
			}
		}
		c.match[p.id] = c.index(len(c.log) + len(c.tail))
	}
	return more
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// publish appends the name and client URLs of a process that the members do not
// have: publishV3, server/etcdserver/server.go.
func (c *Cluster) publish() {
	for _, p := range c.processes {
		if m := c.leader.state.find(p.id); m != nil && p.running && !p.stalled && c.leader.reaches(p) &&
			(m.Name != p.Name || !slices.Equal(m.ClientURLs, p.clientURLs())) {
			id, name, urls := p.id, p.Name, p.clientURLs()
			c.tail = append(c.tail, &entry{apply: func(s *state) (proto.Message, error) {
				if m := s.find(id); m != nil {
					m.Name, m.ClientURLs = name, urls
				}
				return nil, nil
			}})
			return
		}
	}
}

// propose appends an entry through a process and waits until the process has
// applied it. Without a quorum it waits, and the entry may be committed later.
func (p *Process) propose(ctx context.Context, limit time.Duration, apply func(*state) (proto.Message, error)) (proto.Message, error) {
	begin := time.Now()
	c := p.c
	if err := c.n.wait(ctx, p, limit, rpctypes.ErrGRPCTimeout, func() bool { return p.leaderID() != 0 }); err != nil {
		return nil, err
	}
	e := &entry{apply: apply, at: p}
	// A follower passes it on to the leader that it knows, a message that may be lost.
	if to := c.process(p.leaderID()); to != nil && to.reaches(p) && to == c.lead {
		c.tail = append(c.tail, e)
	}
	c.settle()
	left := limit
	if limit > 0 {
		left = max(limit-time.Since(begin), time.Nanosecond)
	}
	if err := c.n.wait(ctx, p, left, rpctypes.ErrGRPCTimeout, func() bool { return e.done }); err != nil {
		return nil, err
	}
	return e.answer, e.err
}

// confirm waits until a process has applied what was committed before, as a
// linearizable read does: at most for requestTimeout.
func (p *Process) confirm(ctx context.Context) error {
	return p.c.n.wait(ctx, p, requestTimeout, rpctypes.ErrGRPCTimeout, func() bool {
		return p.contact && p.applied == len(p.c.log)
	})
}

// toLeader waits for a leader, as calls that the leader carries out do: waitLeader,
// server/etcdserver/v3_server.go.
func (p *Process) toLeader(ctx context.Context) (*Process, error) {
	err := p.c.n.wait(ctx, p, requestTimeout, rpctypes.ErrGRPCNoLeader, func() bool { return p.contact })
	return p.c.leader, err
}
