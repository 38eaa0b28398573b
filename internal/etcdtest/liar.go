// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdtest

import (
	"context"
	"net"
	"sync/atomic"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
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
	pb.UnimplementedKVServer
	pb.UnimplementedLeaseServer
	pb.UnimplementedClusterServer
	pb.UnimplementedMaintenanceServer

	// URL is the URL on which the liar listens.
	URL string

	lies atomic.Pointer[Lies]
}

// NewLiar starts a liar on a port of a loopback address, such as 127.0.0.1. It
// stops when the test ends.
func NewLiar(tb TB, host string, lies Lies) *Liar {
	tb.Helper()
	listener, err := net.Listen("tcp4", net.JoinHostPort(host, "0"))
	must(tb, err)
	l := &Liar{URL: "http://" + listener.Addr().String()}
	l.Tell(lies)
	server := grpc.NewServer(grpc.MaxSendMsgSize(1 << 30))
	pb.RegisterKVServer(server, l)
	pb.RegisterLeaseServer(server, l)
	pb.RegisterClusterServer(server, l)
	pb.RegisterMaintenanceServer(server, l)
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

// Status implements the Maintenance service.
func (l *Liar) Status(context.Context, *pb.StatusRequest) (*pb.StatusResponse, error) {
	return told(l.lies.Load().Status), nil
}

// MemberList implements the Cluster service.
func (l *Liar) MemberList(context.Context, *pb.MemberListRequest) (*pb.MemberListResponse, error) {
	return told(l.lies.Load().Members), nil
}

// Range implements the KV service.
func (l *Liar) Range(context.Context, *pb.RangeRequest) (*pb.RangeResponse, error) {
	return told(l.lies.Load().Range), nil
}

// Txn implements the KV service.
func (l *Liar) Txn(context.Context, *pb.TxnRequest) (*pb.TxnResponse, error) {
	return told(l.lies.Load().Txn), nil
}

func told[T any](answer *T) *T {
	if answer == nil {
		return new(T)
	}
	return answer
}
