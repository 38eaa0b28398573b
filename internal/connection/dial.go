// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package connection

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

// errNotHTTP2 means that a server's first bytes were not HTTP/2 settings.
var errNotHTTP2 = errors.New("its first bytes are not HTTP/2")

// errClosed means that the server closed a connection without TLS.
var errClosed = errors.New("it closed the connection")

// errClosedTLS means that the server closed the connection after the handshake.
var errClosedTLS = errors.New("the server closed the connection after the handshake")

// errUnwanted means that no call waits for a connection, so none is made.
var errUnwanted = errors.New("no call waits for a connection")

// errSilent means that the dial timeout expired before the server's first frame.
var errSilent = fmt.Errorf("the server accepted the connection and said nothing: %w", context.DeadlineExceeded)

// attempts tracks how attempts to connect end and notifies the calls that wait
// for the connection. gRPC hides the cause of a failure as long as calls wait
// for a connection to become ready.
type attempts struct {
	mu      sync.Mutex
	waiting map[*func(error)]struct{}
	// failing is whether the most recent attempt failed. answered is whether
	// the server has ever sent its HTTP/2 settings.
	failing, answered atomic.Bool
}

// subscribe calls f with the error of each attempt that fails, until stop is
// called. f must not block.
func (a *attempts) subscribe(f func(error)) (stop func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.waiting == nil {
		a.waiting = map[*func(error)]struct{}{}
	}
	a.waiting[&f] = struct{}{}
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.waiting, &f)
	}
}

func (a *attempts) failed(err error) {
	// A cancelled attempt says nothing about the server: the client was closed.
	if errors.Is(err, context.Canceled) {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.failing.Store(true)
	for f := range a.waiting {
		(*f)(err)
	}
}

// wanted reports whether a call waits for a connection. gRPC itself would dial
// every address that any member ever listed, up to once a second, until the
// process ends.
func (a *attempts) wanted() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.waiting) > 0 {
		return true
	}
	a.failing.Store(true) // the next call tries at once
	return false
}

// dialer returns a gRPC dialer that always connects to one address. It uses no
// proxy of the environment and dials only while a call waits.
func (a *attempts) dialer(to wire) func(context.Context, string) (net.Conn, error) {
	return func(ctx context.Context, _ string) (net.Conn, error) {
		if !a.wanted() {
			return nil, errUnwanted
		}
		to.record(sentNothing)
		conn, err := open(ctx, 0, to.address)
		if err != nil {
			a.failed(err)
			return nil, err
		}
		return conn, nil
	}
}

// observed wraps transport credentials. It reports failed handshakes, and
// connections that end before the server has sent its HTTP/2 settings.
type observed struct {
	credentials.TransportCredentials
	attempts *attempts
}

// transport returns the transport credentials for the scheme of an endpoint.
// Certificates are verified against the endpoint's host, which gRPC passes as
// the authority.
func (a *attempts) transport(secure bool, config *tls.Config) credentials.TransportCredentials {
	if !secure {
		return &observed{insecure.NewCredentials(), a}
	}
	if config == nil {
		config = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	return &observed{credentials.NewTLS(config), a}
}

// ClientHandshake implements credentials.TransportCredentials.
func (o *observed) ClientHandshake(ctx context.Context, authority string, raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, info, err := o.TransportCredentials.ClientHandshake(ctx, authority, raw)
	if err != nil {
		o.attempts.failed(err)
		return nil, nil, err
	}
	_, secure := info.(credentials.TLSInfo)
	return &firstFrame{Conn: conn, attempts: o.attempts, secure: secure, first: make(chan struct{})}, info, nil
}

// Clone implements credentials.TransportCredentials.
func (o *observed) Clone() credentials.TransportCredentials {
	return &observed{o.TransportCredentials.Clone(), o.attempts}
}

// firstFrame watches a connection until the server's first HTTP/2 frame, which
// must be a settings frame. In TLS 1.3 a server rejects the client's
// certificate only here, after the client's side of the handshake.
type firstFrame struct {
	net.Conn
	attempts *attempts
	secure   bool
	// first is closed when done becomes true.
	first chan struct{}

	mu   sync.Mutex
	head []byte
	done bool
}

// settingsHead is the length of the part of a frame's header that contains its
// type: three bytes of length and one of type.
const (
	settingsHead = 4
	settingsType = 4
)

// alertTimeout is how long to read from a server that closed the connection.
const alertTimeout = 100 * time.Millisecond

// Read implements net.Conn.
func (c *firstFrame) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done {
		return n, err
	}
	c.head = append(c.head, p[:min(n, settingsHead-len(c.head))]...)
	switch {
	case len(c.head) == settingsHead && c.head[settingsType-1] == settingsType:
		c.done = true
		close(c.first)
		c.attempts.failing.Store(false)
		c.attempts.answered.Store(true)
	case len(c.head) == settingsHead:
		c.end(fmt.Errorf("%w but %q", errNotHTTP2, c.head))
	case err != nil:
		c.end(c.tellEnd(err))
	}
	return n, err
}

// Write implements net.Conn. If it fails, the server has closed the connection.
// gRPC closes the connection after a failed write, so Write first waits briefly
// for a TLS alert that gives the reason.
func (c *firstFrame) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	if err == nil {
		return n, nil
	}
	select {
	case <-c.first:
	case <-time.After(alertTimeout): //nolint:forbidigo // real connections only
		c.mu.Lock()
		defer c.mu.Unlock()
		if !c.done {
			c.end(c.tellEnd(err))
		}
	}
	return n, err
}

// Close implements net.Conn. gRPC closes a connection if the server sends
// nothing within the dial timeout. It may close this connection or the
// underlying one, whose read then returns net.ErrClosed.
func (c *firstFrame) Close() error {
	c.mu.Lock()
	if !c.done {
		c.end(errSilent)
	}
	c.mu.Unlock()
	return c.Conn.Close()
}

// tellEnd returns the error for a connection that ended before the server's
// first frame.
func (c *firstFrame) tellEnd(err error) error {
	var op *net.OpError
	switch {
	case errors.Is(err, net.ErrClosed):
		return errSilent
	case errors.As(err, &op) && op.Op == "remote error":
		return err
	case c.secure:
		return errClosedTLS
	}
	return errClosed
}

// end reports the end of the attempt, once. c.mu must be held.
func (c *firstFrame) end(err error) {
	c.done = true
	close(c.first)
	c.attempts.failed(err)
}
