// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package connection

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
)

// sharedToken lends the authentication of one endpoint to clients of others. A
// learner cannot authenticate a user, but current releases require a token even for
// a status request if authentication is enabled. All members accept the token: a
// simple token is created through raft, and any member can verify a JWT.
type sharedToken struct {
	// authenticate gets a new token from the cluster. It returns "" if
	// authentication is disabled.
	authenticate func(ctx context.Context) (string, error)
	renewal      shared[string]
	token        atomic.Value // a string
}

// current returns the token, "" before the first renewal and without t.
func (t *sharedToken) current() string {
	if t == nil {
		return ""
	}
	token, _ := t.token.Load().(string)
	return token
}

// renew replaces the token, unless another call has replaced it since used was
// current. Concurrent callers share the result of one renewal: without a quorum
// each renewal would take the whole request timeout.
func (t *sharedToken) renew(ctx context.Context, used string) error {
	_, err := t.renewal.do(ctx, func() (string, error) {
		if now := t.current(); now != used {
			return now, nil
		}
		token, err := t.authenticate(ctx)
		if err == nil {
			t.token.Store(token)
		}
		return token, err
	})
	return err
}

// authenticateAnywhere requests a token from all endpoints concurrently and
// returns the first. A frozen endpoint does not delay the others.
func (p *Pool) authenticateAnywhere(ctx context.Context, s Settings, endpoints []string) (string, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type answer struct {
		token string
		err   error
	}
	answers := make(chan answer, len(endpoints))
	for _, endpoint := range endpoints {
		go func() {
			token, err := p.authenticate(ctx, s, endpoint)
			answers <- answer{token, err}
		}()
	}
	var errs []error
	for range endpoints {
		a := <-answers
		// A wrong password is wrong on every endpoint. Any other error concerns
		// only the endpoint that returned it.
		if a.err == nil || KindOf(a.err) == WrongPassword {
			return a.token, a.err
		}
		at := len(errs)
		if KindOf(a.err) == NoLogin {
			at = 0 // the kind of the first error counts
		}
		errs = slices.Insert(errs, at, a.err)
	}
	return "", errors.Join(errs...)
}

// authenticate requests a token from an endpoint. Concurrent callers share it.
func (p *Pool) authenticate(ctx context.Context, s Settings, endpoint string) (string, error) {
	c, err := p.Client(ctx, s.WithoutCredentials(), endpoint)
	if err != nil {
		return "", err
	}
	return c.login.do(ctx, func() (token string, err error) {
		err = c.do(ctx, c.requestTimeout, func(ctx context.Context) error {
			response, err := c.Authenticate(ctx, s.Username, s.Password.Reveal())
			if errors.Is(err, rpctypes.ErrAuthNotEnabled) {
				return nil
			}
			if err == nil {
				token = response.Token
			}
			return err
		})
		return token, loginError(err, c.answered.Load())
	})
}

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
