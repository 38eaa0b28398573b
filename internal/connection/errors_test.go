// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package connection

import (
	"context"
	"errors"
	"net"
	"net/http"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Test that the kind follows from the server's message, not only from its code.
func TestKindOfAnswer(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		err  error
		want Kind
		ok   bool
	}{
		{status.Error(codes.Unknown, "membership: ID removed"), Server, true},
		{status.Error(codes.Unknown, "raft proposal dropped"), Server, true},
		{status.Error(codes.Unknown, "etcdserver: not enough started members"), Server, true},
		{status.Error(codes.Unknown, `unexpected HTTP status code received from server: 200 (OK); transport: received unexpected content-type "text/html"`), NotEtcd, true},
		{status.Error(codes.Unknown, "unexpected HTTP status code received from server: 200 (OK); malformed header: missing HTTP content-type"), NotEtcd, true},
		{status.Error(codes.Internal, "stream terminated by RST_STREAM with error code: INTERNAL_ERROR"), Server, true},
		{status.Error(codes.Internal, "server closed the stream without sending trailers"), Server, true},
		{status.Error(codes.Internal, `malformed header: missing HTTP status; transport: received unexpected content-type "application/json"`), NotEtcd, true},
		{status.Error(codes.Internal, "unexpected HTTP status code received from server: 400 (Bad Request)"), NotEtcd, true},
		{status.Error(codes.Unauthenticated, "unexpected HTTP status code received from server: 401 (Unauthorized)"), NotEtcd, true},
		{status.Error(codes.PermissionDenied, "unexpected HTTP status code received from server: 403 (Forbidden)"), NotEtcd, true},
		{status.Error(codes.Unimplemented, "unexpected HTTP status code received from server: 404 (Not Found)"), NotEtcd, true},
		{status.Error(codes.Unimplemented, "unknown service etcdserverpb.KV"), NotEtcd, true},
		{status.Error(codes.Unimplemented, "unknown method MemberPromote for service etcdserverpb.Cluster"), Server, true},
		{status.Error(codes.Unavailable, "unexpected HTTP status code received from server: 503 (Service Unavailable)"), Interrupted, true},
		{status.Error(codes.Unavailable, "error reading from server: EOF"), Interrupted, true},
		{status.Error(codes.Canceled, "etcdserver: request canceled"), Interrupted, true},
		{status.Error(codes.DeadlineExceeded, "context deadline exceeded"), Timeout, true},
		{context.DeadlineExceeded, Timeout, true},
		{status.Error(codes.ResourceExhausted, "trying to send message larger than max"), Server, true},
		{status.Error(codes.Unknown, "auth: permission denied"), PermissionDenied, true},
		{status.Error(codes.Unknown, "auth: user name is empty"), AuthRequired, true},
		{status.Error(codes.Unknown, "auth: invalid auth token"), StaleToken, true},
		{status.Error(codes.Unknown, "permission denied"), Server, true},
		{status.Error(codes.PermissionDenied, "etcdserver: permission denied"), PermissionDenied, true},
		{status.Error(codes.Aborted, "x"), Server, true},
		{status.Error(codes.DataLoss, "x"), Server, true},
		{status.Error(codes.FailedPrecondition, "x"), Server, true},
		{status.Error(codes.InvalidArgument, "x"), Server, true},
		{rpctypes.Error(rpctypes.ErrGRPCUnhealthy), Server, true},
		{rpctypes.Error(rpctypes.ErrGRPCCorrupt), Server, true},
		{rpctypes.Error(rpctypes.ErrGRPCAuthFailed), WrongPassword, true},
		{rpctypes.Error(rpctypes.ErrGRPCUserEmpty), AuthRequired, true},
		{rpctypes.Error(rpctypes.ErrGRPCInvalidAuthToken), StaleToken, true},
		{rpctypes.Error(rpctypes.ErrGRPCPermissionDenied), PermissionDenied, true},
		{rpctypes.Error(rpctypes.ErrGRPCNotSupportedForLearner), Learner, true},
		{errors.New("no error of a server"), "", false},
	} {
		if got, ok := kindOfAnswer(test.err); got != test.want || ok != test.ok {
			t.Errorf("%v: %q, %v, want %q, %v", test.err, got, ok, test.want, test.ok)
		}
	}
}

// Test servers that use HTTP/2 but are not etcd: one that serves web pages, and
// one that serves other gRPC services.
func TestHTTP2ServersThatAreNotEtcd(t *testing.T) {
	t.Parallel()
	listen := func() net.Listener {
		l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	web, other := listen(), listen()
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	pages := &http.Server{Protocols: &protocols, ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("<html>"))
	})}
	services := grpc.NewServer()
	go func() { _ = pages.Serve(web) }()
	go func() { _ = services.Serve(other) }()
	t.Cleanup(func() { _ = pages.Close(); services.Stop() })
	for name, at := range map[string]net.Listener{"web pages": web, "another gRPC service": other} {
		pool := &Pool{}
		t.Cleanup(func() { _ = pool.Close() })
		endpoint := "http://" + at.Addr().String()
		s := Settings{Endpoints: []string{endpoint}, DialTimeout: 5 * time.Second, RequestTimeout: 5 * time.Second}
		c, err := pool.Client(t.Context(), s, endpoint)
		if err != nil {
			t.Fatal(err)
		}
		err = c.Do(t.Context(), func(ctx context.Context) error {
			_, err := c.MemberList(ctx)
			return err
		})
		if KindOf(err) != NotEtcd {
			t.Errorf("%s: %v, want %q", name, err, NotEtcd)
		}
	}
}
