// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package connection

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// errNotHTTP2 means that a server's first bytes were not HTTP/2 settings.
var errNotHTTP2 = errors.New("its first bytes are not HTTP/2")

// errClosed means that the server closed a connection without TLS.
var errClosed = errors.New("it closed the connection")

// errClosedTLS means that the server closed the connection after the handshake.
var errClosedTLS = errors.New("the server closed the connection after the handshake")

// errUnwanted means that no request waits for a connection, so none is made.
var errUnwanted = errors.New("no request waits for a connection")

// dialer makes the connections to one endpoint.
type dialer struct {
	endpoint string
	to       wire
	// security verifies certificates against the host of the endpoint.
	security credentials.TransportCredentials
	// timeout limits one attempt to connect, including its diagnosis.
	timeout time.Duration
	// waiting is the number of requests that gRPC has. answered is whether the server
	// has ever received a request.
	waiting  atomic.Int32
	answered atomic.Bool
}

func newDialer(s Settings, endpoint string, to wire) *dialer {
	d := &dialer{endpoint: endpoint, to: to, timeout: s.dialTimeout(), security: insecure.NewCredentials()}
	if isHTTPS(endpoint) {
		config := to.recordCertificate(s.TLS)
		if config == nil {
			config = &tls.Config{MinVersion: tls.VersionTLS12}
		}
		d.security = credentials.NewTLS(config)
	}
	return d
}

// dial is gRPC's dialer. It always connects to one address, uses no proxy of the
// environment, and dials only while gRPC has a request: gRPC itself would dial
// every address that any member ever listed, up to once a second, until the process
// ends.
func (d *dialer) dial(ctx context.Context, _ string) (net.Conn, error) {
	if d.waiting.Load() == 0 {
		return nil, errUnwanted
	}
	return d.open(ctx)
}

func (d *dialer) open(ctx context.Context) (net.Conn, error) {
	d.to.record(sentNothing)
	return open(ctx, 0, d.to.address)
}

// request sends a request. If there is no connection, it returns the reason as an
// [*Error]: gRPC has it only as a text, which may be that of an earlier attempt.
func (d *dialer) request(ctx context.Context, cc *grpc.ClientConn, send func(...grpc.CallOption) error) error {
	dial, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	sent, err := d.try(send)
	if sent || status.Code(err) != codes.Unavailable {
		return err
	}
	err = d.diagnose(dial)
	if err == nil { // the server listens by now
		d.waiting.Add(1)
		defer d.waiting.Add(-1)
		cc.ResetConnectBackoff()
		for state := cc.GetState(); state != connectivity.Ready && cc.WaitForStateChange(dial, state); {
			state = cc.GetState()
		}
		if sent, err = d.try(send); sent || err == nil || dial.Err() == nil {
			return err
		}
		err = dial.Err()
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return AttemptError(d.endpoint, err)
}

// try sends a request over the connection that there is or that can be made. sent
// reports whether the server may have received it.
func (d *dialer) try(send func(...grpc.CallOption) error) (sent bool, err error) {
	d.waiting.Add(1)
	defer d.waiting.Add(-1)
	var server peer.Peer // set by gRPC if it gave the request to a connection
	err = send(grpc.WaitForReady(false), grpc.Peer(&server))
	if sent = err == nil || server.Addr != nil; sent {
		d.answered.Store(true)
	}
	return sent, err
}

// greeting is what an HTTP/2 client sends first, with empty settings. settingsHead is
// the length of the part of a frame's header that contains its type: three bytes of
// length and one of type.
const (
	greeting     = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + "\x00\x00\x00\x04\x00\x00\x00\x00\x00"
	settingsHead = 4
	settingsType = 4
)

// diagnose connects in the same way as gRPC, and returns the error. It sends what
// begins every HTTP/2 connection and nothing else: no credentials except the TLS
// client certificate. In TLS 1.3 a server rejects that certificate only after the
// client's side of the handshake, so diagnose reads the first frame of the server.
func (d *dialer) diagnose(ctx context.Context) error {
	raw, err := d.open(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = raw.Close() }()
	defer context.AfterFunc(ctx, func() { _ = raw.Close() })()
	conn, info, err := d.security.ClientHandshake(ctx, wireOf(d.endpoint).address, raw)
	if err != nil {
		return err
	}
	// If the server has closed the connection, Write fails and Read says why.
	_, _ = io.WriteString(conn, greeting)
	head := make([]byte, settingsHead)
	_, err = io.ReadFull(conn, head)
	var op *net.OpError
	switch _, secure := info.(credentials.TLSInfo); {
	case ctx.Err() != nil:
		return ctx.Err()
	case err == nil && head[settingsHead-1] == settingsType:
		return nil
	case err == nil:
		return fmt.Errorf("%w but %q", errNotHTTP2, head)
	case errors.As(err, &op) && op.Op == "remote error":
		return err
	case secure:
		return errClosedTLS
	}
	return errClosed
}
