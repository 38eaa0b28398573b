// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package connection

import (
	"context"
	"sync/atomic"

	"google.golang.org/grpc/stats"
)

// inFlight counts the requests of one [Client.Do] that a server may have
// received but not answered. A failed attempt to connect says nothing about
// them: they use an older connection. A server that is shutting down completes
// its requests but refuses new connections. "connection refused" would wrongly
// mean that nothing was sent.
type inFlight struct{ requests atomic.Int32 }

type inFlightKey struct{}

// withInFlight returns a context whose requests are counted.
func withInFlight(ctx context.Context) (context.Context, *inFlight) {
	calls := &inFlight{}
	return context.WithValue(ctx, inFlightKey{}, calls), calls
}

func (f *inFlight) any() bool { return f.requests.Load() > 0 }

// requestWatch is a gRPC stats handler that counts the requests and records
// that a password is sent.
type requestWatch struct{ to wire }

// request is one attempt of a request.
type request struct {
	calls *inFlight
	sent  atomic.Bool
}

type requestKey struct{}

// TagRPC implements stats.Handler.
func (w requestWatch) TagRPC(ctx context.Context, info *stats.RPCTagInfo) context.Context {
	if info.FullMethodName == "/etcdserverpb.Auth/Authenticate" {
		w.to.record(sentPassword) // later requests carry a token, if the password is right
	}
	calls, ok := ctx.Value(inFlightKey{}).(*inFlight)
	if !ok {
		return ctx
	}
	return context.WithValue(ctx, requestKey{}, &request{calls: calls})
}

// HandleRPC implements stats.Handler.
func (requestWatch) HandleRPC(ctx context.Context, event stats.RPCStats) {
	r, ok := ctx.Value(requestKey{}).(*request)
	if !ok {
		return
	}
	switch event.(type) {
	case *stats.OutHeader:
		if !r.sent.Swap(true) {
			r.calls.requests.Add(1)
		}
	case *stats.End:
		if r.sent.Swap(false) {
			r.calls.requests.Add(-1)
		}
	}
}

// TagConn implements stats.Handler.
func (requestWatch) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

// HandleConn implements stats.Handler.
func (requestWatch) HandleConn(context.Context, stats.ConnStats) {}
