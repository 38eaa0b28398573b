// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdsim

import (
	"context"
	"net"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
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
	l := bufconn.Listen(1 << 16)
	s := grpc.NewServer(grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
		return r.handle(address, stream)
	}))
	go func() { _ = s.Serve(l) }()
	go func() {
		<-life
		s.Stop()
	}()
	return l.DialContext(ctx)
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
