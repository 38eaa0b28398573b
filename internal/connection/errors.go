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

// Kind says what an endpoint answered, or why it did not. Package text has
// advice for each kind.
type Kind string

// The kinds. Users read their text as the endpoint's answer.
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
	// PlainServer: the endpoint is https, but the server does not speak TLS.
	PlainServer Kind = "server does not speak TLS"
	// ClientCert: the server refuses the client's certificate, or asks for one
	// although none is configured.
	ClientCert Kind = "server refuses the client certificate"
	// TLSOther: any other failure of the TLS handshake.
	TLSOther Kind = "TLS handshake failed"
	// NotEtcd: the server does not speak the etcd protocol, or expects TLS
	// although the scheme of the endpoint is http.
	NotEtcd Kind = "not an etcd server, or one that expects https"
	// WrongPassword: the server has no such user, or the password is wrong.
	WrongPassword Kind = "wrong user name or password"
	// AuthRequired: the server requires credentials and received none.
	AuthRequired Kind = "credentials required"
	// NoLogin: the server answers but does not complete the login, which needs
	// a quorum. Nothing else was sent.
	NoLogin Kind = "the login does not complete; it needs a quorum"
	// StaleToken: the server does not recognise the token of a previous
	// authentication. The next call authenticates again.
	StaleToken Kind = "authentication no longer valid"
	// PermissionDenied: the user exists but lacks the permission. Membership
	// requires the root role.
	PermissionDenied Kind = "permission denied"
	// Learner: the endpoint is a learner, which serves only its status and
	// serializable reads.
	Learner Kind = "endpoint is a learner"
	// Interrupted: the connection broke during a request, which may still be
	// carried out.
	Interrupted Kind = "connection lost"
	// NotAsked: nothing was sent, because the credentials must not go there.
	// See [Refusal].
	NotAsked Kind = "not asked"
	// Redirected: the server redirects the request, which is not followed.
	Redirected Kind = "redirects elsewhere"
	// Server: the server answered with an error that does not concern the
	// connection. Compare it with rpctypes.Err... through errors.Is.
	Server Kind = "server error"
)

// Error says why a request to one endpoint failed. Unwrap returns the original
// error, so errors.Is(err, rpctypes.ErrUnhealthy) and errors.As work.
type Error struct {
	// Endpoint is the normalised URL.
	Endpoint string
	Kind     Kind
	// Err is the original error. It contains no credentials.
	Err error
}

// Answer returns what the endpoint answered, without the endpoint: the kind and
// the details of the original error.
func (e *Error) Answer() string {
	if v2, ok := errors.AsType[answerV2](e.Err); ok {
		return v2.Error() // the v2 API does not say which kind it is
	}
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

// KindOf returns the kind of the first [*Error] in err's tree, or "".
func KindOf(err error) Kind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return ""
}

// IsDenied reports whether err means that credentials are missing, wrong or
// insufficient.
func IsDenied(err error) bool {
	return slices.Contains([]Kind{WrongPassword, AuthRequired, StaleToken, PermissionDenied}, KindOf(err))
}

// AttemptError returns the error of a request to endpoint that got no answer,
// over any protocol. err says how it failed.
func AttemptError(endpoint string, err error) *Error {
	return &Error{Endpoint: endpoint, Kind: kindOfAttempt(err), Err: err}
}

// reason returns the part of an error that the kind does not already say.
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

// kindOfAttempt classifies the error of an attempt to connect.
func kindOfAttempt(err error) Kind {
	invalid, _ := errors.AsType[x509.CertificateInvalidError](err)
	op, failed := errors.AsType[*net.OpError](err)
	timed, _ := errors.AsType[interface {
		error
		Timeout() bool
	}](err)
	switch {
	case errors.As(err, new(RedirectError)):
		return Redirected
	case errors.As(err, new(*net.DNSError)):
		return DNS
	case errors.As(err, new(x509.UnknownAuthorityError)):
		return UnknownCA
	case invalid.Reason == x509.Expired:
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
	case failed && op.Op == "remote error":
		// This is a TLS alert. Its type is not exported, but its text is fixed.
		switch op.Err.Error() {
		case "tls: certificate required", "tls: bad certificate", "tls: unknown certificate authority",
			"tls: expired certificate", "tls: revoked certificate", "tls: unknown certificate",
			"tls: unsupported certificate":
			return ClientCert
		}
		return TLSOther
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded),
		timed != nil && timed.Timeout():
		return Timeout
	case errors.Is(err, errNotHTTP2), errors.Is(err, errClosed):
		return NotEtcd
	case errors.Is(err, errClosedTLS):
		return TLSOther
	}
	return Interrupted
}

// answers are errors of requests, and their kinds.
var answers = []struct {
	err  error
	kind Kind
}{
	{rpctypes.ErrAuthFailed, WrongPassword},
	{rpctypes.ErrUserEmpty, AuthRequired},
	{rpctypes.ErrInvalidAuthToken, StaleToken},
	{rpctypes.ErrPermissionDenied, PermissionDenied},
	// The value that clientv3 returns: rpctypes exports only the gRPC status error.
	{rpctypes.Error(rpctypes.ErrGRPCNotSupportedForLearner), Learner},
	{context.DeadlineExceeded, Timeout},
}

// kindOfAnswer classifies the error of a request. ok is false if the error says
// nothing about the connection and did not come from a server. Some errors are not
// converted by clientv3: the end of a stream, and what servers up to 3.5 answer to
// defragmentation, snapshots and hashes.
func kindOfAnswer(err error) (kind Kind, ok bool) {
	for _, known := range answers {
		if errors.Is(err, known.err) {
			return known.kind, true
		}
	}
	if errors.As(err, new(rpctypes.EtcdError)) {
		return Server, true
	}
	s, isStatus := status.FromError(err)
	switch {
	case !isStatus:
		return "", false
	case s.Code() == codes.DeadlineExceeded:
		return Timeout, true
	case s.Code() == codes.Unavailable, s.Code() == codes.Canceled:
		return Interrupted, true
	case notGRPC(s):
		return NotEtcd, true
	case s.Code() == codes.PermissionDenied, s.Message() == "auth: permission denied":
		return PermissionDenied, true
	case s.Message() == "auth: user name is empty":
		return AuthRequired, true
	case s.Message() == "auth: invalid auth token":
		return StaleToken, true
	}
	return Server, true
}

// notGRPC reports whether gRPC itself made the status from a plain HTTP answer,
// or the server does not have etcd's services. The codes do not tell: etcd
// returns Unknown for errors without a code of their own, and gRPC returns
// Internal if a stream breaks.
func notGRPC(s *status.Status) bool {
	text := s.Message()
	of := []string{"unexpected HTTP status code received from server", "received unexpected content-type", "malformed header: missing HTTP"}
	unknown := s.Code() == codes.Unimplemented && strings.Contains(text, "unknown service etcdserverpb.")
	return unknown || slices.ContainsFunc(of, func(part string) bool { return strings.Contains(text, part) })
}

// loginError returns err, the error of a login, with kind [NoLogin] if the
// cluster lacks a quorum. heard is whether the server ever answered.
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

// isEnded reports whether a call returned because its context ended.
func isEnded(err error) bool {
	ended := errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
	return ended || status.Code(err) == codes.Canceled || status.Code(err) == codes.DeadlineExceeded
}
