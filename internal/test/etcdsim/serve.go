// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdsim

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// header returns the header of an answer; that of the cluster service has no
// revision. The Network's mutex must be held, as in all methods below.
func (p *Process) header(revision bool) *pb.ResponseHeader {
	h := &pb.ResponseHeader{ClusterId: p.c.id, MemberId: p.id, RaftTerm: p.term}
	if revision {
		h.Revision = p.state.rev
	}
	return h
}

// fill completes the header of an answer of the state.
func (p *Process) fill(answer proto.Message, err error) (proto.Message, error) {
	if err != nil {
		return nil, err
	}
	if a, ok := answer.(interface{ GetHeader() *pb.ResponseHeader }); ok {
		h := a.GetHeader()
		h.ClusterId, h.MemberId, h.RaftTerm = p.c.id, p.id, p.term
	}
	return answer, nil
}

// serve carries out a request.
func (p *Process) serve(ctx context.Context, request proto.Message) (proto.Message, error) {
	if m := p.self(); m != nil && m.IsLearner && !forLearner(request) {
		return nil, p.Version.learnerError()
	}
	if err := p.enter(ctx, request); err != nil {
		return nil, err
	}
	switch r := request.(type) {
	case *pb.RangeRequest:
		return p.read(ctx, r)
	case *pb.PutRequest, *pb.DeleteRangeRequest, *pb.TxnRequest, *pb.CompactionRequest:
		return p.write(ctx, proto.Clone(r))
	case *pb.LeaseGrantRequest:
		return p.leaseGrant(ctx, r)
	case *pb.LeaseRevokeRequest:
		return p.leaseRevoke(ctx, r)
	case *pb.LeaseTimeToLiveRequest:
		return p.leaseTimeToLive(ctx, r)
	case *pb.LeaseKeepAliveRequest:
		return p.leaseRenew(ctx, r)
	case *pb.MemberListRequest:
		if r.Linearizable {
			if err := p.confirm(ctx); err != nil {
				return nil, err
			}
		}
		who, err := p.who(ctx)
		if err == nil {
			err = p.state.users.known(who)
		}
		if err != nil {
			return nil, err
		}
		return &pb.MemberListResponse{Header: p.header(false), Members: p.state.list()}, nil
	case *pb.MemberAddRequest:
		return p.memberAdd(ctx, r)
	case *pb.MemberPromoteRequest:
		return p.memberPromote(ctx, r)
	case *pb.MemberRemoveRequest:
		return p.memberRemove(ctx, r)
	case *pb.MemberUpdateRequest:
		return p.memberUpdate(ctx, r)
	case *pb.DefragmentRequest:
		return &pb.DefragmentResponse{}, nil
	case *pb.StatusRequest:
		return p.status(), nil
	case *pb.AlarmRequest:
		return p.alarm(ctx, r)
	case *pb.MoveLeaderRequest:
		return p.moveLeader(ctx, r)
	case *pb.DowngradeRequest:
		return p.downgrade(ctx, r)
	case *pb.AuthenticateRequest:
		return p.login(ctx, r)
	case *pb.AuthEnableRequest, *pb.AuthDisableRequest, *pb.AuthUserAddRequest, *pb.AuthUserGrantRoleRequest, *pb.AuthRoleAddRequest, *pb.AuthRoleGrantPermissionRequest:
		return p.manage(ctx, r)
	}
	return nil, status.Errorf(codes.Unimplemented, "%T is not simulated", request)
}

// forLearner is isRPCSupportedForLearner, server/etcdserver/api/v3rpc/util.go.
func forLearner(request proto.Message) bool {
	switch r := request.(type) {
	case *pb.StatusRequest:
		return true
	case *pb.RangeRequest:
		return r.Serializable
	}
	return false
}

func (p *Process) read(ctx context.Context, r *pb.RangeRequest) (proto.Message, error) {
	if len(r.Key) == 0 {
		return nil, rpctypes.ErrGRPCEmptyKey
	}
	if !r.Serializable {
		if err := p.confirm(ctx); err != nil {
			return nil, err
		}
	}
	if err := p.permits(ctx, r); err != nil {
		return nil, err
	}
	return p.fill(p.state.read(r))
}

