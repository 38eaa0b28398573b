// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdsim

import (
	"context"
	"fmt"
	"slices"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

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
