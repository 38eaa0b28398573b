// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package connection

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
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
	// address is the host and port that are dialled.
	address string
	// security verifies certificates against the host of the endpoint.
	security credentials.TransportCredentials
	// timeout limits one attempt to connect, including its diagnosis.
	timeout time.Duration
	// waiting is the number of requests that gRPC has. answered is whether the server
	// has ever received a request.
	waiting  atomic.Int32
	answered atomic.Bool
	// certificate is the end of the validity of the certificate that the server last
	// presented, a [time.Time].
	certificate atomic.Value
}

func newDialer(s Settings, endpoint string) *dialer {
	d := &dialer{endpoint: endpoint, address: addressOf(s.Dialled(endpoint)), timeout: s.dialTimeout(), security: insecure.NewCredentials()}
	if isHTTPS(endpoint) {
		config := cmp.Or(s.TLS, &tls.Config{MinVersion: tls.VersionTLS12}).Clone()
		config.VerifyConnection = func(state tls.ConnectionState) error {
			if len(state.PeerCertificates) > 0 {
				d.certificate.Store(state.PeerCertificates[0].NotAfter.UTC())
			}
			return nil
		}
		d.security = credentials.NewTLS(config)
	}
	return d
}

// CertificateEnd returns the end of the validity of the certificate that the server
// presented, zero without one.
func (d *dialer) CertificateEnd() time.Time {
	end, _ := d.certificate.Load().(time.Time)
	return end
}

// dial is gRPC's dialer. It always connects to one address, uses no proxy of the
// environment, and dials only while gRPC has a request: gRPC itself would dial
// every address that any member ever listed, up to once a second, until the process
// ends.
func (d *dialer) dial(ctx context.Context, _ string) (net.Conn, error) {
	if d.waiting.Load() == 0 {
		return nil, errUnwanted
	}
	return open(ctx, 0, d.address)
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
	sent = err == nil || server.Addr != nil
	if sent {
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
	raw, err := open(ctx, 0, d.address)
	if err != nil {
		return err
	}
	defer func() { _ = raw.Close() }()
	defer context.AfterFunc(ctx, func() { _ = raw.Close() })()
	conn, info, err := d.security.ClientHandshake(ctx, addressOf(d.endpoint), raw)
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

// The maximum sizes of received messages, in bytes: of a stream, of the key space,
// of member lists, and of any other answer. A message takes up to sixty times its
// size in memory, because an empty element takes two bytes on the wire.
const (
	maxMessage  = 16 << 20
	maxKeys     = 4 << 20
	maxMembers  = 128 << 10
	maxAnswered = 1 << 20
)

// limitOf returns the maximum size of the answer to a method.
func limitOf(method string) int {
	switch service, name, _ := strings.Cut(strings.TrimPrefix(method, "/etcdserverpb."), "/"); {
	case service == "KV":
		return maxKeys
	case service == "Cluster":
		return maxMembers
	case service == "Maintenance" && name == "Snapshot", service == "Watch":
		return maxMessage
	}
	return maxAnswered
}

// errNoHeader means that an answer lacks a required header. Without this check,
// etcd's own client would crash.
var errNoHeader = errors.New("its answer has no header, which etcd's answers have")

// unary sends a request, and limits what a server may answer: the size of a message,
// and that it has a header.
func (d *dialer) unary(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	err := d.request(ctx, cc, func(how ...grpc.CallOption) error {
		return invoke(ctx, method, req, reply, cc, limited(method, opts, how)...)
	})
	if err != nil {
		return err
	}
	return headed(reply)
}

// stream is like unary for a stream and its messages.
func (d *dialer) stream(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, open grpc.Streamer, opts ...grpc.CallOption) (stream grpc.ClientStream, err error) {
	err = d.request(ctx, cc, func(how ...grpc.CallOption) (err error) {
		stream, err = open(ctx, desc, cc, method, limited(method, opts, how)...)
		return err
	})
	if err != nil {
		return nil, err
	}
	return headedStream{stream}, nil
}

// limited returns the options of a call with its own size limit. The last option
// takes precedence.
func limited(method string, opts, more []grpc.CallOption) []grpc.CallOption {
	return append(slices.Concat(opts, more), grpc.MaxCallRecvMsgSize(limitOf(method)))
}

// headed returns an error if an answer whose header is used has none. Some
// other answers, such as that to a defragmentation, come without a header.
func headed(reply any) error {
	switch r := reply.(type) {
	case *pb.RangeResponse, *pb.PutResponse, *pb.DeleteRangeResponse, *pb.TxnResponse, *pb.WatchResponse, *pb.StatusResponse, *pb.MemberListResponse:
		if h, ok := r.(interface{ GetHeader() *pb.ResponseHeader }); !ok || h.GetHeader() == nil {
			return errNoHeader
		}
	case *pb.MemberAddResponse:
		if r.GetHeader() == nil || r.GetMember() == nil {
			return errNoHeader
		}
	}
	return nil
}

type headedStream struct{ grpc.ClientStream }

// RecvMsg implements grpc.ClientStream.
func (s headedStream) RecvMsg(m any) error {
	if err := s.ClientStream.RecvMsg(m); err != nil {
		return err
	}
	return headed(m)
}

// open makes every connection of the provider. The linter knows no other way. If limit is 0,
// only ctx limits it.
func open(ctx context.Context, limit time.Duration, address string) (net.Conn, error) {
	return (&net.Dialer{Timeout: limit}).DialContext(ctx, "tcp", address)
}

// Dialled returns the URL that is dialled for a normalised endpoint. It has the same scheme.
func (s Settings) Dialled(endpoint string) string { return cmp.Or(s.AddressMap[endpoint], endpoint) }

// addressOf returns the host and port of a normalised endpoint, "" for another text.
func addressOf(endpoint string) string {
	u, err := url.Parse(endpoint)
	if err != nil {
		return ""
	}
	return u.Host
}

// World takes the place of the network in tests; see [Pool]. It simulates no TLS.
type World interface {
	// Client returns etcd's own client of the server at an address, which is a
	// scheme, a host and a port. The end of an attempt to connect is an [*Error]
	// of endpoint. The answers are those after clientv3's retries. The client does
	// not log in: [Client.Do] gives its requests their tokens.
	Client(endpoint, address string) *clientv3.Client
	// Web returns the transport of HTTP requests to the server at an address.
	Web(address string) http.RoundTripper
}
