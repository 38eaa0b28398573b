// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdsim

import "time"

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
