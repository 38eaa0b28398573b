// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdsim

import (
	"context"
	"fmt"
	"slices"
	"strings"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

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
