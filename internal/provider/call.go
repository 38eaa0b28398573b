// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"context"
	"sync/atomic"
	"time"
)

// callContext is the context of one call, which lets go of all that belongs to
// the call (its stream, its loggers) when the call is over: whoever keeps it
// keeps nothing.
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

// over ends the context and lets go of the call. What was derived from the
// context ends with the call's own, which gRPC ends when the call has returned.
func (c *callContext) over() { c.call.Store(&ended) }

// Deadline implements [context.Context].
func (c *callContext) Deadline() (time.Time, bool) { return (*c.call.Load()).Deadline() }

// Done implements [context.Context].
func (c *callContext) Done() <-chan struct{} { return (*c.call.Load()).Done() }

// Err implements [context.Context].
func (c *callContext) Err() error { return (*c.call.Load()).Err() }

// Value implements [context.Context].
func (c *callContext) Value(key any) any { return (*c.call.Load()).Value(key) }