// permits checks a request that only this process carries out: doSerialize,
// server/etcdserver/v3_server.go.
func (p *Process) permits(ctx context.Context, request proto.Message) error {
	who, err := p.who(ctx)
	if err == nil {
		err = p.state.permitted(who, request)
	}
	return err
}

// write proposes a change of the keys.
func (p *Process) write(ctx context.Context, request proto.Message) (proto.Message, error) {
	if key, ok := request.(interface{ GetKey() []byte }); ok && len(key.GetKey()) == 0 {
		return nil, rpctypes.ErrGRPCEmptyKey
	}
	if r, ok := request.(*pb.TxnRequest); ok {
		if err := checkTxn(r); err != nil {
			return nil, err
		}
		if reads, serializable := onlyReads(r); reads {
			if !serializable {
				if err := p.confirm(ctx); err != nil {
					return nil, err
				}
			}
			if err := p.permits(ctx, r); err != nil {
				return nil, err
			}
			return p.fill(p.state.txn(r))
		}
	}
	who, err := p.who(ctx)
	if err != nil {
		return nil, err
	}
	return p.fill(p.propose(ctx, requestTimeout, func(s *state) (proto.Message, error) { return s.write(who, request) }))
}

// write applies a change of the keys.
func (s *store) write(who identity, request proto.Message) (answer proto.Message, err error) {
	if err := s.accepts(request); err != nil {
		return nil, err
	}
	if err := s.permitted(who, request); err != nil {
		return nil, err
	}
	switch r := request.(type) {
	case *pb.PutRequest:
		if err := s.writable(r); err != nil {
			return nil, err
		}
		answer = s.put(r)
	case *pb.DeleteRangeRequest:
		answer = s.deleteRange(r)
	case *pb.TxnRequest:
		return s.txn(r)
	case *pb.CompactionRequest:
		return &pb.CompactionResponse{Header: &pb.ResponseHeader{Revision: s.rev}}, s.compact(r.Revision)
	}
	s.rev = s.next()
	return answer, nil
}

// status is Status, server/etcdserver/api/v3rpc/maintenance.go. The sizes are those
// of an empty database.
func (p *Process) status() *pb.StatusResponse {
	m := p.self()
	index := p.c.index(p.applied)
	out := &pb.StatusResponse{
		Header: p.header(true), Version: string(p.Version), Leader: p.leaderID(), IsLearner: m != nil && m.IsLearner,
		RaftTerm: p.term, RaftIndex: index, RaftAppliedIndex: index, DbSize: 20480, DbSizeInUse: 16384,
	}
	if p.Version.from36() {
		out.StorageVersion, out.DbSizeQuota, out.DowngradeInfo = p.Version.storageVersion(), 2<<30, &pb.DowngradeInfo{Enabled: p.state.downgrade != "", TargetVersion: p.state.downgrade}
	}
	if out.Leader == 0 {
		out.Errors = []string{"etcdserver: no leader"}
	}
	for _, a := range p.state.alarms {
		out.Errors = append(out.Errors, a.String())
	}
	return out
}

// moveLeader is MoveLeader, server/etcdserver/server.go. It waits as long as the
// client does for a member that does not take over.
func (p *Process) moveLeader(ctx context.Context, r *pb.MoveLeaderRequest) (proto.Message, error) {
	if p.leaderID() != p.id {
		return nil, rpctypes.ErrGRPCNotLeader
	}
	if m := p.state.find(r.TargetID); m == nil || m.IsLearner {
		return nil, rpctypes.ErrGRPCBadLeaderTransferee
	}
	if to := p.c.process(r.TargetID); to != p && to != nil && p.c.leader == p && p.reaches(to) && !to.stalled {
		p.c.term++
		p.c.elect(to)
		p.c.settle()
	}
	err := p.c.n.wait(ctx, p, 0, nil, func() bool { return p.leaderID() == r.TargetID })
	return &pb.MoveLeaderResponse{}, err
}

