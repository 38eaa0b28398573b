// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package connection

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/status"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/clock"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/etcdtest"
)

// Callers with the same settings share a client, which only the pool closes. Who may not ask
// an endpoint gets no client that another call has opened.
func TestPool(t *testing.T) {
	t.Parallel()
	s := Settings{Endpoints: []string{"https://a:1"}, Username: "root", Password: password}.WithoutCredentials()
	const endpoint = "https://b:1"
	ctx, pool := TrustHosts(t.Context(), endpoint), &Pool{}
	clients := make([]*Client, 20)
	var wg sync.WaitGroup
	for i := range clients {
		wg.Go(func() { clients[i], _ = pool.Client(ctx, s, endpoint) })
	}
	wg.Wait()
	for _, c := range clients {
		if c == nil || c != clients[0] || c.Close() != nil || c.Ctx().Err() != nil {
			t.Fatalf("got %p and %p", clients[0], c)
		}
	}
	if _, err := pool.Client(t.Context(), s, endpoint); KindOf(err) != NotAsked {
		t.Errorf("a call that does not name the host: %v", err)
	}
	longer, stranger := s, s
	longer.RequestTimeout, stranger.Password = time.Minute, "sword"
	for name, other := range map[string]struct {
		s        Settings
		endpoint string
		same     bool
	}{
		"the endpoint in another form": {s, "HTTPS://B:1/", true},
		"another timeout":              {longer, endpoint, false},
		"another password":             {stranger, endpoint, false},
	} {
		if c, err := pool.Client(ctx, other.s, other.endpoint); err != nil || (c == clients[0]) != other.same {
			t.Errorf("%s: %p, %v", name, c, err)
		}
	}
	if _, err := pool.Client(ctx, s, "ftp://a"); !errors.As(err, new(*membership.URLError)) {
		t.Errorf("got %v", err)
	}
	for range 2 {
		if err := pool.Close(); err != nil {
			t.Error(err)
		}
		if _, err := pool.Client(ctx, s, endpoint); !errors.Is(err, errPoolClosed) {
			t.Errorf("got %v", err)
		}
	}
}

// Callers at once share one result, but not the cancellation of the one that works for it.
func TestSharedWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s shared[int]
		calls := 0
		work := func(ctx context.Context) (int, error) {
			return s.do(ctx, func() (int, error) {
				calls++
				return calls, clock.System{}.Sleep(ctx, time.Minute)
			})
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := work(ctx); !errors.Is(err, context.Canceled) {
				t.Errorf("the first one got %v", err)
			}
		})
		synctest.Wait()
		for range 3 {
			wg.Go(func() {
				if n, err := work(t.Context()); n != 2 || err != nil {
					t.Errorf("who waited got %d, %v", n, err)
				}
			})
		}
		wg.Wait()
	})
}

func TestSecret(t *testing.T) {
	s := Settings{Password: password}
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d"} {
		for _, form := range []string{password, fmt.Sprintf("%x", password), fmt.Sprintf("%X", password)} {
			if got := fmt.Sprintf(format, s); strings.Contains(got, form) {
				t.Errorf("%s prints %s", format, got)
			}
		}
	}
	if got, err := s.Password.MarshalText(); string(got) != "***" || err != nil || fmt.Sprint(s.Password, Secret("")) != "***" || s.Password.Reveal() != password {
		t.Errorf("%s, %v, %s, %q", got, err, fmt.Sprint(s.Password, Secret("")), s.Password.Reveal())
	}
}

// Test that registered functions are called once before the connections are closed,
// unless forgotten, and that a hanging function does not block the process.
func TestBeforeClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &Pool{}
		var mu sync.Mutex
		calls := map[string]int{}
		register := func(name string, f func(context.Context)) (forget func()) {
			return p.BeforeClose(func(ctx context.Context) {
				if p.closed() != nil {
					t.Errorf("%s: called after the connections were closed", name)
				}
				mu.Lock()
				calls[name]++
				mu.Unlock()
				f(ctx)
			})
		}
		var forgetOne func()
		forgetOne = register("one", func(context.Context) { forgetOne() })
		register("hangs", func(ctx context.Context) { <-ctx.Done() })
		register("forgotten", func(context.Context) {})()
		begin := time.Now()
		for range 2 {
			if err := p.Close(); err != nil {
				t.Error(err)
			}
		}
		if took := time.Since(begin); took != shutdownTimeout {
			t.Errorf("it took %v, want %v", took, shutdownTimeout)
		}
		if len(calls) != 2 || calls["one"] != 1 || calls["hangs"] != 1 {
			t.Errorf("called %v", calls)
		}
	})
}

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
