// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package connection

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Kind says what an endpoint answered, or why it did not. Package diag has a
// way out for each.
type Kind string

// The kinds. Their text is what a person reads as the endpoint's answer.
const (
	// Refused: nothing listens there.
	Refused Kind = "connection refused"
	// NoRoute: there is no route to the host.
	NoRoute Kind = "no route to host"
	// Timeout: no connection within the dial timeout, or no answer within the
	// request timeout. A request that timed out may still be carried out.
	Timeout Kind = "no answer in time"
	// DNS: the host's name could not be resolved.
	DNS Kind = "host name not found"
	// UnknownCA: the server's certificate was not signed by the configured CA
	// (or, without one, by one that this system trusts).
	UnknownCA Kind = "certificate signed by an unknown authority"
	// Expired: the server's certificate has expired or is not valid yet.
	Expired Kind = "certificate expired or not yet valid"
	// HostMismatch: the server's certificate is for other hosts.
	HostMismatch Kind = "certificate is for another host"
	// PlainServer: an https endpoint whose server speaks no TLS.
	PlainServer Kind = "server does not speak TLS"
	// ClientCert: the server refuses the client's certificate, or asks for one
	// where none is configured.
	ClientCert Kind = "server refuses the client certificate"
	// TLSOther: any other failure of the TLS handshake.
	TLSOther Kind = "TLS handshake failed"
	// NotEtcd: what listens there does not speak etcd's protocol, or speaks it
	// over TLS while the endpoint's scheme is http.
	NotEtcd Kind = "not an etcd server, or one that expects https"
	// WrongPassword: the server knows no such user, or not with this password.
	WrongPassword Kind = "wrong user name or password"
	// AuthRequired: the server asks for credentials and got none.
	AuthRequired Kind = "credentials required"
	// NoLogin: the server answers, and does not complete the login, for which it
	// needs a quorum. Nothing else was sent.
	NoLogin Kind = "the login does not complete; it needs a quorum"
	// StaleToken: the server does not know the token that a previous
	// authentication gave; another call authenticates again.
	StaleToken Kind = "authentication no longer valid"
	// PermissionDenied: the user is known but may not do this; membership
	// needs the root role.
	PermissionDenied Kind = "permission denied"
	// Learner: the endpoint is a learner, which serves only its status and
	// serializable reads.
	Learner Kind = "endpoint is a learner"
	// Interrupted: the connection broke while a request was under way, which
	// may still be carried out.
	Interrupted Kind = "connection lost"
	// NotAsked: nothing was sent, because the credentials must not go there; see
	// [Refusal].
	NotAsked Kind = "not asked"
	// Redirected: the server sends the request to another one. It is not sent
	// there.
	Redirected Kind = "redirects elsewhere"
	// Server: the server answered with an error that says nothing about the
	// connection. Compare the error with rpctypes.Err... through errors.Is.
	Server Kind = "server error"
)

// Error is why a request to one endpoint failed. Unwrap gives the original
// error, so that errors.Is(err, rpctypes.ErrUnhealthy) and errors.As work.
type Error struct {
	// Endpoint is the normalised URL.
	Endpoint string
	Kind     Kind
	// Err is the original error. It holds no credentials.
	Err error
}

// Answer returns what the endpoint answered, without the endpoint: the kind,
// and what the original error adds to it.
func (e *Error) Answer() string {
	switch e.Kind {
	case Refused, NoRoute, PlainServer, AuthRequired, NoLogin, Learner, PermissionDenied, WrongPassword, StaleToken:
		return string(e.Kind)
	case Server:
		return e.Err.Error()
	case NotAsked:
		return string(e.Kind) + ": " + e.Err.Error()
	case DNS:
		if dns, ok := errors.AsType[*net.DNSError](e.Err); ok {
			return string(e.Kind) + " (" + dns.Name + ")"
		}
	}
	if why := reason(e.Err); why != "" {
		return string(e.Kind) + " (" + why + ")"
	}
	return string(e.Kind)
}

// Error implements error.
func (e *Error) Error() string { return e.Endpoint + ": " + e.Answer() }

// Unwrap returns the original error.
func (e *Error) Unwrap() error { return e.Err }

// KindOf returns the kind of the first [*Error] in err's tree, "" without one.
func KindOf(err error) Kind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return ""
}

// AttemptError is about a request to endpoint that got no answer, over any
// protocol; err says how it failed.
func AttemptError(endpoint string, err error) *Error {
	return &Error{Endpoint: endpoint, Kind: kindOfAttempt(err), Err: err}
}

// errLearner is the error value that clientv3 returns; rpctypes exports only
// the one of the wire.
var errLearner = rpctypes.Error(rpctypes.ErrGRPCNotSupportedForLearner)

// reason shortens an error to what the kind does not say already.
func reason(err error) string {
	if verification, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return verification.Err.Error()
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return ""
	}
	if s, ok := status.FromError(err); ok {
		return s.Message()
	}
	return err.Error()
}

