// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package connection

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/grpclog"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/clock"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/log"
)

func init() {
	// By default, gRPC prints errors to standard error, and everything,
	// including metadata, if the environment enables it. This package returns
	// the relevant failures as errors.
	grpclog.SetLoggerV2(grpclog.NewLoggerV2(io.Discard, io.Discard, io.Discard))
}

// The pause between gRPC's attempts to connect, which [dialer.request] ends, and the
// keepalive that detects a silent peer.
const (
	backoffPause     = time.Second
	keepaliveTime    = 10 * time.Second
	keepaliveTimeout = 3 * time.Second
)

// The pause before a request is repeated because the member does not know its token
// yet, and the limit for all repetitions. A member still behind is not up to date.
const (
	tokenPause = 5 * time.Millisecond
	tokenLimit = time.Second
)

// Client talks to exactly one endpoint, over a connection of a [Pool]. Every call goes through [Client.Do]. A
// Client is safe for concurrent use.
type Client struct {
	*clientv3.Client

	*dialer

	requestTimeout time.Duration
	cancel         context.CancelFunc
	clock          clock.Clock
	// token is set if the client borrows the authentication of another endpoint, and
	// with credentials in a [World].
	token *sharedToken
	// login requests a token from this endpoint for clients of others.
	login shared[string]
	// web is for HTTP requests. It keeps connections open.
	web http.RoundTripper
}

// WithoutCredentials returns the settings for clients without user name and
// password. A learner needs them because it cannot authenticate a user. If a server
// requires credentials anyway, a client of a [Pool] borrows those of another
// endpoint and calls the function given to [Client.Do] again. Use it for reads.
func (s Settings) WithoutCredentials() Settings {
	s.anonymous = true
	return s
}

// client makes a client for one normalised endpoint, which may receive the credentials.
// It does not dial, except to authenticate if a user name and a password are set, within
// the request timeout. It is not an error if authentication is disabled.
func (s Settings) client(ctx context.Context, endpoint string, p *Pool) (*Client, error) {
	c := &Client{dialer: newDialer(s, endpoint), requestTimeout: s.RequestLimit(), clock: s.Time(), token: s.token}
	if p.World != nil {
		c.web = p.World.Web(s.Dialled(endpoint))
		c.Client, c.cancel = p.World.Client(endpoint, s.Dialled(endpoint)), func() {}
		if s.anonymous || s.Username == "" {
			return c, nil
		}
		// Its client does not log in by itself.
		c.token = &sharedToken{authenticate: func(ctx context.Context) (string, error) { return p.authenticate(ctx, s, endpoint) }}
		return c, c.token.renew(ctx, "")
	}
	c.web = s.web(endpoint, nil, true)
	if err := c.connect(ctx, s.config(c.dialer)); err != nil {
		return nil, err
	}
	// Otherwise each status request would open a connection.
	c.Maintenance = clientv3.NewMaintenanceFromMaintenanceClient(
		clientv3.RetryMaintenanceClient(c.Client, c.ActiveConnection()), c.Client)
	return c, nil
}

// config returns the configuration of etcd's own client.
func (s Settings) config(d *dialer) clientv3.Config {
	config := clientv3.Config{
		Endpoints: []string{d.endpoint},
		// clientv3 uses DialTimeout for authentication, not for dialling.
		DialTimeout: s.RequestLimit(),
		Logger:      zap.NewNop(),
		DialOptions: []grpc.DialOption{
			grpc.WithContextDialer(d.dial),
			grpc.WithNoProxy(),
			grpc.WithTransportCredentials(d.security),
			grpc.WithConnectParams(grpc.ConnectParams{
				Backoff:           backoff.Config{BaseDelay: backoffPause, MaxDelay: backoffPause},
				MinConnectTimeout: s.dialTimeout(),
			}),
			grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: keepaliveTime, Timeout: keepaliveTimeout}),
			grpc.WithChainUnaryInterceptor(d.unary),
			grpc.WithChainStreamInterceptor(d.stream),
		},
	}
	switch {
	case s.anonymous && s.token != nil:
		// Otherwise clientv3 would repeat a call with a stale token a hundred times.
		config.MaxUnaryRetries = 1
	case !s.anonymous:
		config.Username, config.Password = s.Username, s.Password.Reveal()
	}
	return config
}

