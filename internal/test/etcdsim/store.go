// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdsim

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"slices"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// event is a change of a key. Key-value pairs are never changed after they are stored.
type event struct {
	kv, prev *mvccpb.KeyValue
	deleted  bool
}

// store holds the keys with their whole history; compaction only forbids to read it.
type store struct {
	rev, compacted int64
	kvs            map[string]*mvccpb.KeyValue
	history        []event
	leases         map[int64]int64   // the granted TTL in seconds, by ID
	alarms         []*pb.AlarmMember // that are raised, sorted
	users          *users
}

func newStore() *store {
	return &store{rev: 1, compacted: -1, kvs: map[string]*mvccpb.KeyValue{}, leases: map[int64]int64{}, users: newUsers()}
}

// inRange reports whether a key is in a range. An end of one zero byte means all keys
// from the first one.
func inRange(key, from, end []byte) bool {
	switch {
	case len(end) == 0:
		return bytes.Equal(key, from)
	case len(end) == 1 && end[0] == 0:
		return bytes.Compare(key, from) >= 0
	default:
		return bytes.Compare(key, from) >= 0 && bytes.Compare(key, end) < 0
	}
}

// read is executeRange, server/etcdserver/txn/range.go.
func (s *store) read(r *pb.RangeRequest) (*pb.RangeResponse, error) {
	if r.SortOrder != pb.RangeRequest_NONE || r.Revision+r.MinModRevision+r.MaxModRevision+r.MinCreateRevision+r.MaxCreateRevision > 0 {
		return nil, status.Error(codes.Unimplemented, "orders, old revisions and limits of them are not simulated")
	}
	var found []*mvccpb.KeyValue
	for key, kv := range s.kvs {
		if inRange([]byte(key), r.Key, r.RangeEnd) {
			found = append(found, kv)
		}
	}
	out := &pb.RangeResponse{Header: &pb.ResponseHeader{Revision: s.next()}, Count: int64(len(found))}
	if r.CountOnly {
		return out, nil
	}
	slices.SortFunc(found, func(a, b *mvccpb.KeyValue) int { return bytes.Compare(a.Key, b.Key) })
	if r.Limit > 0 && int64(len(found)) > r.Limit {
		found, out.More = found[:r.Limit], true
	}
	for _, kv := range found {
		if r.KeysOnly {
			kv = proto.CloneOf(kv)
			kv.Value = nil
		}
		out.Kvs = append(out.Kvs, kv)
	}
	return out, nil
}

// writable is checkPut, server/etcdserver/txn/put.go.
func (s *store) writable(r *pb.PutRequest) error {
	if _, ok := s.leases[r.Lease]; r.Lease != 0 && !ok {
		return rpctypes.ErrGRPCLeaseNotFound
	}
	if r.IgnoreValue || r.IgnoreLease || r.PrevKv {
		return status.Error(codes.Unimplemented, "a put that keeps the value or the lease, or returns it, is not simulated")
	}
	return nil
}

// put stores a key at the next revision.
func (s *store) put(r *pb.PutRequest) *pb.PutResponse {
	old := s.kvs[string(r.Key)]
	kv := &mvccpb.KeyValue{Key: r.Key, Value: r.Value, Lease: r.Lease, CreateRevision: s.rev + 1, ModRevision: s.rev + 1, Version: 1}
	if old != nil {
		kv.CreateRevision, kv.Version = old.CreateRevision, old.Version+1
	}
	s.kvs[string(r.Key)] = kv
	s.history = append(s.history, event{kv: kv, prev: old})
	return &pb.PutResponse{Header: &pb.ResponseHeader{Revision: s.rev + 1}}
}

// deleteRange deletes keys at the next revision.
func (s *store) deleteRange(r *pb.DeleteRangeRequest) *pb.DeleteRangeResponse {
	out := &pb.DeleteRangeResponse{Header: &pb.ResponseHeader{}}
	for _, key := range slices.Sorted(maps.Keys(s.kvs)) {
		if inRange([]byte(key), r.Key, r.RangeEnd) {
			s.history = append(s.history, event{kv: &mvccpb.KeyValue{Key: []byte(key), ModRevision: s.rev + 1}, prev: s.kvs[key], deleted: true})
			delete(s.kvs, key)
			out.Deleted++
		}
	}
	out.Header.Revision = s.next()
	return out
}

// next returns the revision after a write: that of its events, if there were any.
func (s *store) next() int64 {
	if n := len(s.history); n > 0 && s.history[n-1].kv.ModRevision > s.rev {
		return s.rev + 1
	}
	return s.rev
}

// compact is Compact, server/storage/mvcc/kvstore.go.
func (s *store) compact(rev int64) error {
	if rev <= s.compacted {
		return rpctypes.ErrGRPCCompacted
	}
	if rev > s.rev {
		return rpctypes.ErrGRPCFutureRev
	}
	s.compacted = rev
	return nil
}

