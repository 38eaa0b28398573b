// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package reconfigure_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"path"
	"strings"
	"sync"
	"testing"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
)

// fault is the fault of one call.
type fault struct {
	// method is the last part of the call's name, nth its number among those calls.
	method string
	nth    int
	// acted is true if the server carries the call out, and only its answer is
	// lost.
	acted bool
	how   failure
}

func (f fault) String() string {
	what := "never arrives"
	if f.acted {
		what = "is carried out"
	}
	return fmt.Sprintf("%s %d %s, %s", f.method, f.nth, what, f.how)
}

// failure is the failure that the client sees.
type failure string

const (
	connectionLost failure = "connection lost"
	noAnswer       failure = "no answer"
	leaderChanged  failure = "leader changed"
)

// lossy is the one fault that the proxies of a test share.
type lossy struct {
	fault
	mu    sync.Mutex
	calls map[string]int
	hit   bool
}

// strikes counts a call and reports whether the fault applies to it.
func (l *lossy) strikes(method string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls[method]++
	if method != l.method || l.calls[method] != l.nth {
		return false
	}
	l.hit = true
	return true
}

// mustHaveStruck fails the test if the call was never made.
func (l *lossy) mustHaveStruck(t *testing.T) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.hit {
		t.Errorf("there was no such call; calls: %v", l.calls)
	}
}

// lossyProxy forwards the calls to one etcd.
type lossyProxy struct {
	*lossy
	net.Listener
	backend *grpc.ClientConn
	open    sync.Map // connections of clients
}

// before starts a proxy before an etcd's client URL and returns its own.
func (l *lossy) before(t *testing.T, clientURL string) string {
	t.Helper()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	backend, err := grpc.NewClient(strings.TrimPrefix(clientURL, "http://"),
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.ForceCodec(frames{}), grpc.WaitForReady(false)))
	if err != nil {
		t.Fatal(err)
	}
	p := &lossyProxy{lossy: l, Listener: listener, backend: backend}
	server := grpc.NewServer(grpc.ForceServerCodec(frames{}), grpc.UnknownServiceHandler(p.handle))
	served := make(chan struct{})
	go func() { _ = server.Serve(p); close(served) }()
	t.Cleanup(func() {
		server.Stop()
		_ = backend.Close()
		<-served
	})
	return "http://" + listener.Addr().String()
}

// Accept implements net.Listener and stores the connection.
func (p *lossyProxy) Accept() (net.Conn, error) {
	conn, err := p.Listener.Accept()
	if err == nil {
		p.open.Store(conn, nil)
	}
	return conn, err
}

// frames forwards messages unchanged.
type frames struct{}

func (frames) Marshal(v any) ([]byte, error) {
	b, ok := v.(*[]byte)
	if !ok {
		return nil, fmt.Errorf("%T is no frame", v)
	}
	return *b, nil
}

func (frames) Unmarshal(data []byte, v any) error {
	b, ok := v.(*[]byte)
	if !ok {
		return fmt.Errorf("%T is no frame", v)
	}
	*b = append([]byte(nil), data...)
	return nil
}

func (frames) Name() string { return "frames" }

var bothWays = &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}

func (p *lossyProxy) handle(_ any, client grpc.ServerStream) error {
	name, _ := grpc.MethodFromServerStream(client)
	struck := p.strikes(path.Base(name))
	if struck && !p.acted {
		return p.fail(client.Context())
	}
	ctx := client.Context()
	if struck {
		// The server carries the call out even if the client hangs up.
		ctx = context.WithoutCancel(ctx)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if md, ok := metadata.FromIncomingContext(ctx); ok {
		ctx = metadata.NewOutgoingContext(ctx, md)
	}
	server, err := p.backend.NewStream(ctx, bothWays, name)
	if err != nil {
		return err
	}
	go func() {
		for {
			var frame []byte
			if err := client.RecvMsg(&frame); err != nil {
				if errors.Is(err, io.EOF) {
					_ = server.CloseSend()
				} else {
					cancel()
				}
				return
			}
			if server.SendMsg(&frame) != nil {
				return
			}
		}
	}()
	for {
		var frame []byte
		err := server.RecvMsg(&frame)
		switch {
		case struck:
			return p.fail(client.Context())
		case errors.Is(err, io.EOF):
			client.SetTrailer(server.Trailer())
			return nil
		case err != nil:
			return err
		}
		if err := client.SendMsg(&frame); err != nil {
			return err
		}
	}
}

// fail ends a call as the fault says.
func (p *lossyProxy) fail(ctx context.Context) error {
	switch p.how {
	case connectionLost:
		p.open.Range(func(conn, _ any) bool {
			if c, ok := conn.(net.Conn); ok {
				_ = c.Close()
			}
			return true
		})
		return nil
	case noAnswer:
		<-ctx.Done()
		return ctx.Err()
	default:
		return rpctypes.ErrGRPCLeaderChanged
	}
}
