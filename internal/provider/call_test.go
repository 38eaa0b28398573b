// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"context"
	"errors"
	"runtime"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

type contextKey struct{}

// During a call, its context is the call's: contexts derived from it end with
// the call.
func TestCallContextDuringTheCall(t *testing.T) {
	call, cancel := context.WithCancel(context.WithValue(t.Context(), contextKey{}, 1))
	ctx := newCallContext(call)
	child, stop := context.WithCancel(ctx)
	defer stop()
	if ctx.Err() != nil || child.Value(contextKey{}) != 1 {
		t.Errorf("got %v, %v", ctx.Err(), child.Value(contextKey{}))
	}
	cancel()
	<-child.Done()
	if !errors.Is(ctx.Err(), context.Canceled) || !errors.Is(child.Err(), context.Canceled) {
		t.Errorf("got %v and %v", ctx.Err(), child.Err())
	}
}

// After the call, a context derived from it, which the framework keeps, does
// not keep anything of the call alive.
func TestCallContextAfterTheCall(t *testing.T) {
	collected := make(chan struct{})
	child := func() context.Context {
		value := new([1 << 16]byte)
		runtime.AddCleanup(value, func(c chan struct{}) { close(c) }, collected)
		call, end := context.WithCancel(context.WithValue(t.Context(), contextKey{}, value))
		ctx := newCallContext(call)
		child, stop := context.WithCancel(ctx)
		t.Cleanup(stop)
		ctx.over()
		end() // as gRPC does when a call has returned
		return child
	}()
	etcdtest.Until(t, "the value of the call is let go of", func() bool {
		runtime.GC()
		select {
		case <-collected:
			return true
		default:
			return false
		}
	})
	if child.Value(contextKey{}) != nil || child.Err() == nil {
		t.Errorf("got %v, %v", child.Value(contextKey{}), child.Err())
	}
}