// metrics returns the lines that etcd 3.4 to 3.7 have in common of the process, the leader
// and the connections to peers. A member has no lines for one that it never met.
func (p *Process) metrics() string {
	var b strings.Builder
	fmt.Fprintf(&b, "process_start_time_seconds %s\n", strconv.FormatFloat(float64(p.started.UnixMilli())/1000, 'g', -1, 64))
	fmt.Fprintf(&b, "etcd_server_is_leader %d\n", b2i(p.leaderID() == p.id))
	m := p.self()
	fmt.Fprintf(&b, "etcd_server_is_learner %d\n", b2i(m != nil && m.IsLearner))
	p.c.reconnect()
	for _, id := range slices.Sorted(maps.Keys(p.failures)) {
		if n := p.failures[id].sent; n > 0 {
			fmt.Fprintf(&b, "etcd_network_peer_sent_failures_total{To=\"%x\"} %d\n", id, n)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(p.peers)) {
		l := p.peers[id]
		fmt.Fprintf(&b, "etcd_network_active_peers{Local=\"%x\",Remote=\"%x\"} %d\n", p.id, id, b2i(l.active(time.Now())))
		fmt.Fprintf(&b, "etcd_network_peer_sent_bytes_total{To=\"%x\"} %d\n", id, l.sent)
		fmt.Fprintf(&b, "etcd_network_peer_received_bytes_total{From=\"%x\"} %d\n", id, l.received)
	}
	return b.String()
}

// Version is a version of etcd from 3.5 on, such as "3.6.16". A process keeps the rules
// that the last patches of its minor version have.
type Version string

// from36 reports whether a version is at least 3.6.
func (v Version) from36() bool { return v >= "3.6" }

// learnerError is the answer of a learner to what it does not serve.
func (v Version) learnerError() error {
	if v.from36() {
		return rpctypes.ErrGRPCNotSupportedForLearner
	}
	return status.Error(codes.Unavailable, rpctypes.ErrorDesc(rpctypes.ErrGRPCNotSupportedForLearner))
}

// snapshotError is an error for the user of a snapshot: 3.5 gives it no code.
func (v Version) snapshotError(err error) error {
	if s := status.Convert(err); err != nil && !v.from36() {
		return status.Error(codes.Unknown, strings.TrimPrefix(s.Message(), "etcdserver: "))
	}
	return err
}

// storageVersion returns the version of the database's schema, which 3.6 introduced.
func (v Version) storageVersion() string {
	if !v.from36() {
		return ""
	}
	return v.minor()
}

// minor returns the first release of the same minor version.
func (v Version) minor() string { return fmt.Sprintf("%.3s.0", v) }

// before returns the minor version before, such as "3.5".
func (v Version) before() string {
	var minor int
	_, _ = fmt.Sscanf(string(v), "3.%d.", &minor)
	return fmt.Sprint("3.", minor-1)
}

// downgrade enables and cancels a downgrade: server/etcdserver/version/version.go of 3.6. No
// member is kept from starting by its version.
func (p *Process) downgrade(ctx context.Context, r *pb.DowngradeRequest) (proto.Message, error) {
	if !p.Version.from36() {
		return nil, status.Error(codes.Unimplemented, "downgrades are simulated from 3.6 on")
	}
	if err := p.confirm(ctx); err != nil {
		return nil, err
	}
	to := ""
	switch back := p.Version.before(); {
	case r.Action == pb.DowngradeRequest_ENABLE && r.Version != back:
		return nil, rpctypes.ErrGRPCInvalidDowngradeTargetVersion
	case r.Action == pb.DowngradeRequest_ENABLE && p.state.downgrade != "":
		return nil, rpctypes.ErrGRPCDowngradeInProcess
	case r.Action == pb.DowngradeRequest_ENABLE:
		to = back + ".0"
	}
	return p.fill(p.propose(ctx, requestTimeout, func(s *state) (proto.Message, error) {
		s.downgrade = to
		return &pb.DowngradeResponse{Header: &pb.ResponseHeader{Revision: s.rev}, Version: fmt.Sprintf("%.3s", p.Version)}, nil
	}))
}

// downgraded ends a downgrade when all members are: CancelDowngradeIfNeeded,
// server/etcdserver/version/monitor.go.
func (c *Cluster) downgraded() {
	to := c.leader.state.downgrade
	if to == "" || slices.ContainsFunc(c.leader.state.members, func(m *record) bool {
		p := c.process(m.ID)
		return p == nil || !p.works() || p.Version.minor() != to
	}) {
		return
	}
	c.tail = append(c.tail, &entry{apply: func(s *state) (proto.Message, error) {
		s.downgrade = ""
		return nil, nil
	}})
}
