// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdsim

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
)

// Client implements [connection.World].
func (r *Run) Client(endpoint, address string) *clientv3.Client {
	conn := &conn{r, endpoint, address}
	c := clientv3.NewCtxClient(context.Background())
	c.KV = clientv3.NewKVFromKVClient(pb.NewKVClient(conn), c)
	c.Cluster = clientv3.NewClusterFromClusterClient(pb.NewClusterClient(conn), c)
	c.Lease = clientv3.NewLeaseFromLeaseClient(pb.NewLeaseClient(conn), c, time.Second)
	c.Watcher = watcher{pb.NewWatchClient(conn)}
	c.Maintenance = clientv3.NewMaintenanceFromMaintenanceClient(pb.NewMaintenanceClient(conn), c)
	c.Auth = clientv3.NewAuthFromAuthClient(pb.NewAuthClient(conn), c)
	return c
}

// Conn returns what makes the calls that clientv3 does not have.
func (r *Run) Conn(address string) grpc.ClientConnInterface {
	return &conn{r, address, address}
}

// conn is a connection to one address. It implements [grpc.ClientConnInterface].
type conn struct {
	*Run
	endpoint, address string
}

// Invoke implements [grpc.ClientConnInterface].
func (c *conn) Invoke(ctx context.Context, method string, args, reply any, _ ...grpc.CallOption) error {
	request, ok := args.(proto.Message)
	into, ok2 := reply.(proto.Message)
	if !ok || !ok2 {
		return status.Errorf(codes.Internal, "%T is no message", args)
	}
	answer, err := c.n.unary(c.received(ctx), Call{Run: c.name, Address: c.address, Method: method, Request: request})
	if err != nil {
		return c.named(err)
	}
	proto.Merge(into, answer)
	return nil
}

// received returns the context at the server.
func (c *conn) received(ctx context.Context) context.Context {
	md, _ := metadata.FromOutgoingContext(ctx)
	return context.WithValue(metadata.NewIncomingContext(ctx, md), commonName{}, c.user)
}

// commonName is the key of the user of a context; see [Run.As].
type commonName struct{}

// named names the endpoint in the error of an attempt to connect.
func (c *conn) named(err error) error {
	if e, ok := errors.AsType[*connection.Error](err); ok {
		return connection.AttemptError(c.endpoint, e.Err)
	}
	return err
}

// onWire returns an error as gRPC carries it. Other errors than those with a
// status, such as rpctypes.ErrMemberNotEnoughStarted, arrive as Unknown.
func onWire(err error) error {
	if _, ok := status.FromError(err); ok {
		return err
	}
	if errors.As(err, new(*connection.Error)) {
		return err
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return status.FromContextError(err).Err()
	}
	return status.Error(codes.Unknown, err.Error())
}

// stream is the server's end of a stream.
type stream interface {
	Context() context.Context
	SendMsg(m any) error
	RecvMsg(m any) error
}

// NewStream implements [grpc.ClientConnInterface].
func (c *conn) NewStream(ctx context.Context, _ *grpc.StreamDesc, method string, _ ...grpc.CallOption) (grpc.ClientStream, error) {
	ctx, cancel := context.WithCancel(c.received(ctx))
	p := &pipe{ctx: ctx, requests: make(chan proto.Message, window), answers: make(chan proto.Message), done: make(chan struct{})}
	go func() {
		defer cancel()
		p.err = io.EOF
		if err := c.n.stream(c.name, c.address, method, (*serverEnd)(p)); err != nil {
			p.err = c.named(onWire(err))
		}
		close(p.done)
	}()
	return p, nil
}

// stream serves a stream until it ends.
func (n *Network) stream(run, address, method string, s stream) error {
	call := Call{Run: run, Address: address, Method: method}
	switch method {
	case pb.Lease_LeaseKeepAlive_FullMethodName:
		for {
			r := &pb.LeaseKeepAliveRequest{}
			if err := s.RecvMsg(r); errors.Is(err, io.EOF) {
				return nil
			} else if err != nil {
				return err
			}
			call.Request = r
			answer, err := n.unary(s.Context(), call)
			if err != nil {
				return err
			}
			if err := s.SendMsg(answer); err != nil {
				return err
			}
		}
	case pb.Watch_Watch_FullMethodName:
		return n.watch(s, call)
	case pb.Maintenance_Snapshot_FullMethodName:
		return n.snapshot(s, call)
	}
	return status.Errorf(codes.Unimplemented, "%s is not simulated", method)
}

