// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
)

// translate puts the sentinel for err in front of it. clientv3 returns
// rpctypes.EtcdError values, so the comparison is with rpctypes.ErrX and never
// with rpctypes.ErrGRPCX. Some refusals reach the client with code Unknown and
// are told apart by their text.
func translate(err error) error {
	if err == nil {
		return nil
	}
	if s := sentinel(err); s != nil {
		return fmt.Errorf("%w: %w", s, err)
	}
	return err
}

func sentinel(err error) error {
	for _, known := range []struct {
		err error
		is  []error
	}{
		{ErrUnhealthy, []error{rpctypes.ErrUnhealthy}},
		{errNotEnoughStarted, []error{rpctypes.ErrMemberNotEnoughStarted}},
		{ErrLearnerSlotTaken, []error{rpctypes.ErrTooManyLearners}},
		{errNotInSync, []error{rpctypes.ErrMemberLearnerNotReady}},
		{errNotLearner, []error{rpctypes.ErrMemberNotLearner}},
		{errExists, []error{rpctypes.ErrMemberExist, rpctypes.ErrPeerURLExist}},
		{ErrNotFound, []error{rpctypes.ErrMemberNotFound}},
		{ErrBadURL, []error{rpctypes.ErrMemberBadURLs}},
		{ErrAlarm, []error{rpctypes.ErrNoSpace, rpctypes.ErrCorrupt}},
		{ErrPermission, []error{rpctypes.ErrPermissionDenied, rpctypes.ErrUserEmpty, rpctypes.ErrPermissionNotGranted}},
		{ErrAmbiguous, []error{
			rpctypes.ErrNoLeader, rpctypes.ErrLeaderChanged, rpctypes.ErrNotLeader, rpctypes.ErrStopped,
			rpctypes.ErrTimeout, rpctypes.ErrTimeoutDueToLeaderFail, rpctypes.ErrTimeoutDueToConnectionLost,
			rpctypes.ErrTimeoutWaitAppliedIndex, rpctypes.ErrTooManyRequests, context.DeadlineExceeded, context.Canceled, io.EOF,
		}},
	} {
		for _, e := range known.is {
			if errors.Is(err, e) {
				return known.err
			}
		}
	}
	// On the wire, "not enough started members" carries the code Unknown on
	// some releases, and is then no EtcdError. So does what a leader answers
	// that is about to hand leadership over.
	text := err.Error()
	switch {
	case strings.Contains(text, "not enough started members"):
		return errNotEnoughStarted
	case strings.Contains(text, "unhealthy cluster"):
		return ErrUnhealthy
	case strings.Contains(text, "raft proposal dropped"):
		return ErrAmbiguous
	}
	switch connection.KindOf(err) {
	case connection.WrongPassword, connection.AuthRequired, connection.PermissionDenied:
		return ErrPermission
	case connection.Timeout, connection.Interrupted, connection.Refused, connection.NoRoute,
		connection.StaleToken, connection.NoLogin, connection.Learner:
		return ErrAmbiguous
	case connection.Server:
		// gRPC's own word on a stream that broke.
		if status.Code(err) == codes.Internal {
			return ErrAmbiguous
		}
	}
	return nil
}

// unsure is err as the answer to a change: etcd gives the code Unknown to
// whatever has no code of its own, and some of that may have been carried out.
func unsure(err error) error {
	if err != nil && sentinel(err) == nil && connection.KindOf(err) == connection.Server && status.Code(err) == codes.Unknown {
		return fmt.Errorf("%w: %w", ErrAmbiguous, err)
	}
	return translate(err)
}

// Hopeless reports whether waiting cannot help: of those who answered at all,
// everyone refused the credentials or the certificate, or offered one that
// cannot be trusted; or no endpoint may be asked.
func Hopeless(err error) bool {
	gone, ok := errors.AsType[*connection.Unreachable](err)
	if !ok {
		return refusesUs(err) || connection.KindOf(err) == connection.NotAsked
	}
	refused, notAsked := 0, 0
	for _, e := range gone.Answers {
		switch {
		case connection.KindOf(e.Err) == connection.NotAsked:
			notAsked++
		case refusesUs(e.Err):
			refused++
		case connection.KindOf(e.Err) == connection.NotEtcd, connection.KindOf(e.Err) == connection.Server:
			return false
		}
	}
	return refused > 0 || notAsked > 0 && notAsked == len(gone.Answers)
}

// Answered reports whether an etcd server is certain to have answered at one of
// the endpoints, although no member list came: it asks for other credentials, or
// is a learner. A TLS handshake that failed may have been with anything.
func Answered(err error) bool {
	kinds := []connection.Kind{
		connection.WrongPassword, connection.AuthRequired, connection.PermissionDenied, connection.StaleToken, connection.NoLogin, connection.Learner,
	}
	var gone *connection.Unreachable
	return errors.As(err, &gone) && slices.ContainsFunc(gone.Answers, func(e connection.Answer) bool {
		return slices.Contains(kinds, connection.KindOf(e.Err))
	})
}

// MayServe reports whether an etcd server answered that may be one of a cluster
// with a quorum: it refuses this provider. Who completes no login has none.
func MayServe(err error) bool {
	var gone *connection.Unreachable
	return errors.As(err, &gone) && Answered(err) && !slices.ContainsFunc(gone.Answers, func(e connection.Answer) bool {
		return connection.KindOf(e.Err) == connection.NoLogin
	})
}

// TurnedAway reports whether endpoints answered, and what they said is about us
// or about which endpoints these are, rather than about there being a cluster.
func TurnedAway(err error) bool {
	var gone *connection.Unreachable
	return Hopeless(err) || errors.As(err, &gone) && slices.ContainsFunc(gone.Answers, func(e connection.Answer) bool {
		return connection.KindOf(e.Err) == connection.Learner
	})
}

func refusesUs(err error) bool {
	if errors.Is(err, ErrPermission) || errors.Is(err, ErrBadURL) {
		return true
	}
	switch connection.KindOf(err) {
	case connection.WrongPassword, connection.AuthRequired, connection.PermissionDenied,
		connection.UnknownCA, connection.Expired, connection.HostMismatch, connection.ClientCert, connection.PlainServer:
		return true
	default:
		return false
	}
}
