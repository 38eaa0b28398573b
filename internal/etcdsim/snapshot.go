// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdsim

import (
	"crypto/sha256"
	"slices"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/protobuf/proto"
)

// snapshot serves a stream of the database as it is at the first message: Snapshot,
// server/etcdserver/api/v3rpc/maintenance.go. Learners serve it too. Each message is
// a call.
func (n *Network) snapshot(s stream, call Call) error {
	request, ctx := &pb.SnapshotRequest{}, s.Context()
	if err := s.RecvMsg(request); err != nil {
		return err
	}
	call.Request = request
	var p *Process
	var life chan struct{}
	var left []*pb.SnapshotResponse
	for first := true; first || len(left) > 0; first = false {
		ctx, err := n.begin(ctx, call)
		if err != nil {
			return err
		}
		n.mu.Lock()
		if first {
			if p, err = n.reach(ctx, call.Run, call.Address); err == nil {
				err = p.Version.snapshotError(p.enter(ctx, request))
			}
			if err == nil {
				life, left = p.life(), p.snapshot()
			}
		} else if err = n.wait(ctx, p, 0, nil, func() bool { return !p.frozen && !n.silent(call.Run, call.Address) }); err == nil && p.life() != life {
			err = errGone
		}
		n.mu.Unlock()
		var message proto.Message
		if err == nil {
			message, left = left[0], left[1:]
		}
		if message, err = n.after(ctx, call, message, err); err != nil {
			return err
		}
		if err := s.SendMsg(message); err != nil {
			return err
		}
	}
	return nil
}

// chunk is snapshotSendBufferSize, server/etcdserver/api/v3rpc/maintenance.go.
const chunk = 32 << 10

// snapshot returns the messages of a snapshot: the database, and then its hash.
func (p *Process) snapshot() (out []*pb.SnapshotResponse) {
	db, version := p.database(), p.Version.storageVersion()
	hash := sha256.Sum256(db)
	left := uint64(len(db))
	for blob := range slices.Chunk(db, chunk) {
		left -= uint64(len(blob))
		out = append(out, &pb.SnapshotResponse{RemainingBytes: left, Blob: blob, Version: version})
	}
	return append(out, &pb.SnapshotResponse{Blob: hash[:], Version: version})
}

// database returns a stand-in for the database of a process: all changes of keys, padded
// to whole pages. The provider does not read it. Equal states make equal databases.
func (p *Process) database() (out []byte) {
	for _, e := range p.state.history {
		out, _ = proto.MarshalOptions{Deterministic: true}.MarshalAppend(out, e.kv)
	}
	const page = 4096
	return append(out, make([]byte, page-len(out)%page)...)
}
