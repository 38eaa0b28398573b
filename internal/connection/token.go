// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package connection

import (
	"context"
	"errors"
	"sync"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
)

// sharedToken lends the authentication of one endpoint to clients of others.
// A learner authenticates nobody, and yet the current releases ask for a token
// even for a status once authentication is on. Tokens are known to all
// members: a simple token is made through raft, a JWT verifies anywhere.
type sharedToken struct {
	// authenticate asks the cluster for a new token; "" means that it has no
	// authentication.
	authenticate func(ctx context.Context) (string, error)
	mu           sync.Mutex
	token        string
	renewal      *renewal // the one under way
}

// renewal is one attempt to replace the token: done is closed when err is set.
type renewal struct {
	done chan struct{}
	err  error
	cut  bool // err is due to the end of its maker's context
}

// current returns the token, "" before the first renewal.
func (t *sharedToken) current() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.token
}

// renew replaces the token, unless somebody has done so since used was current.
// Those who ask while a renewal is under way share what comes of it: without a
// quorum each takes as long as a request may.
func (t *sharedToken) renew(ctx context.Context, used string) error {
	for {
		t.mu.Lock()
		if t.token != used {
			t.mu.Unlock()
			return nil
		}
		under := t.renewal
		if under == nil {
			under = &renewal{done: make(chan struct{})}
			t.renewal = under
			t.mu.Unlock()
			token, err := t.authenticate(ctx)
			t.mu.Lock()
			if err == nil {
				t.token = token
			}
			under.err, under.cut, t.renewal = err, ctx.Err() != nil, nil
			close(under.done)
			t.mu.Unlock()
			return err
		}
		t.mu.Unlock()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-under.done:
		}
		if under.err != nil && !under.cut {
			return under.err
		}
	}
}

// lent is the token as it is sent to one server, as gRPC's PerRPCCredentials.
type lent struct {
	*sharedToken
	to wire
}

// GetRequestMetadata implements credentials.PerRPCCredentials.
func (l lent) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	token := l.current()
	if token == "" {
		return nil, nil
	}
	l.to.record(sentToken)
	return map[string]string{rpctypes.TokenFieldNameGRPC: token}, nil
}

// RequireTransportSecurity implements credentials.PerRPCCredentials. Whether
// there is TLS is the operator's choice, as it is for etcd's own clients.
func (lent) RequireTransportSecurity() bool { return false }

// authenticateAnywhere asks all endpoints at once for a token and takes the
// first that comes: one that is frozen must not hold up the others.
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
	var errs, noLogin []error
	for range endpoints {
		a := <-answers
		// One that refuses the password speaks for all; one that cannot be
		// reached speaks for itself.
		if a.err == nil || KindOf(a.err) == WrongPassword {
			return a.token, a.err
		}
		if KindOf(a.err) == NoLogin {
			noLogin = append(noLogin, a.err)
		} else {
			errs = append(errs, a.err)
		}
	}
	return "", errors.Join(append(noLogin, errs...)...) // the first one's kind counts
}

func (p *Pool) authenticate(ctx context.Context, s Settings, endpoint string) (token string, err error) {
	c, err := p.Client(ctx, s.WithoutCredentials(), endpoint)
	if err != nil {
		return "", err
	}
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
	return token, loginError(err, c.attempts.answered.Load())
}
