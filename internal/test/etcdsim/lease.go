// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdsim

import (
	"context"
	"maps"
	"slices"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// minLeaseTTL is a limit in seconds: minTTL in NewServer, server/etcdserver/server.go.
const minLeaseTTL = 2

// leaseClock is the leader's knowledge of when leases expire.
type leaseClock struct {
	c      *Cluster
	last   int64 // ID
	expiry map[int64]time.Time
	timer  *time.Timer
}

// promote gives all leases their whole time again, because a new leader does not
// know when they were renewed: Promote, server/lease/lessor.go.
func (l *leaseClock) promote() {
	for id, ttl := range l.c.lead.state.leases {
		l.expiry[id] = time.Now().Add(seconds(ttl) + electionTimeout)
	}
}

func seconds(n int64) time.Duration { return time.Duration(n) * time.Second }

// settle sets the timer for the lease that expires first. Leases expire only where
// a leader can revoke them.
func (l *leaseClock) settle() {
	if l.timer != nil {
		l.timer.Stop()
		l.timer = nil
	}
	if l.c.leader == nil {
		return
	}
	var first time.Time
	for id := range l.c.leader.state.leases {
		if end, ok := l.expiry[id]; ok && (first.IsZero() || end.Before(first)) {
			first = end
		}
	}
	if !first.IsZero() {
		l.timer = time.AfterFunc(time.Until(first), l.expire)
	}
}

// expire revokes the leases whose time is over.
func (l *leaseClock) expire() {
	l.c.n.mu.Lock()
	defer l.c.n.mu.Unlock()
	if l.c.leader != nil {
		for _, id := range slices.Sorted(maps.Keys(l.c.leader.state.leases)) {
			if end, ok := l.expiry[id]; ok && !time.Now().Before(end) {
				delete(l.expiry, id)
				l.c.tail = append(l.c.tail, &entry{apply: func(s *state) (proto.Message, error) { return nil, s.revoke(id) }})
			}
		}
	}
	l.c.settle()
}

func (p *Process) leaseGrant(ctx context.Context, r *pb.LeaseGrantRequest) (proto.Message, error) {
	c := p.c
	id, ttl := r.ID, max(r.TTL, minLeaseTTL)
	if id == 0 {
		c.leases.last++
		id = c.leases.last
	}
	return p.fill(p.propose(ctx, requestTimeout, func(s *state) (proto.Message, error) {
		if err := s.accepts(r); err != nil {
			return nil, err
		}
		s.leases[id] = ttl
		if s == c.leader.state {
			c.leases.expiry[id] = time.Now().Add(seconds(ttl))
		}
		return &pb.LeaseGrantResponse{Header: &pb.ResponseHeader{Revision: s.rev}, ID: id, TTL: ttl}, nil
	}))
}

func (p *Process) leaseRevoke(ctx context.Context, r *pb.LeaseRevokeRequest) (proto.Message, error) {
	who, err := p.who(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := p.propose(ctx, requestTimeout, func(s *state) (proto.Message, error) {
		if err := s.mayUse(who, r.ID); err != nil {
			return nil, err
		}
		return nil, s.revoke(r.ID)
	}); err != nil {
		return nil, err
	}
	return &pb.LeaseRevokeResponse{Header: p.header(true)}, nil
}

func (p *Process) leaseTimeToLive(ctx context.Context, r *pb.LeaseTimeToLiveRequest) (proto.Message, error) {
	if r.Keys {
		return nil, status.Error(codes.Unimplemented, "the keys of a lease are not simulated")
	}
	leader, err := p.toLeader(ctx)
	if err != nil {
		return nil, err
	}
	out := &pb.LeaseTimeToLiveResponse{Header: p.header(true), ID: r.ID, TTL: -1}
	if ttl, ok := leader.state.leases[r.ID]; ok {
		out.TTL, out.GrantedTTL = int64(time.Until(p.c.leases.expiry[r.ID]).Seconds()), ttl
	}
	return out, nil
}

// leaseRenew answers 0 for a lease that does not exist: leaseKeepAlive,
// server/etcdserver/api/v3rpc/lease.go.
func (p *Process) leaseRenew(ctx context.Context, r *pb.LeaseKeepAliveRequest) (proto.Message, error) {
	out := &pb.LeaseKeepAliveResponse{Header: p.header(true), ID: r.ID}
	leader, err := p.toLeader(ctx)
	if err != nil {
		return nil, err
	}
	who, err := p.who(ctx)
	if err == nil {
		err = p.state.mayUse(who, r.ID)
	}
	if err != nil {
		return nil, err
	}
	if ttl, ok := leader.state.leases[r.ID]; ok {
		out.TTL, p.c.leases.expiry[r.ID] = ttl, time.Now().Add(seconds(ttl))
		p.c.leases.settle()
	}
	return out, nil
}
