// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdsim

import (
	"cmp"
	"context"
	"slices"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/protobuf/proto"
)

// alarm lists, raises and disarms alarms. A list is not confirmed with the leader: Alarm,
// server/etcdserver/apply/apply.go.
func (p *Process) alarm(ctx context.Context, r *pb.AlarmRequest) (proto.Message, error) {
	return p.fill(p.propose(ctx, requestTimeout, func(s *state) (proto.Message, error) {
		out := &pb.AlarmResponse{Header: &pb.ResponseHeader{Revision: s.rev}}
		it := &pb.AlarmMember{MemberID: r.MemberID, Alarm: r.Alarm}
		same := func(a *pb.AlarmMember) bool { return a.MemberID == it.MemberID && a.Alarm == it.Alarm }
		switch raised := slices.ContainsFunc(s.alarms, same); r.Action {
		case pb.AlarmRequest_GET:
			for _, a := range s.alarms {
				if r.Alarm == pb.AlarmType_NONE || r.Alarm == a.Alarm {
					out.Alarms = append(out.Alarms, a)
				}
			}
		case pb.AlarmRequest_ACTIVATE:
			if !raised {
				s.alarms = append(s.alarms, it)
				slices.SortFunc(s.alarms, func(a, b *pb.AlarmMember) int {
					return cmp.Or(cmp.Compare(a.Alarm, b.Alarm), cmp.Compare(a.MemberID, b.MemberID))
				})
			}
			out.Alarms = append(out.Alarms, it)
		case pb.AlarmRequest_DEACTIVATE:
			if raised {
				s.alarms = slices.DeleteFunc(s.alarms, same)
				out.Alarms = append(out.Alarms, it)
			}
		}
		return out, nil
	}))
}

// raised reports whether any member has raised an alarm.
func (s *store) raised(alarm pb.AlarmType) bool {
	return slices.ContainsFunc(s.alarms, func(a *pb.AlarmMember) bool { return a.Alarm == alarm })
}

// accepts returns the error for a write while an alarm is raised. Without space, keys can
// be deleted, but none can be put: applierV3Capped. With corrupt data nothing can be
// written: applierV3Corrupt, both in server/etcdserver/apply.
func (s *store) accepts(request proto.Message) error {
	if s.raised(pb.AlarmType_CORRUPT) {
		return rpctypes.ErrGRPCCorrupt
	}
	if !s.raised(pb.AlarmType_NOSPACE) {
		return nil
	}
	puts := false
	switch r := request.(type) {
	case *pb.PutRequest, *pb.LeaseGrantRequest:
		puts = true
	case *pb.TxnRequest:
		for _, op := range slices.Concat(r.Success, r.Failure) {
			puts = puts || op.GetRequestPut() != nil
		}
	}
	if puts {
		return rpctypes.ErrGRPCNoSpace
	}
	return nil
}
