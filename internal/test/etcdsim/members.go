// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdsim

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/protobuf/proto"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// healthInterval is how long a voter must have been connected to count for the
// strict reconfiguration check: HealthInterval, server/etcdserver/server.go.
const healthInterval = 5 * time.Second

// readyPercent is the part of the leader's log that a learner must have:
// readyPercentThreshold, server/etcdserver/server.go.
const readyPercent = 0.9

// record is a member in the list, and in JSON in the database.
type record struct {
	ID         uint64   `json:"id"`
	PeerURLs   []string `json:"peerURLs"`
	IsLearner  bool     `json:"isLearner,omitempty"`
	Name       string   `json:"name,omitempty"`
	ClientURLs []string `json:"clientURLs,omitempty"`
}

func (m *record) clone() *record {
	out := *m
	return &out
}

// state is what a process has applied.
type state struct {
	maxLearners int
	index       uint64    // of the entry that is applied
	members     []*record // in the order of their IDs, as the list has them
	removed     map[uint64]bool
	downgrade   string // to this version, "" for none
	*store
	v2 *storeV2
}

func (s *state) find(id uint64) *record {
	for _, m := range s.members {
		if m.ID == id {
			return m
		}
	}
	return nil
}

func (s *state) sort() {
	slices.SortFunc(s.members, func(a, b *record) int { return cmp.Compare(a.ID, b.ID) })
}

func (s *state) list() (out []*pb.Member) {
	for _, m := range s.members {
		out = append(out, &pb.Member{
			ID: m.ID, Name: m.Name, IsLearner: m.IsLearner,
			PeerURLs: slices.Clone(m.PeerURLs), ClientURLs: slices.Clone(m.ClientURLs),
		})
	}
	return out
}

// voters returns how many members the list has as voters, without one, and how
// many of them have started: their name is published.
func (s *state) voters(without uint64) (all, started int) {
	for _, m := range s.members {
		if !m.IsLearner && m.ID != without {
			all++
			if m.Name != "" {
				started++
			}
		}
	}
	return all, started
}

// connected returns how many voters a process has been connected to for the health
// interval, itself included: numConnectedSince, server/etcdserver/util.go.
func (p *Process) connected() (n int) {
	limit := time.Now().Add(-healthInterval)
	for _, m := range p.state.members {
		if since := p.activeSince(m.ID); !m.IsLearner && (m.ID == p.id || !since.IsZero() && since.Before(limit)) {
			n++
		}
	}
	return n
}

func quorumOf(n int) int { return n/2 + 1 }

// mayAdd is mayAddMember, server/etcdserver/server.go.
func (p *Process) mayAdd(learner bool) error {
	if p.c.n.Lax {
		return nil
	}
	all, started := p.state.voters(0)
	// A cluster of one may always grow, to restore it.
	if !learner && (all != 1 || started != 1) && started < quorumOf(all+1) {
		return rpctypes.ErrMemberNotEnoughStarted
	}
	if p.connected() < min(all, quorumOf(all+1)) {
		return rpctypes.ErrGRPCUnhealthy
	}
	return nil
}

// mayRemove is mayRemoveMember, server/etcdserver/server.go.
func (p *Process) mayRemove(id uint64) error {
	if m := p.state.find(id); p.c.n.Lax || m != nil && m.IsLearner {
		return nil
	}
	all, started := p.state.voters(id)
	if started < quorumOf(all) {
		return rpctypes.ErrMemberNotEnoughStarted
	}
	if id != p.id && p.activeSince(id).IsZero() {
		return nil // it is down
	}
	if p.connected()-1 < quorumOf(all) {
		return rpctypes.ErrGRPCUnhealthy
	}
	return nil
}

// mayPromote is mayPromoteMember, server/etcdserver/server.go. Only the leader can
// tell; nobody asks whether the learner is alive.
func (p *Process) mayPromote(id uint64) error {
	if p.state.find(id) == nil {
		return rpctypes.ErrGRPCMemberNotFound
	}
	last := p.c.index(len(p.c.log) + len(p.c.tail))
	if id != p.id && float64(p.c.match[id])/float64(last) < readyPercent {
		return rpctypes.ErrGRPCLearnerNotReady
	}
	all, started := p.state.voters(0)
	if !p.c.n.Lax && started+1 < quorumOf(all+1) {
		return rpctypes.ErrMemberNotEnoughStarted
	}
	return nil
}

// taken reports whether another member has one of the peer URLs.
func (s *state) taken(peerURLs []string, but uint64) bool {
	return slices.ContainsFunc(s.members, func(m *record) bool {
		return m.ID != but && slices.ContainsFunc(m.PeerURLs, func(u string) bool { return slices.Contains(peerURLs, u) })
	})
}

