// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discovery

import (
	"bytes"
	"io"
	"net"
	"sync"
	"testing"
)

// swallower forwards connections to a server. From a certain request on, it
// drops the answers, but still forwards requests.
type swallower struct {
	listener net.Listener
	target   string
	wg       sync.WaitGroup

	mu    sync.Mutex
	left  int // requests for a size key that are still answered, plus one
	armed bool
	conns []net.Conn
}

func newSwallower(t *testing.T, target string) *swallower {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &swallower{listener: listener, target: target}
	s.wg.Go(s.accept)
	t.Cleanup(func() {
		_ = listener.Close()
		s.mu.Lock()
		for _, c := range s.conns {
			_ = c.Close()
		}
		s.mu.Unlock()
		s.wg.Wait()
	})
	return s
}

// Addr returns the address to dial.
func (s *swallower) Addr() string { return s.listener.Addr().String() }

// swallowAfter drops all answers from the nth request for a size key on.
func (s *swallower) swallowAfter(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.armed, s.left = true, n
}

func (s *swallower) heal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.armed = false
}

func (s *swallower) lost() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.armed && s.left <= 0
}

func (s *swallower) accept() {
	for {
		in, err := s.listener.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", s.target)
		if err != nil {
			_ = in.Close()
			continue
		}
		s.mu.Lock()
		s.conns = append(s.conns, in, out)
		s.mu.Unlock()
		s.wg.Go(func() {
			_, _ = io.Copy(writerFunc(func(p []byte) (int, error) {
				if n := bytes.Count(p, []byte("_config/size")); n > 0 {
					s.mu.Lock()
					// The transaction contains the key three times.
					s.left--
					s.mu.Unlock()
				}
				return out.Write(p)
			}), in)
			_ = out.Close()
		})
		s.wg.Go(func() {
			_, _ = io.Copy(writerFunc(func(p []byte) (int, error) {
				if s.lost() {
					return len(p), nil
				}
				return in.Write(p)
			}), out)
			_ = in.Close()
		})
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
