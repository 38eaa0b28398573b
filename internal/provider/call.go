// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"context"
	"sync/atomic"
	"time"
)

// callContext is the context of one call. When the call is over, it releases
// all that belongs to the call (its stream, its loggers), even if a reference
// to the callContext remains.
type callContext struct {
	call atomic.Pointer[context.Context]
}

func newCallContext(ctx context.Context) *callContext {
	c := &callContext{}
	c.call.Store(&ctx)
	return c
}

// ended is the context of every call that is over.
var ended = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// over ends the context and releases the call. Contexts derived from it end
// with the call's own context, which gRPC ends when the call has returned.
func (c *callContext) over() { c.call.Store(&ended) }

// Deadline implements [context.Context].
func (c *callContext) Deadline() (time.Time, bool) { return (*c.call.Load()).Deadline() }

// Done implements [context.Context].
func (c *callContext) Done() <-chan struct{} { return (*c.call.Load()).Done() }

// Err implements [context.Context].
func (c *callContext) Err() error { return (*c.call.Load()).Err() }

// Value implements [context.Context].
func (c *callContext) Value(key any) any { return (*c.call.Load()).Value(key) }