// The order of what follows is that of ValidateConfigurationChange,
// server/etcdserver/api/membership/cluster.go.

func (s *state) add(m *record) error {
	learners := 0
	for _, o := range s.members {
		if o.IsLearner {
			learners++
		}
	}
	switch {
	case s.removed[m.ID]:
		return rpctypes.ErrGRPCMemberNotFound
	case s.find(m.ID) != nil:
		return rpctypes.ErrGRPCMemberExist
	case s.taken(m.PeerURLs, 0):
		return rpctypes.ErrGRPCPeerURLExist
	case m.IsLearner && learners >= s.maxLearners:
		return rpctypes.ErrGRPCTooManyLearners
	}
	s.members = append(s.members, m.clone())
	s.sort()
	return nil
}

func (s *state) promote(id uint64) error {
	switch m := s.find(id); {
	case m == nil:
		return rpctypes.ErrGRPCMemberNotFound
	case !m.IsLearner:
		return rpctypes.ErrGRPCMemberNotLearner
	default:
		m.IsLearner = false
		return nil
	}
}

func (s *state) remove(id uint64) error {
	if s.find(id) == nil {
		return rpctypes.ErrGRPCMemberNotFound
	}
	s.members = slices.DeleteFunc(s.members, func(m *record) bool { return m.ID == id })
	s.removed[id] = true
	return nil
}

func (s *state) update(id uint64, peerURLs []string) error {
	m := s.find(id)
	if m == nil {
		return rpctypes.ErrGRPCMemberNotFound
	}
	if s.taken(peerURLs, id) {
		return rpctypes.ErrGRPCPeerURLExist
	}
	m.PeerURLs = peerURLs
	return nil
}

// configure proposes a change of the members. It has no limit of its own: without
// a quorum it waits as long as the client does (configure, server.go).
func (p *Process) configure(ctx context.Context, change func(*state) error, answer func(list []*pb.Member) proto.Message) (proto.Message, error) {
	return p.propose(ctx, 0, func(s *state) (proto.Message, error) {
		if err := change(s); err != nil {
			return nil, err
		}
		return answer(s.list()), nil
	})
}

func (p *Process) memberAdd(ctx context.Context, r *pb.MemberAddRequest) (proto.Message, error) {
	if !validURLs(r.PeerURLs) {
		return nil, rpctypes.ErrGRPCMemberBadURLs
	}
	if err := p.mayAdd(r.IsLearner); err != nil {
		return nil, err
	}
	urls := slices.Sorted(slices.Values(r.PeerURLs))
	m := &record{ID: uint64(membership.ComputeMemberID(urls, fmt.Sprint(time.Now().Unix()))), PeerURLs: urls, IsLearner: r.IsLearner}
	added := &pb.Member{ID: m.ID, PeerURLs: urls, IsLearner: m.IsLearner}
	return p.fill(p.configure(ctx, func(s *state) error { return s.add(m) }, func(list []*pb.Member) proto.Message {
		return &pb.MemberAddResponse{Header: &pb.ResponseHeader{}, Member: added, Members: list}
	}))
}

// validURLs is types.NewURLs, client/pkg/types/urls.go, for http and https.
func validURLs(urls []string) bool {
	return len(urls) > 0 && !slices.ContainsFunc(urls, func(s string) bool {
		u, err := url.Parse(s)
		return err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Port() == "" || u.Path != ""
	})
}

func (p *Process) memberPromote(ctx context.Context, r *pb.MemberPromoteRequest) (proto.Message, error) {
	leader, err := p.toLeader(ctx)
	if err != nil {
		return nil, err
	}
	if err := leader.mayPromote(r.ID); err != nil {
		return nil, err
	}
	return p.fill(leader.configure(ctx, func(s *state) error { return s.promote(r.ID) }, func(list []*pb.Member) proto.Message {
		return &pb.MemberPromoteResponse{Header: &pb.ResponseHeader{}, Members: list}
	}))
}

func (p *Process) memberRemove(ctx context.Context, r *pb.MemberRemoveRequest) (proto.Message, error) {
	if err := p.mayRemove(r.ID); err != nil {
		return nil, err
	}
	return p.fill(p.configure(ctx, func(s *state) error { return s.remove(r.ID) }, func(list []*pb.Member) proto.Message {
		return &pb.MemberRemoveResponse{Header: &pb.ResponseHeader{}, Members: list}
	}))
}

func (p *Process) memberUpdate(ctx context.Context, r *pb.MemberUpdateRequest) (proto.Message, error) {
	return p.fill(p.configure(ctx, func(s *state) error { return s.update(r.ID, slices.Clone(r.PeerURLs)) }, func(list []*pb.Member) proto.Message {
		return &pb.MemberUpdateResponse{Header: &pb.ResponseHeader{}, Members: list}
	}))
}
