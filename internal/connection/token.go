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
//
// It implements gRPC's PerRPCCredentials.
type sharedToken struct {
	// authenticate asks the cluster for a new token; "" means that it has no
	// authentication.
	authenticate func(ctx context.Context) (string, error)
	// renewing holds one value while a renewal is under way.
	renewing chan struct{}

	mu    sync.Mutex
	token string
}

func newSharedToken(authenticate func(ctx context.Context) (string, error)) *sharedToken {
	return &sharedToken{authenticate: authenticate, renewing: make(chan struct{}, 1)}
}

// current returns the token, "" before the first renewal.
func (t *sharedToken) current() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.token
}

// renew replaces the token, unless somebody has done so since used was current.
func (t *sharedToken) renew(ctx context.Context, used string) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case t.renewing <- struct{}{}:
	}
	defer func() { <-t.renewing }()
	if t.current() != used {
		return nil
	}
	token, err := t.authenticate(ctx)
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.token = token
	return nil
}

// GetRequestMetadata implements credentials.PerRPCCredentials.
func (t *sharedToken) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	if token := t.current(); token != "" {
		return map[string]string{rpctypes.TokenFieldNameGRPC: token}, nil
	}
	return nil, nil
}

// lent is the token as it is sent to one server.
type lent struct {
	*sharedToken
	to wire
}

// GetRequestMetadata implements credentials.PerRPCCredentials.
func (l lent) GetRequestMetadata(ctx context.Context, uri ...string) (map[string]string, error) {
	metadata, err := l.sharedToken.GetRequestMetadata(ctx, uri...)
	if len(metadata) > 0 {
		l.to.record(sentToken)
	}
	return metadata, err
}

// RequireTransportSecurity implements credentials.PerRPCCredentials. Whether
// there is TLS is the operator's choice, as it is for etcd's own clients.
func (t *sharedToken) RequireTransportSecurity() bool { return false }

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
	var errs []error
	for range endpoints {
		a := <-answers
		// One that refuses the password speaks for all; one that cannot be
		// reached speaks for itself.
		if a.err == nil || KindOf(a.err) == WrongPassword {
			return a.token, a.err
		}
		errs = append(errs, a.err)
	}
	return "", errors.Join(errs...)
}

func (p *Pool) authenticate(ctx context.Context, s Settings, endpoint string) (token string, err error) {
	c, err := p.Client(ctx, s, endpoint, WithoutCredentials())
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
	return token, err
}
