// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdsim

import (
	"context"
	"net"
	"strings"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// Dial connects to the member at an address over real gRPC in this process. The
// connection ends with the process.
func (r *Run) Dial(ctx context.Context, address string) (net.Conn, error) {
	r.n.mu.Lock()
	p, err := r.n.reach(ctx, r.name, address)
	life := p.life()
	r.n.mu.Unlock()
	if err != nil {
		return nil, err
	}
	client, server := net.Pipe()
	c := &closing{Conn: client, closed: make(chan struct{})}
	l := &oneConn{conn: make(chan net.Conn, 1), closed: make(chan struct{})}
	l.conn <- server
	s := grpc.NewServer(grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
		return r.handle(address, stream)
	}))
	go func() { _ = s.Serve(l) }()
	go func() {
		select {
		case <-life:
		case <-c.closed:
		}
		s.Stop()
	}()
	return c, nil
}

// handle serves one request, or one stream of them.
func (r *Run) handle(address string, stream grpc.ServerStream) error {
	method, _ := grpc.MethodFromServerStream(stream)
	found, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(strings.ReplaceAll(method[1:], "/", ".")))
	descriptor, ok := found.(protoreflect.MethodDescriptor)
	if err != nil || !ok {
		return status.Errorf(codes.Unimplemented, "unknown method %s", method)
	}
	if descriptor.IsStreamingClient() || descriptor.IsStreamingServer() {
		err = r.n.stream(r.name, address, method, stream)
	} else {
		err = r.answer(address, method, descriptor.Input().FullName(), stream)
	}
	if err == nil {
		return nil
	}
	if _, ok := status.FromError(onWire(err)); !ok {
		return errGone
	}
	return onWire(err)
}

func (r *Run) answer(address, method string, input protoreflect.FullName, stream grpc.ServerStream) error {
	kind, err := protoregistry.GlobalTypes.FindMessageByName(input)
	if err != nil {
		return err
	}
	request := kind.New().Interface()
	if err := stream.RecvMsg(request); err != nil {
		return err
	}
	answer, err := r.n.unary(stream.Context(), Call{Run: r.name, Address: address, Method: method, Request: request})
	if err != nil {
		return err
	}
	return stream.SendMsg(answer)
}

// closing is a connection that says when it is closed.
type closing struct {
	net.Conn
	once   sync.Once
	closed chan struct{}
}

// Close implements [net.Conn].
func (c *closing) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

// oneConn is a listener that accepts one connection.
type oneConn struct {
	conn   chan net.Conn
	once   sync.Once
	closed chan struct{}
}

// Accept implements [net.Listener].
func (l *oneConn) Accept() (net.Conn, error) {
	select {
	case c := <-l.conn:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements [net.Listener].
func (l *oneConn) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// Addr implements [net.Listener].
func (*oneConn) Addr() net.Addr { return &net.TCPAddr{} }
