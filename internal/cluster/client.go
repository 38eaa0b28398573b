// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// Client is the adapter over clientv3. It keeps one connection for each endpoint
// instead of one balanced connection: a membership change must know which server it
// talks to, and an unreachable endpoint must not use up the deadline of a call.
type Client struct {
	settings connection.Settings
	pool     *connection.Pool

	mu sync.Mutex
	// at is the endpoint at which each member itself last answered.
	at map[membership.MemberID]string
	// live are the endpoints of voters in the order in which they last
	// answered; learners are left out (etcd-io/etcd#12789, #18801).
	live []string
	// known are the endpoints at which members were reached in the past, see
	// [Cluster].
	known []string
	// leaderless is true if the last observation found no leader.
	leaderless bool
}

// New returns the adapter. It does not dial. The pool owns the connections.
func New(settings connection.Settings, pool *connection.Pool) *Client {
	return &Client{settings: settings, pool: pool, at: map[membership.MemberID]string{}}
}

// AddFallbackEndpoints implements [Cluster].
func (c *Client) AddFallbackEndpoints(clientURLs []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known = append(c.known, except(connection.Askable(clientURLs), c.known)...)
}

// Records implements [Cluster].
func (c *Client) Records(id membership.ClusterID) Store[Record] { return newStore(c, id, recordKind) }

// Turns implements [Cluster].
func (c *Client) Turns(id membership.ClusterID) Store[membership.Turn] {
	return newStore(c, id, turnKind)
}

// URLChanges implements [Cluster].
func (c *Client) URLChanges(id membership.ClusterID) Store[membership.URLChange] {
	return newStore(c, id, urlChangeKind)
}

// ObjectRecords implements [Cluster].
func (c *Client) ObjectRecords(id membership.ClusterID) Store[ObjectRecord] {
	return newStore(c, id, objectKind)
}

// send sends one request to one endpoint, within limit.
func (c *Client) send(ctx context.Context, s connection.Settings, endpoint string, limit time.Duration, f func(context.Context, *connection.Client) error) error {
	conn, err := c.pool.Client(ctx, s, endpoint)
	if err != nil {
		return err
	}
	return conn.DoLong(ctx, limit, func(ctx context.Context) error { return f(ctx, conn) })
}

// call sends one request to one endpoint, within the request timeout.
func (c *Client) call(ctx context.Context, endpoint string, f func(context.Context, *clientv3.Client) error) error {
	return c.send(ctx, c.settings, endpoint, c.limit(ctx), func(ctx context.Context, conn *connection.Client) error { return f(ctx, conn.Client) })
}

// leaderFraction is the divisor of the request timeout that gives the limit of a
// request while there is no leader. Without a quorum a server answers no read, write or
// change before the time is over, so a run would wait through the whole timeout at each
// of its requests. An election takes about as long, and whoever needs its result asks again.
const leaderFraction = 5

// limit is the time that one request may take now.
func (c *Client) limit(ctx context.Context) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.leaderless && !isPatient(ctx) {
		return c.settings.RequestLimit() / leaderFraction
	}
	return c.settings.RequestLimit()
}

// cutShort ends requests that need a leader some time after the status of their server
// names none. ctx is the context of these requests, cut ends it.
func (c *Client) cutShort(ctx context.Context, status *clientv3.StatusResponse, cut context.CancelFunc) {
	if status == nil || status.Leader != 0 || isPatient(ctx) {
		return
	}
	limited, stop := context.WithTimeout(ctx, c.settings.RequestLimit()/leaderFraction)
	context.AfterFunc(limited, func() { cut(); stop() })
}

type patience struct{}

// Patiently returns ctx for requests that get the whole request timeout also while there
// is no leader: for a decision that destroys what may be alive.
func Patiently(ctx context.Context) context.Context { return context.WithValue(ctx, patience{}, true) }

func isPatient(ctx context.Context) bool { return ctx.Value(patience{}) != nil }

// Anywhere sends a request to one endpoint after the other, first to the one
// that answered last, until an endpoint gives an answer that the others would
// not change. The request timeout limits each attempt. The error is a
// [*connection.Unreachable] however many endpoints were asked, or the answer with
// its sentinel, or after the end of ctx the last error. It is [ErrAmbiguous] if an
// endpoint may have carried out the request.
func (c *Client) Anywhere(ctx context.Context, f func(context.Context, *clientv3.Client) error) error {
	err := connection.Try(ctx, c.allowed(ctx, c.route(0)), final, func(endpoint string) error {
		err := c.call(ctx, endpoint, f)
		if err == nil {
			c.prefer(endpoint)
		}
		return err
	})
	if gone, ok := errors.AsType[*connection.Unreachable](err); ok {
		if n := len(gone.Answers); n > 0 && ctx.Err() != nil {
			return translate(gone.Answers[n-1].Err)
		}
		if slices.ContainsFunc(gone.Answers, func(a connection.Answer) bool { return errors.Is(translate(a.Err), ErrAmbiguous) }) {
			return fmt.Errorf("%w: %w", ErrAmbiguous, gone)
		}
		return gone
	}
	return translate(err)
}

