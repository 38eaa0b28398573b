// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdtest

import (
	"net"
	"path"
	"sync/atomic"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/must"
)

// Lies are the answers of a [Liar]. For a nil answer, the liar sends an empty
// message. Set them with [Liar.Tell]; answers must not be changed afterwards.
type Lies struct {
	// Status is the answer to a status request, Members to every member list,
	// Range to every read, Txn to every transaction.
	Status  *pb.StatusResponse
	Members *pb.MemberListResponse
	Range   *pb.RangeResponse
	Txn     *pb.TxnResponse
}

// Liar is a server that speaks etcd's protocol and returns the answers that a
// test sets, including those that no real server gives. It has neither
// authentication nor TLS.
type Liar struct {
	// URL is the URL on which the liar listens.
	URL string

	lies atomic.Pointer[Lies]
}

// NewLiar starts a liar on a port of a loopback address, such as 127.0.0.1. It
// stops when the test ends.
func NewLiar(tb TB, host string, lies Lies) *Liar {
	tb.Helper()
	listener, err := net.Listen("tcp4", net.JoinHostPort(host, "0"))
	must.Succeed(tb, err)
	l := &Liar{URL: "http://" + listener.Addr().String()}
	l.Tell(lies)
	server := grpc.NewServer(grpc.MaxSendMsgSize(1<<30), grpc.UnknownServiceHandler(l.answer))
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(listener) // until Stop
	}()
	tb.Cleanup(func() {
		server.Stop()
		<-done
	})
	return l
}

// Tell replaces the answers.
func (l *Liar) Tell(lies Lies) { l.lies.Store(&lies) }

// answer answers any method.
func (l *Liar) answer(_ any, s grpc.ServerStream) error {
	method, _ := grpc.MethodFromServerStream(s)
	lies := l.lies.Load()
	answers := map[string]proto.Message{"Status": lies.Status, "MemberList": lies.Members, "Range": lies.Range, "Txn": lies.Txn}
	answer, ok := answers[path.Base(method)]
	if !ok {
		return status.Errorf(codes.Unimplemented, "no lie for %s", method)
	}
	if err := s.RecvMsg(new(emptypb.Empty)); err != nil { // whatever it is
		return err
	}
	return s.SendMsg(answer)
}
