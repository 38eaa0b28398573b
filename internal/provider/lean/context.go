// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package lean

import (
	"context"
	"sync/atomic"
)

// callContext is the context of one call, which lets go of the values of the
// call (its stream, its loggers: some 12 kB) when the call is over. Whoever
// keeps it keeps almost nothing.
type callContext struct {
	context.Context // ends with the call, and holds nothing of it

	call atomic.Pointer[context.Context]
}

// during returns the context to make a call with, and what is to be called
// when the call is over.
func during(ctx context.Context) (_ context.Context, over func()) {
	own, cancel := alike(ctx)
	c := &callContext{Context: own}
	c.call.Store(&ctx)
	unhook := context.AfterFunc(ctx, cancel)
	return c, func() {
		unhook()
		cancel()
		c.call.Store(nil)
	}
}

// Value implements [context.Context].
func (c *callContext) Value(key any) any {
	// What package context itself looks for is found here first.
	if v := c.Context.Value(key); v != nil {
		return v
	}
	if call := c.call.Load(); call != nil {
		return (*call).Value(key)
	}
	return nil
}

// alike returns a context that ends by itself when ctx does so by itself.
func alike(ctx context.Context) (context.Context, context.CancelFunc) {
	if deadline, ok := ctx.Deadline(); ok {
		return context.WithDeadline(context.Background(), deadline)
	}
	return context.WithCancel(context.Background())
}
