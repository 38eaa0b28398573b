// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package lean

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

type key string

// A context of a call is the call's as long as that lasts.
func TestDuring(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		call, cancel := context.WithCancel(context.WithValue(t.Context(), key("a"), 1))
		ctx, over := during(call)
		child, stop := context.WithCancel(ctx)
		defer stop()
		if ctx.Err() != nil || ctx.Value(key("a")) != 1 || child.Value(key("a")) != 1 || ctx.Value(key("b")) != nil {
			t.Errorf("got %v, %v", ctx.Err(), ctx.Value(key("a")))
		}
		cancel()
		<-child.Done()
		if !errors.Is(ctx.Err(), context.Canceled) || !errors.Is(child.Err(), context.Canceled) {
			t.Errorf("got %v and %v", ctx.Err(), child.Err())
		}
		over()
	})
}

// When the call is over, so is everything that was derived from its context.
func TestDuringIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, over := during(context.WithValue(t.Context(), key("a"), 1))
		child, stop := context.WithTimeout(ctx, time.Hour)
		defer stop()
		over()
		<-child.Done()
		if !errors.Is(child.Err(), context.Canceled) || ctx.Value(key("a")) != nil || child.Value(key("a")) != nil {
			t.Errorf("got %v, %v", child.Err(), child.Value(key("a")))
		}
	})
}

// A deadline is passed on, and told from a call that was cancelled.
func TestDuringDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		call, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		ctx, over := during(call)
		defer over()
		want, _ := call.Deadline()
		if got, ok := ctx.Deadline(); !ok || !got.Equal(want) {
			t.Errorf("got %v, %v, want %v", got, ok, want)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		ctx, over := during(t.Context())
		defer over()
		if got, ok := ctx.Deadline(); ok {
			t.Errorf("got %v out of nowhere", got)
		}
	})
}
