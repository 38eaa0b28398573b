// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdsim

import (
	"bytes"
	"slices"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

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
