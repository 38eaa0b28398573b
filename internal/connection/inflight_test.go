// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package connection

import (
	"context"
	"errors"
	"strings"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/status"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// hanging returns a server that signals entered for each request, waits for
// release and then answers with an empty response.
func hanging(t *testing.T) (server *grpc.Server, endpoint string, entered chan struct{}, release chan struct{}) {
	t.Helper()
	listener := listening(t)
	entered, release = make(chan struct{}, 1), make(chan struct{})
	server = grpc.NewServer(grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
		entered <- struct{}{}
		select {
		case <-release:
		case <-stream.Context().Done():
			return stream.Context().Err()
		}
		return stream.SendMsg(&pb.MemberAddResponse{Header: &pb.ResponseHeader{}, Member: &pb.Member{}})
	}))
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return server, "http://" + listener.Addr().String(), entered, release
}

// add adds a member in the background.
func add(t *testing.T, c *Client) <-chan error {
	t.Helper()
	done := make(chan error, 1)
	go func() {
		done <- c.Do(t.Context(), func(ctx context.Context) error {
			_, err := c.MemberAddAsLearner(ctx, []string{"http://127.0.0.1:2380"})
			return err
		})
	}()
	return done
}

// A server that shuts down completes its requests and refuses new connections.
func TestRequestUnderWayOutlivesAnotherConnection(t *testing.T) {
	t.Parallel()
	server, endpoint, entered, release := hanging(t)
	c := client(t, Settings{}, endpoint)
	done := add(t, c)
	<-entered
	go server.GracefulStop()
	if !c.ActiveConnection().WaitForStateChange(t.Context(), connectivity.Ready) {
		t.Fatal(t.Context().Err())
	}
	if err := <-add(t, c); KindOf(err) != Refused {
		t.Errorf("got %v", err)
	}
	close(release)
	if err := <-done; err != nil {
		t.Errorf("the answer was lost: %v", err)
	}
}

func TestServerThatDiesWithARequest(t *testing.T) {
	t.Parallel()
	server, endpoint, entered, _ := hanging(t)
	c := client(t, Settings{}, endpoint)
	done := add(t, c)
	<-entered
	server.Stop()
	if err := <-done; KindOf(err) != Interrupted {
		t.Errorf("got %v (%q), want %q: the request may have been carried out", err, KindOf(err), Interrupted)
	}
}

func TestCancelledByTheCaller(t *testing.T) {
	_, endpoint, entered, _ := hanging(t)
	c := client(t, Settings{}, endpoint)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-entered; cancel() }()
	err := c.Do(ctx, func(ctx context.Context) error {
		_, err := c.MemberList(ctx)
		return err
	})
	if !errors.Is(err, context.Canceled) || KindOf(err) != "" {
		t.Errorf("got %v (%q)", err, KindOf(err))
	}
	if err := c.Do(ctx, func(context.Context) error { t.Error("called"); return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// Test that errors of f are returned unchanged.
func TestErrorsThatAreNotTheServers(t *testing.T) {
	c := client(t, Settings{}, "http://127.0.0.1:1")
	mine := errors.New("mine")
	if err := c.Do(t.Context(), func(context.Context) error { return mine }); err != mine { //nolint:errorlint // as it is
		t.Errorf("got %v", err)
	}
}

// Test the size limit of each kind of answer, and that each requires a header.
func TestAnswersAreBounded(t *testing.T) {
	t.Parallel()
	header := &pb.ResponseHeader{ClusterId: 1, MemberId: 1}
	text := func(n int) string { return strings.Repeat("a", n) }
	value := func(n int) *pb.RangeResponse {
		return &pb.RangeResponse{Header: header, Kvs: []*mvccpb.KeyValue{{Key: []byte("k"), Value: []byte(text(n))}}}
	}
	list := func(n int) *pb.MemberListResponse {
		return &pb.MemberListResponse{Header: header, Members: []*pb.Member{{ID: 1, Name: text(n)}}}
	}
	liar := etcdtest.NewLiar(t, "127.0.0.1", etcdtest.Lies{})
	c := client(t, Settings{}, liar.URL)
	read := func(ctx context.Context) error { _, err := c.Get(ctx, "k"); return err }
	members := func(ctx context.Context) error { _, err := c.MemberList(ctx); return err }
	about := func(ctx context.Context) error { _, err := c.Status(ctx, liar.URL); return err }
	for name, test := range map[string]struct {
		lies etcdtest.Lies
		ask  func(context.Context) error
		want codes.Code
	}{
		"a value":            {etcdtest.Lies{Range: value(maxKeys - 100)}, read, codes.OK},
		"a value too long":   {etcdtest.Lies{Range: value(maxKeys)}, read, codes.ResourceExhausted},
		"a list":             {etcdtest.Lies{Members: list(maxMembers - 100)}, members, codes.OK},
		"a list too long":    {etcdtest.Lies{Members: list(maxMembers)}, members, codes.ResourceExhausted},
		"a status":           {etcdtest.Lies{Status: &pb.StatusResponse{Header: header, Version: text(maxAnswered - 100)}}, about, codes.OK},
		"a status too long":  {etcdtest.Lies{Status: &pb.StatusResponse{Header: header, Version: text(maxAnswered)}}, about, codes.ResourceExhausted},
		"a read, headless":   {etcdtest.Lies{}, read, codes.Unknown},
		"a list, headless":   {etcdtest.Lies{}, members, codes.Unknown},
		"a status, headless": {etcdtest.Lies{}, about, codes.Unknown},
	} {
		liar.Tell(test.lies)
		err := c.Do(t.Context(), test.ask)
		if headless := test.want == codes.Unknown; headless && !errors.Is(err, errNoHeader) || !headless && status.Code(errors.Unwrap(err)) != test.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}