// kindOfAttempt classifies what ended an attempt to connect.
func kindOfAttempt(err error) Kind {
	var (
		invalid x509.CertificateInvalidError
		op      *net.OpError
		timeout interface{ Timeout() bool }
	)
	switch {
	case errors.Is(err, ErrRedirect):
		return Redirected
	case errors.As(err, new(*net.DNSError)):
		return DNS
	case errors.As(err, new(x509.UnknownAuthorityError)):
		return UnknownCA
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return Expired
	case errors.As(err, new(x509.HostnameError)):
		return HostMismatch
	case errors.As(err, new(*tls.CertificateVerificationError)):
		return TLSOther
	case errors.As(err, new(tls.RecordHeaderError)):
		return PlainServer
	case errors.Is(err, syscall.ECONNREFUSED):
		return Refused
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return NoRoute
	case errors.As(err, &op) && op.Op == "remote error":
		// A TLS alert. Its type is not exported, its text is fixed.
		switch op.Err.Error() {
		case "tls: certificate required", "tls: bad certificate", "tls: unknown certificate authority",
			"tls: expired certificate", "tls: revoked certificate", "tls: unknown certificate",
			"tls: unsupported certificate":
			return ClientCert
		}
		return TLSOther
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded),
		errors.As(err, &timeout) && timeout.Timeout():
		return Timeout
	case errors.Is(err, errNotHTTP2), errors.Is(err, errClosed):
		return NotEtcd
	case errors.Is(err, errClosedTLS):
		return TLSOther
	}
	return Interrupted
}

// kindOfAnswer classifies what a request returned; ok is false where the error
// says nothing about the connection and did not come from a server.
func kindOfAnswer(err error) (kind Kind, ok bool) {
	switch {
	case errors.Is(err, rpctypes.ErrAuthFailed):
		return WrongPassword, true
	case errors.Is(err, rpctypes.ErrUserEmpty):
		return AuthRequired, true
	case errors.Is(err, rpctypes.ErrInvalidAuthToken):
		return StaleToken, true
	case errors.Is(err, rpctypes.ErrPermissionDenied):
		return PermissionDenied, true
	case errors.Is(err, errLearner):
		return Learner, true
	case errors.Is(err, context.DeadlineExceeded):
		return Timeout, true
	case errors.As(err, new(rpctypes.EtcdError)):
		return Server, true
	}
	s, isStatus := status.FromError(err)
	if !isStatus {
		return "", false
	}
	switch s.Code() {
	case codes.DeadlineExceeded:
		return Timeout, true
	case codes.Unavailable, codes.Canceled:
		return Interrupted, true
	}
	if notGRPC(s) {
		return NotEtcd, true
	}
	return kindOfStatus(s), true
}

// notGRPC reports whether the status was made here, by gRPC, of an answer that
// is plain HTTP, or comes from a server that does not have etcd's services. The
// codes say nothing: etcd answers with Unknown whatever has no code of its own,
// and gRPC with Internal if a stream breaks.
func notGRPC(s *status.Status) bool {
	text := s.Message()
	if s.Code() == codes.Unimplemented && strings.Contains(text, "unknown service etcdserverpb.") {
		return true
	}
	return strings.Contains(text, "unexpected HTTP status code received from server") ||
		strings.Contains(text, "received unexpected content-type") ||
		strings.Contains(text, "malformed header: missing HTTP")
}

// loginError is err, the outcome of a login, as what it says of the cluster.
// heard is whether the server spoke at all.
func loginError(err error, heard bool) error {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return err
	}
	led := !slices.ContainsFunc([]error{rpctypes.ErrNoLeader, rpctypes.ErrTimeout, rpctypes.ErrTimeoutDueToLeaderFail, rpctypes.ErrTimeoutDueToConnectionLost},
		func(lost error) bool { return errors.Is(err, lost) })
	if led && (e.Kind != Timeout || !heard) {
		return err
	}
	return &Error{Endpoint: e.Endpoint, Kind: NoLogin, Err: e.Err}
}

// isEnded reports whether a call returned because its context had ended.
func isEnded(err error) bool {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return true
	}
	s, ok := status.FromError(err)
	return ok && (s.Code() == codes.Canceled || s.Code() == codes.DeadlineExceeded)
}

// kindOfStatus classifies what clientv3 passes on as it is: the end of a stream,
// and what servers up to 3.5 answer to defragmentation, snapshots and hashes.
func kindOfStatus(s *status.Status) Kind {
	switch {
	case s.Code() == codes.PermissionDenied, s.Message() == "auth: permission denied":
		return PermissionDenied
	case s.Message() == "auth: user name is empty":
		return AuthRequired
	case s.Message() == "auth: invalid auth token":
		return StaleToken
	default:
		return Server
	}
}
