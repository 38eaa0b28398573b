// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package connection

import (
	"context"
	"sync"
)

// shared is work that concurrent callers do once, and whose result they share. The zero
// value is ready for use.
type shared[T any] struct {
	mu  sync.Mutex
	now *attempt[T]
}

// attempt is the work of one caller. done is closed when the result is set.
type attempt[T any] struct {
	done   chan struct{}
	result T
	err    error
	cut    bool // err is due to the end of that caller's context
}

// do calls f, or waits for the result of another caller's f.
func (s *shared[T]) do(ctx context.Context, f func() (T, error)) (T, error) {
	for {
		s.mu.Lock()
		a := s.now
		if a == nil {
			a = &attempt[T]{done: make(chan struct{})}
			s.now = a
			s.mu.Unlock()
			a.result, a.err = f()
			a.cut = a.err != nil && ctx.Err() != nil
			s.mu.Lock()
			s.now = nil
			s.mu.Unlock()
			close(a.done)
			return a.result, a.err
		}
		s.mu.Unlock()
		select {
		case <-ctx.Done():
			return *new(T), ctx.Err()
		case <-a.done:
		}
		if !a.cut {
			return a.result, a.err
		}
	}
}