// revoke deletes a lease and its keys, at one revision.
func (s *store) revoke(id int64) error {
	if s.raised(pb.AlarmType_CORRUPT) {
		return rpctypes.ErrGRPCCorrupt
	}
	if _, ok := s.leases[id]; !ok {
		return rpctypes.ErrGRPCLeaseNotFound
	}
	delete(s.leases, id)
	for _, key := range s.attached(id) {
		s.deleteRange(&pb.DeleteRangeRequest{Key: key})
	}
	s.rev = s.next()
	return nil
}

// attached returns the keys of a lease, sorted.
func (s *store) attached(id int64) (keys [][]byte) {
	for _, key := range slices.Sorted(maps.Keys(s.kvs)) {
		if s.kvs[key].Lease == id {
			keys = append(keys, []byte(key))
		}
	}
	return keys
}

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

// maxTxnOps is the default of --max-txn-ops.
const maxTxnOps = 128

// txn carries out a transaction, as a whole or not at all: Txn, server/etcdserver/txn/txn.go.
func (s *store) txn(r *pb.TxnRequest) (*pb.TxnResponse, error) {
	out := &pb.TxnResponse{Succeeded: !slices.ContainsFunc(r.Compare, func(c *pb.Compare) bool { return !s.holds(c) })}
	ops := r.Success
	if !out.Succeeded {
		ops = r.Failure
	}
	for _, o := range ops {
		if put := o.GetRequestPut(); put != nil {
			if err := s.writable(put); err != nil {
				return nil, err
			}
		}
	}
	for _, o := range ops {
		a := &pb.ResponseOp{}
		switch o := o.Request.(type) {
		case *pb.RequestOp_RequestRange:
			got, err := s.read(o.RequestRange)
			if err != nil {
				return nil, err
			}
			a.Response = &pb.ResponseOp_ResponseRange{ResponseRange: got}
		case *pb.RequestOp_RequestPut:
			a.Response = &pb.ResponseOp_ResponsePut{ResponsePut: s.put(o.RequestPut)}
		case *pb.RequestOp_RequestDeleteRange:
			a.Response = &pb.ResponseOp_ResponseDeleteRange{ResponseDeleteRange: s.deleteRange(o.RequestDeleteRange)}
		}
		out.Responses = append(out.Responses, a)
	}
	s.rev = s.next()
	out.Header = &pb.ResponseHeader{Revision: s.rev}
	return out, nil
}

// checkTxn is checkTxnRequest and checkIntervals, server/etcdserver/api/v3rpc/key.go.
func checkTxn(r *pb.TxnRequest) error {
	if max(len(r.Compare), len(r.Success), len(r.Failure)) > maxTxnOps {
		return rpctypes.ErrGRPCTooManyOps
	}
	for _, c := range r.Compare {
		if c.Result != pb.Compare_EQUAL || c.Target == pb.Compare_VERSION || c.Target == pb.Compare_LEASE {
			return status.Error(codes.Unimplemented, "of comparisons, only equality of values and revisions is simulated")
		}
	}
	for _, ops := range [][]*pb.RequestOp{r.Success, r.Failure} {
		var written []*pb.DeleteRangeRequest // of deletions first, whatever their order
		for _, o := range ops {
			if d := o.GetRequestDeleteRange(); d != nil {
				written = append(written, d)
			}
			if o.GetRequestTxn() != nil {
				return status.Error(codes.Unimplemented, "a transaction within another is not simulated")
			}
		}
		for _, o := range ops {
			put := o.GetRequestPut()
			if put == nil {
				continue
			}
			if slices.ContainsFunc(written, func(d *pb.DeleteRangeRequest) bool { return inRange(put.Key, d.Key, d.RangeEnd) }) {
				return rpctypes.ErrGRPCDuplicateKey
			}
			written = append(written, &pb.DeleteRangeRequest{Key: put.Key})
		}
	}
	return nil
}

// onlyReads reports whether a transaction writes nothing, whatever its comparisons
// say, and whether all its reads are serializable.
func onlyReads(r *pb.TxnRequest) (reads, serializable bool) {
	reads, serializable = true, true
	for _, o := range slices.Concat(r.Success, r.Failure) {
		got := o.GetRequestRange()
		reads = reads && got != nil
		serializable = serializable && got.GetSerializable()
	}
	return reads, reads && serializable
}

// holds is applyCompare, server/etcdserver/txn/txn.go: a comparison with a range holds for
// each key in it. Keys that do not exist have no value, and a revision of 0.
func (s *store) holds(c *pb.Compare) bool {
	found := false
	for key, kv := range s.kvs {
		if inRange([]byte(key), c.Key, c.RangeEnd) {
			if found = true; !compares(c, kv) {
				return false
			}
		}
	}
	return found || c.Target != pb.Compare_VALUE && compares(c, &mvccpb.KeyValue{})
}

func compares(c *pb.Compare, kv *mvccpb.KeyValue) bool {
	switch c.Target {
	case pb.Compare_VALUE:
		return bytes.Equal(kv.Value, c.GetValue())
	case pb.Compare_CREATE:
		return kv.CreateRevision == c.GetCreateRevision()
	default:
		return kv.ModRevision == c.GetModRevision()
	}
}
