// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdsim

import (
	"cmp"
	"context"
	"crypto/sha256"
	"slices"

	"go.etcd.io/etcd/api/v3/authpb"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// watch serves a stream with one watch: server/etcdserver/api/v3rpc/watch.go.
func (n *Network) watch(s stream, call Call) error {
	r := &pb.WatchRequest{}
	if err := s.RecvMsg(r); err != nil {
		return err
	}
	w := &watch{n: n, ctx: s.Context(), call: call}
	out, err := w.create(r)
	if err != nil {
		return err
	}
	if err := s.SendMsg(out); err != nil || out.Canceled {
		return err
	}
	for {
		out, changed, err := w.find()
		if err != nil {
			return err
		}
		if out == nil {
			select {
			case <-changed:
				continue
			case <-w.ctx.Done():
				return w.ctx.Err()
			}
		}
		if n.Before != nil {
			if err := n.Before(w.ctx, call); err != nil {
				return err
			}
		}
		answer, err := n.after(w.ctx, call, out, nil)
		if err != nil {
			return err
		}
		if err := s.SendMsg(answer); err != nil {
			return err
		}
	}
}

// watch is the watch of one stream.
type watch struct {
	n    *Network
	ctx  context.Context
	call Call
	p    *Process
	life chan struct{}
	r    *pb.WatchCreateRequest
	next int64 // revision
	over bool
}

// create opens the watch.
func (w *watch) create(r *pb.WatchRequest) (*pb.WatchResponse, error) {
	call := w.call
	call.Request = r
	ctx, err := w.n.begin(w.ctx, call)
	if err != nil {
		return nil, err
	}
	w.n.mu.Lock()
	defer w.n.mu.Unlock()
	if w.p, err = w.n.reach(ctx, call.Run, call.Address); err != nil {
		return nil, err
	}
	if m := w.p.self(); m != nil && m.IsLearner {
		return nil, w.p.Version.learnerError()
	}
	w.life, w.r = w.p.life(), r.GetCreateRequest()
	if w.r == nil || len(w.r.Filters) > 0 || w.r.ProgressNotify || w.r.WatchId != 0 {
		return nil, status.Error(codes.Unimplemented, "of watches, only their creation is simulated, without filters, progress and chosen IDs")
	}
	h := w.p.header(true)
	who, err := w.p.who(ctx)
	if err == nil {
		err = w.p.state.users.may(who, authpb.Permission_READ, w.r.Key, w.r.RangeEnd)
	}
	if err != nil {
		return &pb.WatchResponse{Header: h, WatchId: -1, Created: true, Canceled: true, CancelReason: err.Error()}, nil
	}
	w.next = cmp.Or(w.r.StartRevision, h.Revision+1)
	return &pb.WatchResponse{Header: h, Created: true}, nil
}

// find returns the next message, and a channel that is closed with the next change.
func (w *watch) find() (*pb.WatchResponse, <-chan struct{}, error) {
	w.n.mu.Lock()
	defer w.n.mu.Unlock()
	p := w.p
	switch {
	case p.frozen || w.n.silent(w.call.Run, w.call.Address):
		return nil, w.n.changed, nil
	case !p.running || p.life() != w.life:
		return nil, nil, errGone
	}
	md, _ := metadata.FromIncomingContext(w.ctx)
	if len(md.Get(rpctypes.MetadataRequireLeaderKey)) > 0 && p.leaderID() == 0 {
		return nil, nil, rpctypes.ErrGRPCNoLeader
	}
	out := &pb.WatchResponse{Header: p.header(true)}
	if w.over {
		return nil, w.n.changed, nil
	}
	if w.next < p.state.compacted {
		w.over, out.Canceled, out.CompactRevision, out.Header.Revision = true, true, p.state.compacted, 0
		return out, nil, nil
	}
	if out.Events = p.state.events(w); len(out.Events) > 0 {
		return out, nil, nil
	}
	return nil, w.n.changed, nil
}

// events returns the events that a watch has not seen.
func (s *store) events(o *watch) (out []*mvccpb.Event) {
	for _, e := range s.history {
		if e.kv.ModRevision < o.next || !inRange(e.kv.Key, o.r.Key, o.r.RangeEnd) {
			continue
		}
		found := &mvccpb.Event{Type: mvccpb.Event_PUT, Kv: e.kv}
		if e.deleted {
			found.Type = mvccpb.Event_DELETE
		}
		if o.r.PrevKv && e.kv.ModRevision > s.compacted {
			found.PrevKv = e.prev
		}
		out = append(out, found)
	}
	o.next = max(o.next, s.rev+1)
	return out
}

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
