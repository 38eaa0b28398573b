// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package connection

import (
	"context"
	"errors"
	"slices"
	"strings"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
)

// The maximum sizes of received messages, in bytes: of a stream, of the key space,
// of member lists, and of any other answer. A message takes up to sixty times its
// size in memory, because an empty element takes two bytes on the wire.
const (
	maxMessage  = 16 << 20
	maxKeys     = 4 << 20
	maxMembers  = 128 << 10
	maxAnswered = 1 << 20
)

// limitOf returns the maximum size of the answer to a method.
func limitOf(method string) int {
	switch service, name, _ := strings.Cut(strings.TrimPrefix(method, "/etcdserverpb."), "/"); {
	case service == "KV":
		return maxKeys
	case service == "Cluster":
		return maxMembers
	case service == "Maintenance" && name == "Snapshot", service == "Watch":
		return maxMessage
	default:
		return maxAnswered
	}
}

// errNoHeader means that an answer lacks a required header. Without this check,
// etcd's own client would crash.
var errNoHeader = errors.New("its answer has no header, which etcd's answers have")

// unary sends a request, and limits what a server may answer: the size of a message,
// and that it has a header.
func (d *dialer) unary(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	if method == "/etcdserverpb.Auth/Authenticate" {
		d.to.record(sentPassword) // later requests carry a token, if the password is right
	}
	err := d.request(ctx, cc, func(how ...grpc.CallOption) error {
		return invoke(ctx, method, req, reply, cc, limited(method, opts, how)...)
	})
	if err != nil {
		return err
	}
	return headed(reply)
}

// stream is like unary for a stream and its messages.
func (d *dialer) stream(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, open grpc.Streamer, opts ...grpc.CallOption) (stream grpc.ClientStream, err error) {
	err = d.request(ctx, cc, func(how ...grpc.CallOption) (err error) {
		stream, err = open(ctx, desc, cc, method, limited(method, opts, how)...)
		return err
	})
	if err != nil {
		return nil, err
	}
	return headedStream{stream}, nil
}

// limited returns the options of a call with its own size limit. The last option
// takes precedence.
func limited(method string, opts, more []grpc.CallOption) []grpc.CallOption {
	return append(slices.Concat(opts, more), grpc.MaxCallRecvMsgSize(limitOf(method)))
}

// headed returns an error if an answer whose header is used has none. Some
// other answers, such as that to a defragmentation, come without a header.
func headed(reply any) error {
	switch r := reply.(type) {
	case *pb.RangeResponse, *pb.PutResponse, *pb.DeleteRangeResponse, *pb.TxnResponse, *pb.WatchResponse, *pb.StatusResponse, *pb.MemberListResponse:
		if h, ok := r.(interface{ GetHeader() *pb.ResponseHeader }); !ok || h.GetHeader() == nil {
			return errNoHeader
		}
	case *pb.MemberAddResponse:
		if r.GetHeader() == nil || r.GetMember() == nil {
			return errNoHeader
		}
	}
	return nil
}

type headedStream struct{ grpc.ClientStream }

// RecvMsg implements grpc.ClientStream.
func (s headedStream) RecvMsg(m any) error {
	if err := s.ClientStream.RecvMsg(m); err != nil {
		return err
	}
	return headed(m)
}