// window is how many requests a client may send before the server reads them.
const window = 64

// pipe is the client's end of a stream in this process.
type pipe struct {
	ctx               context.Context
	requests, answers chan proto.Message // requests is closed by CloseSend
	once              sync.Once
	done              chan struct{} // closed when the server has ended the stream with err
	err               error
}

func (p *pipe) Header() (metadata.MD, error) { return nil, nil }
func (p *pipe) Trailer() metadata.MD         { return nil }
func (p *pipe) Context() context.Context     { return p.ctx }
func (p *pipe) CloseSend() error {
	p.once.Do(func() { close(p.requests) })
	return nil
}

// SendMsg implements [grpc.ClientStream].
func (p *pipe) SendMsg(m any) error {
	return send(p.requests, m, p.done, func() error { return io.EOF })
}

// RecvMsg implements [grpc.ClientStream].
func (p *pipe) RecvMsg(m any) error {
	return receive(p.answers, m, p.done, func() error { return p.err })
}

// serverEnd is the server's end of a pipe.
type serverEnd pipe

func (p *serverEnd) Context() context.Context { return p.ctx }

// SendMsg implements stream.
func (p *serverEnd) SendMsg(m any) error { return send(p.answers, m, p.ctx.Done(), p.ctx.Err) }

// RecvMsg implements stream.
func (p *serverEnd) RecvMsg(m any) error { return receive(p.requests, m, p.ctx.Done(), p.ctx.Err) }

// send passes a copy of a message to the other end, unless the stream is over before.
func send(to chan<- proto.Message, m any, over <-chan struct{}, end func() error) error {
	message, ok := m.(proto.Message)
	if !ok {
		return status.Errorf(codes.Internal, "%T is no message", m)
	}
	select {
	case to <- proto.Clone(message):
		return nil
	case <-over:
		return end()
	}
}

func receive(from <-chan proto.Message, m any, over <-chan struct{}, end func() error) error {
	into, ok := m.(proto.Message)
	if !ok {
		return status.Errorf(codes.Internal, "%T is no message", m)
	}
	select {
	case message, open := <-from:
		if !open {
			return io.EOF
		}
		proto.Reset(into)
		proto.Merge(into, message)
		return nil
	case <-over:
		return end()
	}
}

// watcher is a [clientv3.Watcher]. That of clientv3 waits on a channel of its
// package (valCtxCh, client/v3/watch.go), for which time would not advance in a
// bubble of testing/synctest. It does not resume a watch whose stream breaks: the
// channel is then closed. It knows no filters and no notifications.
type watcher struct{ remote pb.WatchClient }

// Watch implements [clientv3.Watcher]. It returns when the server has opened the watch.
func (w watcher) Watch(ctx context.Context, key string, opts ...clientv3.OpOption) clientv3.WatchChan {
	op := clientv3.OpGet(key, opts...)
	out := make(chan clientv3.WatchResponse)
	ctx, cancel := context.WithCancel(ctx)
	stream, err := w.remote.Watch(ctx)
	if err == nil {
		err = stream.Send(&pb.WatchRequest{RequestUnion: &pb.WatchRequest_CreateRequest{CreateRequest: &pb.WatchCreateRequest{
			Key: op.KeyBytes(), RangeEnd: op.RangeBytes(), StartRevision: op.Rev(), PrevKv: op.IsPrevKV(),
		}}})
	}
	var r *pb.WatchResponse
	if err == nil {
		r, err = stream.Recv() // created
	}
	if err != nil {
		cancel()
		close(out)
		return out
	}
	go func() {
		defer close(out)
		defer cancel()
		for ; err == nil; r, err = stream.Recv() {
			if (!r.Created || r.Canceled) && !deliver(ctx, out, r) {
				return
			}
		}
	}()
	return out
}

// deliver reports whether more may follow.
func deliver(ctx context.Context, out chan<- clientv3.WatchResponse, r *pb.WatchResponse) bool {
	answer := clientv3.WatchResponse{Header: r.Header, CompactRevision: r.CompactRevision, Canceled: r.Canceled, Created: r.Created}
	answer.Events = r.Events
	select {
	case out <- answer:
		return !r.Canceled
	case <-ctx.Done():
		return false
	}
}

// RequestProgress implements [clientv3.Watcher].
func (watcher) RequestProgress(context.Context) error { return nil }

// Close implements [clientv3.Watcher]. Watches end with their context.
func (watcher) Close() error { return nil }
