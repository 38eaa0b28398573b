// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
)

// translate wraps err with its sentinel. clientv3 returns rpctypes.EtcdError
// values, so the comparison is with rpctypes.ErrX, never with
// rpctypes.ErrGRPCX. Some refusals reach the client with the code Unknown and
// are recognised by their text.
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
	// Some releases send "not enough started members" with the code Unknown,
	// which is not an EtcdError. The same holds for the answer of a leader that
	// is about to move the leadership.
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
		// gRPC itself reports a broken stream this way.
		if status.Code(err) == codes.Internal {
			return ErrAmbiguous
		}
	}
	return nil
}

// unsure returns err as the answer to a change. etcd uses the code Unknown for
// errors without a code, and some of these changes may have been made.
func unsure(err error) error {
	if err != nil && sentinel(err) == nil && connection.KindOf(err) == connection.Server && status.Code(err) == codes.Unknown {
		return fmt.Errorf("%w: %w", ErrAmbiguous, err)
	}
	return translate(err)
}