// addressOf returns the endpoint at which a member itself last answered.
func (c *Client) addressOf(id membership.MemberID) (endpoint string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	endpoint, known := c.at[id]
	if !known {
		return "", fmt.Errorf("no address is known at which member %s answers", id)
	}
	return endpoint, nil
}

// prefer records that an endpoint has just answered.
func (c *Client) prefer(endpoint string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.live = append([]string{endpoint}, except(c.live, []string{endpoint})...)
}

// route returns the endpoints to try, best first: only that of the member via,
// if via is not 0 and its address is known.
func (c *Client) route(via membership.MemberID) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.at[via]; ok && via != 0 {
		return []string{e}
	}
	return append(slices.Clone(c.live), except(c.settings.Endpoints, c.live)...)
}

// except returns the endpoints that are not among the others.
func except(endpoints, others []string) []string {
	return slices.DeleteFunc(slices.Clone(endpoints), func(e string) bool { return slices.Contains(others, e) })
}

// allowed removes the endpoints that this call must not ask, unless no endpoint
// would remain: then each of them returns the reason. The route may contain
// endpoints from the configuration of another resource.
func (c *Client) allowed(ctx context.Context, route []string) []string {
	out := slices.DeleteFunc(slices.Clone(route), func(e string) bool { return c.settings.Refusal(ctx, e) != "" })
	if len(out) == 0 {
		return route
	}
	return out
}

// final reports whether the error is an answer of the cluster that no other
// endpoint would change.
func final(err error) bool {
	answered := connection.KindOf(err) == connection.Server && !errors.Is(sentinel(err), ErrAmbiguous)
	return answered || errors.Is(err, ErrRecordChanged) || saidBy(err) == refusesUs
}

// change sends a membership change once. After an error whose outcome is not
// known, the change must not be sent again before the list was read.
func (c *Client) change(ctx context.Context, via membership.MemberID, f func(context.Context, *clientv3.Client) error) error {
	endpoints := c.allowed(ctx, c.route(via))
	if len(endpoints) == 0 {
		return &connection.Unreachable{}
	}
	return unsure(c.call(ctx, endpoints[0], f))
}

// only returns the error of a call whose answer says nothing else.
func only[T any](_ T, err error) error { return err }

// AddLearner implements [Cluster].
func (c *Client) AddLearner(ctx context.Context, via membership.MemberID, peerURLs []string) (id membership.MemberID, err error) {
	err = c.change(ctx, via, func(ctx context.Context, cl *clientv3.Client) error {
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
	return c.change(ctx, via, func(ctx context.Context, cl *clientv3.Client) error { return only(cl.MemberPromote(ctx, uint64(id))) })
}

// Remove implements [Cluster].
func (c *Client) Remove(ctx context.Context, via, id membership.MemberID) error {
	return c.change(ctx, via, func(ctx context.Context, cl *clientv3.Client) error { return only(cl.MemberRemove(ctx, uint64(id))) })
}

// UpdatePeerURLs implements [Cluster].
func (c *Client) UpdatePeerURLs(ctx context.Context, via, id membership.MemberID, peerURLs []string) error {
	return c.change(ctx, via, func(ctx context.Context, cl *clientv3.Client) error {
		return only(cl.MemberUpdate(ctx, uint64(id), peerURLs))
	})
}

// MoveLeader implements [Cluster].
func (c *Client) MoveLeader(ctx context.Context, leader, to membership.MemberID) error {
	if _, err := c.addressOf(leader); err != nil {
		return err // any other member would refuse
	}
	return c.change(ctx, leader, func(ctx context.Context, cl *clientv3.Client) error { return only(cl.MoveLeader(ctx, uint64(to))) })
}

// long sends one member a request that may take up to limit. A learner does not
// accept logins, but accepts the token of a login at a voter.
func (c *Client) long(ctx context.Context, id membership.MemberID, limit time.Duration, f func(context.Context, *connection.Client) error) error {
	endpoint, err := c.addressOf(id)
	if err != nil {
		return err
	}
	for _, settings := range []connection.Settings{c.settings, c.settings.WithoutCredentials()} {
		if err = c.send(ctx, settings, endpoint, limit, f); connection.KindOf(err) != connection.Learner {
			break
		}
	}
	return translate(err)
}

// Snapshot implements [Cluster].
func (c *Client) Snapshot(ctx context.Context, of membership.MemberID, limit time.Duration, w io.Writer) error {
	return c.long(ctx, of, limit, func(ctx context.Context, conn *connection.Client) error {
		// The server sends until the reader of the stream is closed.
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		resp, err := conn.SnapshotWithVersion(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = resp.Snapshot.Close() }()
		_, err = io.Copy(w, resp.Snapshot)
		return err
	})
}

// Defragment implements [Cluster].
func (c *Client) Defragment(ctx context.Context, id membership.MemberID, limit time.Duration) error {
	return c.long(ctx, id, limit, func(ctx context.Context, conn *connection.Client) error {
		return only(conn.Defragment(ctx, conn.Endpoint()))
	})
}
