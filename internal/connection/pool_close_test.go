// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package connection

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Test that registered functions are called once before the connections are closed,
// unless forgotten, and that a hanging function does not block the process.
func TestBeforeClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &Pool{}
		var mu sync.Mutex
		calls := map[string]int{}
		register := func(name string, f func(context.Context)) (forget func()) {
			return p.BeforeClose(func(ctx context.Context) {
				p.mu.Lock()
				closed := p.closed
				p.mu.Unlock()
				if closed {
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
