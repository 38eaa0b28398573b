// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package cluster

import (
	"cmp"
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
		{ErrLearnerSlotTaken, []error{rpctypes.ErrTooManyLearners}},
		{errRefused, []error{
			rpctypes.ErrMemberNotEnoughStarted, rpctypes.ErrMemberLearnerNotReady, rpctypes.ErrMemberNotLearner,
			rpctypes.ErrMemberExist, rpctypes.ErrPeerURLExist,
		}},
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
		if slices.ContainsFunc(known.is, func(e error) bool { return errors.Is(err, e) }) {
			return known.err
		}
	}
	// Some releases send "not enough started members" with the code Unknown,
	// which is not an EtcdError. The same holds for the answer of a leader that
	// is about to move the leadership.
	text := err.Error()
	switch {
	case strings.Contains(text, "not enough started members"):
		return errRefused
	case strings.Contains(text, "unhealthy cluster"):
		return ErrUnhealthy
	case strings.Contains(text, "raft proposal dropped"):
		return ErrAmbiguous
	}
	kind := connection.KindOf(err)
	if kind == connection.Server && status.Code(err) == codes.Internal {
		return ErrAmbiguous // gRPC itself reports a broken stream this way
	}
	return meanings[kind].sentinel
}

// unsure returns err as the answer to a change. etcd uses the code Unknown for
// errors without a code, and some of these changes may have been made.
func unsure(err error) error {
	uncoded := connection.KindOf(err) == connection.Server && status.Code(err) == codes.Unknown
	if uncoded && sentinel(err) == nil {
		return fmt.Errorf("%w: %w", ErrAmbiguous, err)
	}
	return translate(err)
}

// said is what the errors of endpoints say about the servers there, as a set.
type said uint8

const (
	// nothing: nothing was heard there.
	nothing said = 1 << iota
	// notAskedThere: nothing was sent, because the credentials must not go there.
	notAskedThere
	// refusesUs: the server refuses the credentials or the certificate, its certificate
	// is not trusted, or the user lacks the permission.
	refusesUs
	// aLearner: the server is a learner.
	aLearner
	// noQuorum: the login does not complete, so the server has no quorum.
	noQuorum
	// aServer may be a member with a quorum, such as one with an unknown error.
	aServer

	silence = nothing | notAskedThere
)

// meanings are what the kinds of error say about a server, and their sentinels.
var meanings = map[connection.Kind]struct {
	said     said
	sentinel error
}{
	connection.Refused:          {nothing, ErrAmbiguous},
	connection.NoRoute:          {nothing, ErrAmbiguous},
	connection.Timeout:          {nothing, ErrAmbiguous},
	connection.DNS:              {nothing, nil},
	connection.NotAsked:         {notAskedThere, nil},
	connection.WrongPassword:    {refusesUs, ErrPermission},
	connection.AuthRequired:     {refusesUs, ErrPermission},
	connection.PermissionDenied: {refusesUs, ErrPermission},
	connection.UnknownCA:        {refusesUs, nil},
	connection.Expired:          {refusesUs, nil},
	connection.HostMismatch:     {refusesUs, nil},
	connection.ClientCert:       {refusesUs, nil},
	connection.PlainServer:      {refusesUs, nil},
	connection.Learner:          {aLearner, ErrAmbiguous},
	connection.NoLogin:          {noQuorum, ErrAmbiguous},
	connection.Interrupted:      {aServer, ErrAmbiguous},
	connection.StaleToken:       {aServer, ErrAmbiguous},
}

// saidBy classifies the error of an endpoint, or of several.
func saidBy(err error) (all said) {
	if gone, ok := errors.AsType[*connection.Unreachable](err); ok {
		for _, a := range gone.Answers {
			all |= saidBy(a.Err)
		}
		return all
	}
	kind := connection.KindOf(err)
	switch ended := errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled); {
	case errors.Is(err, ErrPermission), errors.Is(err, ErrBadURL):
		return refusesUs
	case kind == "" && ended:
		return nothing // the time was over before anything was sent
	}
	return cmp.Or(meanings[kind].said, aServer)
}

// isSilent reports whether an error of an endpoint shows no server. It shows nothing if
// nobody was asked.
func isSilent(err error) bool {
	all := saidBy(err)
	return all != 0 && all&^silence == 0
}

// Hopeless reports whether waiting cannot help: all endpoints that answered refuse the
// provider, or no endpoint may be asked.
func Hopeless(err error) bool {
	all := saidBy(err)
	return all == notAskedThere || all&^silence == refusesUs
}

// TurnedAway reports whether endpoints answered, but only about the provider's
// access or about themselves, not about whether a cluster exists.
func TurnedAway(err error) bool {
	return Hopeless(err) || errors.As(err, new(*connection.Unreachable)) && saidBy(err)&aLearner != 0
}

// MayServe reports whether the errors of the endpoints show a server that may be
// part of a cluster with a quorum.
func MayServe(err error) bool {
	all := saidBy(err)
	serves := all&(aServer|refusesUs) != 0 || all&(aLearner|noQuorum) == aLearner
	return serves && errors.As(err, new(*connection.Unreachable))
}