// connect makes etcd's own client, which logs in if there are credentials.
func (c *Client) connect(ctx context.Context, config clientv3.Config) (err error) {
	// The client's context outlives ctx, but the end of ctx must still abort New.
	config.Context, c.cancel = context.WithCancel(context.WithoutCancel(ctx))
	unhook := context.AfterFunc(ctx, c.cancel)
	c.Client, err = clientv3.New(config)
	if !unhook() && err == nil {
		// The context ended at the last moment, so the client is unusable.
		err = ctx.Err()
		_ = c.Client.Close()
	}
	if err != nil {
		err = loginError(c.explain(ctx, err), c.answered.Load())
		c.cancel()
	}
	if config.Username != "" {
		log.Debug(ctx, log.Connection, "login", "endpoint", c.endpoint, "error", err)
	}
	return err
}

// Endpoint returns the normalised URL of the endpoint as it is advertised,
// before the address map applies.
func (c *Client) Endpoint() string { return c.endpoint }

// Close does nothing: the client belongs to its [Pool].
func (c *Client) Close() error { return nil }

func (c *Client) close() error {
	defer c.cancel()
	(&http.Client{Transport: c.web}).CloseIdleConnections()
	if err := c.Client.Close(); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// Do calls f once, with a context that ends after the request timeout. f makes its
// requests through c with that context. If the connection is down, a request
// reconnects at once, and fails as soon as that fails.
//
// Do returns errors of requests as [*Error]. It returns other errors of f, and
// ctx's own cancellation, unchanged. After [Timeout] or [Interrupted] a request
// may have been carried out, or may still be.
func (c *Client) Do(ctx context.Context, f func(ctx context.Context) error) error {
	return c.DoLong(ctx, c.requestTimeout, f)
}

// DoLong is like [Client.Do] for a request of unknown duration, such as a
// snapshot or a watch. limit bounds it, or only ctx if limit is 0. The
// connection's keepalive detects a silent server sooner. A client without
// credentials may call f again if the server rejected the token before it sent
// anything else.
func (c *Client) DoLong(ctx context.Context, limit time.Duration, f func(ctx context.Context) error) error {
	if c.token == nil {
		return c.do(ctx, limit, f)
	}
	used := c.token.current()
	err := c.do(ctx, limit, f)
	if kind := KindOf(err); kind != AuthRequired && kind != StaleToken {
		return err
	}
	switch renewal := c.token.renew(ctx, used); {
	case KindOf(renewal) == WrongPassword:
		return renewal
	case KindOf(renewal) == NoLogin:
		return &Error{Endpoint: c.endpoint, Kind: NoLogin, Err: err}
	case renewal != nil:
		return err
	}
	// The token comes from another member. This member knows it after it has
	// applied the entry that created the token.
	begin := c.clock.Now()
	for pause := tokenPause; ; pause *= 2 {
		err = c.do(ctx, limit, f)
		if KindOf(err) != StaleToken || c.clock.Now().Sub(begin)+pause > tokenLimit {
			return err
		}
		if err := c.clock.Sleep(ctx, pause); err != nil {
			return err
		}
	}
}

func (c *Client) do(ctx context.Context, limit time.Duration, f func(ctx context.Context) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	call := ctx
	if limit > 0 {
		var stop context.CancelFunc
		call, stop = context.WithTimeout(ctx, limit)
		defer stop()
	}
	if token := c.token.current(); token != "" {
		call = metadata.AppendToOutgoingContext(call, rpctypes.TokenFieldNameGRPC, token)
	}
	if err := f(call); err != nil {
		return c.explain(ctx, err)
	}
	return nil
}

// explain turns the error of a call into an [*Error] if it is about the server.
// ctx is the caller's context.
func (c *Client) explain(ctx context.Context, err error) error {
	if ended := ctx.Err(); ended != nil && isEnded(err) { // the context of the call ends with the caller's
		if errors.Is(ended, context.Canceled) {
			return ended
		}
		return &Error{Endpoint: c.endpoint, Kind: Timeout, Err: ended}
	}
	if kind, ok := kindOfAnswer(err); ok && !errors.As(err, new(*Error)) {
		return &Error{Endpoint: c.endpoint, Kind: kind, Err: err}
	}
	return err
}

// Route sends requests to one endpoint after the other until an endpoint gives
// an answer that the others would not change. *cluster.Client is a Route.
type Route interface {
	Anywhere(ctx context.Context, f func(context.Context, *clientv3.Client) error) error
}

// Ask sends a request through a route and returns the answer.
func Ask[T any](ctx context.Context, r Route, send func(context.Context, *clientv3.Client) (T, error)) (answer T, err error) {
	err = r.Anywhere(ctx, func(ctx context.Context, c *clientv3.Client) (err error) {
		answer, err = send(ctx, c)
		return err
	})
	return answer, err
}
