// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package cluster

import (
	"context"
	"errors"
	"slices"
	"sync"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/metadata"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// Client is the adapter over clientv3. It keeps one connection for each
// endpoint rather than one balanced over all: a membership change must know
// whom it talks to, and one dead endpoint must not eat the deadline of a call.
type Client struct {
	settings connection.Settings
	pool     *connection.Pool

	mu sync.Mutex
	// at is where members were last seen to answer themselves.
	at map[membership.MemberID]string
	// live are the endpoints of voters in the order in which they last
	// answered; learners are left out (etcd-io/etcd#12789, #18801).
	live []string
	// token authenticates calls to learners, which do not serve Authenticate.
	token string
}

// New returns the adapter. It dials nothing; its connections come from the pool
// and belong to it.
func New(settings connection.Settings, pool *connection.Pool) *Client {
	return &Client{settings: settings, pool: pool, at: map[membership.MemberID]string{}}
}

// Records implements [Cluster].
func (c *Client) Records() Records { return records{c} }

// call makes one request to one endpoint, within the request timeout.
func (c *Client) call(ctx context.Context, endpoint string, f func(context.Context, *clientv3.Client) error) error {
	conn, err := c.pool.Client(ctx, c.settings, endpoint)
	if err != nil {
		return err
	}
	return conn.Do(ctx, func(ctx context.Context) error { return f(ctx, conn.Client) })
}

// status asks for the status of whoever listens at the endpoint. It needs no
// quorum, not even for authentication where a token is at hand, and learners
// serve it.
func (c *Client) status(ctx context.Context, endpoint string) (*clientv3.StatusResponse, error) {
	conn, err := c.pool.Client(ctx, c.settings, endpoint, connection.WithoutCredentials())
	if err != nil {
		return nil, err
	}
	for attempt := 0; ; attempt++ {
		var resp *clientv3.StatusResponse
		token := c.currentToken()
		err = conn.Do(ctx, func(ctx context.Context) error {
			if token != "" {
				ctx = metadata.AppendToOutgoingContext(ctx, rpctypes.TokenFieldNameGRPC, token)
			}
			var err error
			resp, err = conn.Status(ctx, endpoint)
			return err
		})
		if err == nil || attempt > 0 || c.settings.Username == "" || !needsToken(err) {
			return resp, err
		}
		if err := c.authenticate(ctx, token); err != nil {
			return nil, err
		}
	}
}

func needsToken(err error) bool {
	return errors.Is(err, rpctypes.ErrInvalidAuthToken) || errors.Is(err, rpctypes.ErrUserEmpty) ||
		errors.Is(err, rpctypes.ErrPermissionDenied) || errors.Is(err, rpctypes.ErrAuthOldRevision)
}

func (c *Client) currentToken() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.token
}

// authenticate gets a new token in place of old from any voter. Tokens are
// replicated, so one serves every member.
func (c *Client) authenticate(ctx context.Context, old string) error {
	if c.currentToken() != old {
		return nil // somebody else just did
	}
	return c.each(ctx, func(ctx context.Context, kv *clientv3.Client) error {
		resp, err := kv.Authenticate(ctx, c.settings.Username, c.settings.Password.Reveal())
		if err != nil {
			return err
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.token = resp.Token
		return nil
	})
}

// each makes a request to one endpoint after the other until one gives an
// answer that another would not change. It returns the sentinel with the error.
func (c *Client) each(ctx context.Context, f func(context.Context, *clientv3.Client) error) error {
	var answers []EndpointError
	for _, endpoint := range c.route(0) {
		err := c.call(ctx, endpoint, f)
		if err == nil || ctx.Err() != nil || final(err) {
			return translate(err)
		}
		answers = append(answers, EndpointError{endpoint, err})
	}
	if len(answers) == 1 {
		return translate(answers[0].Err)
	}
	return &Unreachable{answers}
}

// route returns the endpoints to try, best first: that of the member via alone,
// where via is not 0 and its address is known.
func (c *Client) route(via membership.MemberID) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.at[via]; ok {
		return []string{e}
	}
	out := slices.Clone(c.live)
	for _, e := range c.settings.Endpoints {
		if !slices.Contains(out, e) {
			out = append(out, e)
		}
	}
	return out
}

// final reports whether the error is the cluster's own word, which no other
// endpoint would contradict.
func final(err error) bool {
	if errors.Is(err, ErrRecordChanged) || refusesUs(err) {
		return true
	}
	return connection.KindOf(err) == connection.Server && !errors.Is(sentinel(err), ErrAmbiguous)
}

// change makes a call that alters the membership, once: after an error whose
// outcome is not known it must not be sent again before the list was read.
func (c *Client) change(ctx context.Context, via membership.MemberID, f func(context.Context, *clientv3.Client) error) error {
	endpoints := c.route(via)
	if len(endpoints) == 0 {
		return &Unreachable{}
	}
	return translate(c.call(ctx, endpoints[0], f))
}

// AddLearner implements [Cluster].
func (c *Client) AddLearner(ctx context.Context, via membership.MemberID, peerURLs []string) (membership.MemberID, error) {
	var id membership.MemberID
	err := c.change(ctx, via, func(ctx context.Context, cl *clientv3.Client) error {
		resp, err := cl.MemberAddAsLearner(ctx, peerURLs)
		if err == nil {
			id = membership.MemberID(resp.Member.ID)
		}
		return err
	})
	return id, err
}

// Promote implements [Cluster].
func (c *Client) Promote(ctx context.Context, via, id membership.MemberID) error {
	return c.change(ctx, via, func(ctx context.Context, cl *clientv3.Client) error {
		_, err := cl.MemberPromote(ctx, uint64(id))
		return err
	})
}

// Remove implements [Cluster].
func (c *Client) Remove(ctx context.Context, via, id membership.MemberID) error {
	return c.change(ctx, via, func(ctx context.Context, cl *clientv3.Client) error {
		_, err := cl.MemberRemove(ctx, uint64(id))
		return err
	})
}

// UpdatePeerURLs implements [Cluster].
func (c *Client) UpdatePeerURLs(ctx context.Context, via, id membership.MemberID, peerURLs []string) error {
	return c.change(ctx, via, func(ctx context.Context, cl *clientv3.Client) error {
		_, err := cl.MemberUpdate(ctx, uint64(id), peerURLs)
		return err
	})
}

// MoveLeader implements [Cluster].
func (c *Client) MoveLeader(ctx context.Context, leader, to membership.MemberID) error {
	return c.change(ctx, leader, func(ctx context.Context, cl *clientv3.Client) error {
		_, err := cl.MoveLeader(ctx, uint64(to))
		return err
	})
}
