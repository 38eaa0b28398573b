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
	initial   []*record
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
	expiryV2 *time.Timer
}

// Form starts a cluster of members of these names. The first one leads. For 5 s
// the members do not count as healthy, as after the start of real ones.
func (n *Network) Form(v Version, names ...string) *Cluster {
	n.mu.Lock()
	defer n.mu.Unlock()
	peers := map[string][]string{}
	for _, name := range names {
		peers[name] = []string{PeerURL(name)}
	}
	c, err := n.cluster(fmt.Sprint("etcdsim-", len(n.clusters)+1), peers)
	if err != nil {
		panic(err) // the names are the test's own
	}
	for _, name := range names {
		p := c.newProcess(name, v)
		_ = p.found()
		p.start()
	}
	c.term = 2
	c.elect(c.processes[0])
	c.settle()
	return c
}

// Static is the cluster that initial members form, peer URLs by name, with this cluster
// token: that of ETCD_INITIAL_CLUSTER and ETCD_INITIAL_CLUSTER_TOKEN. It has no
// processes at first. It forms as soon as a quorum of them has started as new.
func (n *Network) Static(token string, peers map[string][]string) (*Cluster, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.cluster(token, peers)
}

func (n *Network) cluster(token string, peers map[string][]string) (*Cluster, error) {
	ids, id, err := membership.InitialMemberIDs(peers, token)
	if err != nil {
		return nil, err
	}
	for _, c := range n.clusters {
		if c.id == uint64(id) {
			return c, nil
		}
	}
	c := &Cluster{n: n, id: uint64(id), term: 1, side: map[*Process]int{}, match: map[uint64]uint64{}}
	c.leases = leaseClock{c: c, expiry: map[int64]time.Time{}}
	for name, urls := range peers {
		c.initial = append(c.initial, &record{ID: uint64(ids[name]), Name: name, PeerURLs: slices.Sorted(slices.Values(urls))})
	}
	n.clusters = append(n.clusters, c)
	return c, nil
}

// Cluster returns the cluster of an ID, nil if there is none.
func (n *Network) Cluster(id uint64) *Cluster {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, c := range n.clusters {
		if c.id == id {
			return c
		}
	}
	return nil
}

// Peers is what answers to GET /members at a peer URL: the members that the process
// there knows, and its cluster. Without members it hangs. ok is false if nobody is
// there, also behind a [Cluster.Split] from the process from, unless it is nil.
func (n *Network) Peers(from *Process, peerURL string) (cluster uint64, members []*pb.Member, ok bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, c := range n.clusters {
		for _, p := range c.processes {
			switch {
			case !p.running || p.PeerURL != peerURL || from != nil && from.c == c && c.side[from] != c.side[p]:
			case p.frozen:
				ok = true
			default:
				return c.id, p.state.list(), true
			}
		}
	}
	return 0, nil, ok
}

// founding returns the state of a process before the first entry of the log.
func (c *Cluster) founding() *state {
	s := &state{maxLearners: max(c.n.MaxLearners, 1), removed: map[uint64]bool{}, store: newStore(), v2: newStoreV2(len(c.initial))}
	for _, m := range c.initial {
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

// Isolate separates a process from all others, also from those that are isolated already.
// [Cluster.Rejoin] undoes it.
func (c *Cluster) Isolate(p *Process) { c.isolate(p, 2+slices.Index(c.Processes(), p)) }

// Rejoin undoes [Cluster.Isolate].
func (c *Cluster) Rejoin(p *Process) { c.isolate(p, 0) }

func (c *Cluster) isolate(p *Process, side int) {
	c.n.mu.Lock()
	defer c.n.mu.Unlock()
	c.side[p] = side
	c.settle()
}

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

// peer is the connection that a process dialled to another one. An update of the list
// does not end it: Transport.UpdatePeer, server/etcdserver/api/rafthttp/transport.go.
type peer struct {
	since  time.Time // zero after the other process has closed it
	silent time.Time // when it broke without being closed; zero while it works
	// The counters of metrics, in heartbeats. They grow while the connection works.
	sent, received int64
	counted        time.Time
}

// failure counts what a leader could not send to a member, in heartbeats.
type failure struct {
	sent    int64
	counted time.Time
}

// reconnect brings the connections of all processes up to date.
func (c *Cluster) reconnect() {
	now := time.Now()
	for _, p := range c.processes {
		if p.works() {
			p.fail(now)
		}
		for _, q := range c.processes {
			if p == q || !p.running || p.frozen {
				continue
			}
			link := p.peers[q.id]
			if link != nil {
				p.count(link, q, now)
			}
			near := p.near(q)
			dials := near && q.knows(p) && p.finds(q)
			switch {
			case q.id == 0 || !p.knows(q):
				delete(p.peers, q.id)
			case link != nil && !q.running:
				link.since, link.silent = time.Time{}, time.Time{}
			case dials && link == nil:
				p.peers[q.id] = &peer{since: now, counted: now}
			case dials && !link.active(now):
				link.since, link.silent = now, time.Time{}
			case near && link.active(now):
				link.silent = time.Time{}
			case link != nil && link.silent.IsZero():
				link.silent = now
			}
		}
	}
}

// active reports whether a connection counts as active.
func (l *peer) active(now time.Time) bool {
	return l != nil && !l.since.IsZero() && (l.silent.IsZero() || now.Sub(l.silent) < readTimeout)
}

// beatsSince returns the whole heartbeats since a time, and moves it to the last of them.
func beatsSince(counted *time.Time, now time.Time) int64 {
	past := now.Sub(*counted)
	*counted = now.Add(-past % heartbeat)
	return int64(past / heartbeat)
}

// count adds the heartbeats since the last call to the counters of a connection.
// Leaders send them, followers answer them.
func (p *Process) count(l *peer, q *Process, now time.Time) {
	beats := beatsSince(&l.counted, now)
	if lead := p.c.leader; (lead == p || lead == q) && l.active(now) {
		l.sent += beats
		if l.silent.IsZero() {
			l.received += beats
		}
	}
}

// fail counts what the leader has not been able to send since the last call, also to
// members that it never met.
func (p *Process) fail(now time.Time) {
	for _, m := range p.state.members {
		f := p.failures[m.ID]
		if f == nil {
			f = &failure{counted: now}
			p.failures[m.ID] = f
		}
		beats := beatsSince(&f.counted, now)
		if m.ID != p.id && p.c.leader == p && !p.peers[m.ID].active(now) {
			f.sent += beats
		}
	}
}

// activeSince returns since when the connection to a member has worked, zero if it
// does not: transport.ActiveSince.
func (p *Process) activeSince(id uint64) time.Time {
	if l := p.peers[id]; l.active(time.Now()) {
		return l.since
	}
	return time.Time{}
}
