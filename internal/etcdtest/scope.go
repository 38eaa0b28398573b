// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdtest

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
)

// Scope is a [TB] for a program that is not a test. [Run] creates it.
type Scope struct {
	name string
	logf func(format string, args ...any)

	mu       sync.Mutex
	failure  error
	cleanups []func()
}

// Run calls f with a [Scope] of that name. It then calls the registered cleanups, the
// last one first. It returns the messages of Fatalf, if it was called, as an error. Log
// lines go to logf.
func Run(name string, logf func(format string, args ...any), f func(TB)) error {
	s := &Scope{name: name, logf: logf}
	done := make(chan struct{})
	go func() { // a separate goroutine, which Fatalf can end
		defer close(done)
		defer s.cleanup()
		f(s)
	}()
	<-done
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failure
}

// cleanup continues with the next cleanup if one calls Fatalf.
func (s *Scope) cleanup() {
	s.mu.Lock()
	n := len(s.cleanups)
	if n == 0 {
		s.mu.Unlock()
		return
	}
	f := s.cleanups[n-1]
	s.cleanups = s.cleanups[:n-1]
	s.mu.Unlock()
	defer s.cleanup()
	f()
}

// Helper does nothing.
func (s *Scope) Helper() {}

// Name returns the name given to [Run].
func (s *Scope) Name() string { return s.name }

// Logf writes a log line.
func (s *Scope) Logf(format string, args ...any) { s.logf(format, args...) }

// Fatalf records the failure that Run returns and ends the calling goroutine,
// which must be the one that runs f.
func (s *Scope) Fatalf(format string, args ...any) {
	s.mu.Lock()
	s.failure = errors.Join(s.failure, fmt.Errorf(format, args...))
	s.mu.Unlock()
	runtime.Goexit()
}

// Failed reports whether Fatalf was called.
func (s *Scope) Failed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failure != nil
}

// Cleanup registers f to be called before Run returns.
func (s *Scope) Cleanup(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cleanups = append(s.cleanups, f)
}

// TempDir returns a new directory. Run removes it before it returns.
func (s *Scope) TempDir() string {
	dir, err := os.MkdirTemp("", "etcdtest-*")
	if err != nil {
		s.Fatalf("etcdtest: %w", err)
	}
	s.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			s.Fatalf("etcdtest: %w", err)
		}
	})
	return dir
}
