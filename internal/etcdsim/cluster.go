// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdsim

import (
	"fmt"
	"slices"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// Cluster is a simulated cluster. Its log is replicated without delay to every
// process that the leader reaches; the others keep what they had.
type Cluster struct {
	n         *Network
	id        uint64
	token     string
	founders  []*record
	processes []*Process
	side      map[*Process]int // see Split

	log    []*entry
	tail   []*entry // appended by tailOf, not committed
	tailOf *Process
	leader *Process // has a quorum
	lead   *Process // the last leader, while nobody has been elected after it
	term   uint64
	// match is how much of the log the leader knows that each member has:
	// Progress.Match. A new leader begins at 0.
	match    map[uint64]uint64
	election *time.Timer
	leases   leaseClock
}

// Form starts a cluster of members of these names. The first one leads. For 5 s
// the members do not count as healthy, as after the start of real ones.
func (n *Network) Form(v Version, names ...string) *Cluster {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.formed++
	c := &Cluster{n: n, token: fmt.Sprint("etcdsim-", n.formed), term: 2, side: map[*Process]int{}}
	c.leases = leaseClock{c: c, expiry: map[int64]time.Time{}}
	var ids []membership.MemberID
	for _, name := range names {
		p := c.newProcess(name, v)
		id := membership.ComputeMemberID([]string{p.PeerURL}, c.token, nil)
		p.id = uint64(id)
		ids = append(ids, id)
		c.founders = append(c.founders, &record{ID: p.id, Name: name, PeerURLs: []string{p.PeerURL}, votes: true})
	}
	c.id = uint64(membership.ComputeClusterID(ids))
	for _, p := range c.processes {
		p.state = c.founding(v)
		p.start()
	}
	c.elect(c.processes[0])
	c.settle()
	return c
}

// founding returns the state of a process before the first entry of the log.
func (c *Cluster) founding(v Version) *state {
	s := &state{version: v, maxLearners: max(c.n.MaxLearners, 1), removed: map[uint64]bool{}, store: newStore()}
	for _, m := range c.founders {
		s.members = append(s.members, m.clone())
	}
	s.sort()
	return s
}

// PeerURL is the peer URL of a process of that name.
func PeerURL(name string) string { return "http://" + name + ".example:2380" }

// ClientURL is the client URL of a process of that name.
func ClientURL(name string) string { return "http://" + name + ".example:2379" }

// NewProcess prepares the process of a new member.
func (c *Cluster) NewProcess(name string, v Version) *Process {
	c.n.mu.Lock()
	defer c.n.mu.Unlock()
	return c.newProcess(name, v)
}

func (c *Cluster) newProcess(name string, v Version) *Process {
	p := &Process{Name: name, Version: v, c: c, PeerURL: PeerURL(name), ClientURL: ClientURL(name)}
	c.processes = append(c.processes, p)
	return p
}

// Split separates the given processes from all others. It replaces an earlier
// Split; Heal undoes it. Clients reach both sides.
func (c *Cluster) Split(processes ...*Process) {
	c.n.mu.Lock()
	defer c.n.mu.Unlock()
	clear(c.side)
	for _, p := range processes {
		c.side[p] = 1
	}
	c.settle()
}

// Heal undoes [Cluster.Split].
func (c *Cluster) Heal() { c.Split() }

// Processes returns the processes in the order in which they were made.
func (c *Cluster) Processes() []*Process {
	c.n.mu.Lock()
	defer c.n.mu.Unlock()
	return slices.Clone(c.processes)
}

// Members returns the list of the process that has applied most.
func (c *Cluster) Members() []*pb.Member {
	c.n.mu.Lock()
	defer c.n.mu.Unlock()
	return c.newest().list()
}

// Leader returns the leader, nil if there is none.
func (c *Cluster) Leader() *Process {
	c.n.mu.Lock()
	defer c.n.mu.Unlock()
	return c.leader
}
