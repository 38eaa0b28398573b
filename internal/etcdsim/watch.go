// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdsim

import (
	"errors"
	"io"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// watched is one watch of a stream.
type watched struct {
	id   int64
	r    *pb.WatchCreateRequest
	next int64 // revision
}

// watch serves a stream of watches: server/etcdserver/api/v3rpc/watch.go.
func (n *Network) watch(s stream, call Call) error {
	requests, ended := make(chan *pb.WatchRequest), make(chan error, 1)
	go func() {
		for {
			r := &pb.WatchRequest{}
			if err := s.RecvMsg(r); err != nil {
				ended <- err
				return
			}
			select {
			case requests <- r:
			case <-s.Context().Done():
				return
			}
		}
	}()
	w := &watches{n: n, s: s, call: call}
	for {
		changed, err := w.deliver()
		if err != nil {
			return err
		}
		select {
		case r := <-requests:
			err = w.request(r)
		case <-changed:
		case err = <-ended:
			if errors.Is(err, io.EOF) {
				return nil
			}
		case <-s.Context().Done():
			err = s.Context().Err()
		}
		if err != nil {
			return err
		}
	}
}

// watches are the watches of one stream.
type watches struct {
	n    *Network
	s    stream
	call Call
	p    *Process
	life chan struct{}
	last int64
	open []*watched
}

// request opens or cancels a watch.
func (w *watches) request(r *pb.WatchRequest) error {
	call := w.call
	call.Request = r
	ctx, err := w.n.begin(w.s.Context(), call)
	if err != nil {
		return err
	}
	create := r.GetCreateRequest()
	w.n.mu.Lock()
	p, err := w.n.reach(ctx, w.call.Run, w.call.Address)
	if err == nil && w.p == nil {
		if m := p.self(); m != nil && m.IsLearner {
			err = p.Version.learnerError()
		}
		w.p, w.life = p, p.life()
	}
	out := &pb.WatchResponse{}
	if err == nil {
		out.Header = w.p.header(true)
	}
	w.n.mu.Unlock()
	switch {
	case err != nil:
		return err
	case create == nil && r.GetCancelRequest() == nil:
		return status.Error(codes.Unimplemented, "this watch request is not simulated")
	case create == nil:
		out.WatchId, out.Canceled = r.GetCancelRequest().WatchId, true
		for i, o := range w.open {
			if o.id == out.WatchId {
				w.open = append(w.open[:i:i], w.open[i+1:]...)
				return w.s.SendMsg(out)
			}
		}
		return nil
	case len(create.Filters) > 0 || create.ProgressNotify || create.WatchId != 0:
		return status.Error(codes.Unimplemented, "filters, progress and chosen IDs of watches are not simulated")
	}
	next := create.StartRevision
	if next == 0 {
		next = out.Header.Revision + 1
	}
	out.WatchId, out.Created = w.last, true
	w.open = append(w.open, &watched{w.last, create, next})
	w.last++
	return w.s.SendMsg(out)
}

// deliver sends what the watches have not seen, and returns a channel that is
// closed with the next change.
func (w *watches) deliver() (<-chan struct{}, error) {
	for {
		out, changed, err := w.find()
		if err != nil || out == nil {
			return changed, err
		}
		if w.n.Before != nil {
			if err := w.n.Before(w.s.Context(), w.call); err != nil {
				return nil, err
			}
		}
		answer, err := w.n.after(w.s.Context(), w.call, out, nil)
		if err != nil {
			return nil, err
		}
		if err := w.s.SendMsg(answer); err != nil {
			return nil, err
		}
	}
}

// find returns the next message, nil if there is none.
func (w *watches) find() (*pb.WatchResponse, <-chan struct{}, error) {
	w.n.mu.Lock()
	defer w.n.mu.Unlock()
	if w.n.changed == nil {
		w.n.notify()
	}
	p := w.p
	switch {
	case p == nil || p.frozen || w.n.silent(w.call.Run, w.call.Address):
		return nil, w.n.changed, nil
	case !p.running || p.life() != w.life:
		return nil, nil, errGone
	}
	md, ok := metadata.FromIncomingContext(w.s.Context())
	if !ok {
		md, _ = metadata.FromOutgoingContext(w.s.Context())
	}
	if len(md.Get(rpctypes.MetadataRequireLeaderKey)) > 0 && p.leaderID() == 0 {
		return nil, nil, rpctypes.ErrGRPCNoLeader
	}
	for i, o := range w.open {
		out := &pb.WatchResponse{Header: p.header(true), WatchId: o.id}
		if o.next < p.state.compacted {
			out.Canceled, out.CompactRevision = true, p.state.compacted
			w.open = append(w.open[:i:i], w.open[i+1:]...)
			return out, nil, nil
		}
		if out.Events = p.state.events(o); len(out.Events) > 0 {
			return out, nil, nil
		}
	}
	return nil, w.n.changed, nil
}

// events returns the events that a watch has not seen.
func (s *store) events(o *watched) (out []*mvccpb.Event) {
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
