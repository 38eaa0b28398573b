// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package cluster

import (
	"context"
	"errors"
	"slices"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
)

// said is what the error of an endpoint says about the server there. The zero value is
// a server that may be a member with a quorum, such as one with an unknown error.
type said uint8

const (
	aServer said = iota
	// nothing: nothing was heard there.
	nothing
	// notAskedThere: nothing was sent, because the credentials must not go there.
	notAskedThere
	// refusesUs: the server refuses the credentials or the certificate, its certificate
	// is not trusted, or the user lacks the permission.
	refusesUs
	// aLearner: the server is a learner.
	aLearner
	// noQuorum: the login does not complete, so the server has no quorum.
	noQuorum
)

// saidBy classifies the error of an endpoint.
func saidBy(err error) said {
	switch connection.KindOf(err) {
	case connection.Refused, connection.NoRoute, connection.Timeout, connection.DNS:
		return nothing
	case connection.NotAsked:
		return notAskedThere
	case connection.WrongPassword, connection.AuthRequired, connection.PermissionDenied,
		connection.UnknownCA, connection.Expired, connection.HostMismatch, connection.ClientCert, connection.PlainServer:
		return refusesUs
	case connection.Learner:
		return aLearner
	case connection.NoLogin:
		return noQuorum
	}
	switch {
	case errors.Is(err, ErrPermission), errors.Is(err, ErrBadURL):
		return refusesUs
	case connection.KindOf(err) == "" && (errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)):
		return nothing // the time was over before anything was sent
	default:
		return aServer
	}
}

// isSilent reports whether an error of an endpoint shows no server.
func isSilent(err error) bool { return slices.Contains([]said{nothing, notAskedThere}, saidBy(err)) }

// allSaid returns what each endpoint said.
func allSaid(err error) (out []said) {
	gone, ok := errors.AsType[*connection.Unreachable](err)
	if !ok {
		return []said{saidBy(err)}
	}
	for _, a := range gone.Answers {
		out = append(out, saidBy(a.Err))
	}
	return out
}

// Hopeless reports whether waiting cannot help: all endpoints that answered refuse the
// provider, or no endpoint may be asked.
func Hopeless(err error) bool {
	all := allSaid(err)
	answered := slices.DeleteFunc(slices.Clone(all), func(s said) bool { return s == nothing || s == notAskedThere })
	if len(answered) == 0 {
		return len(all) > 0 && !slices.Contains(all, nothing)
	}
	return !slices.ContainsFunc(answered, func(s said) bool { return s != refusesUs })
}

// TurnedAway reports whether endpoints answered, but only about the provider's
// access or about themselves, not about whether a cluster exists.
func TurnedAway(err error) bool {
	return Hopeless(err) || errors.As(err, new(*connection.Unreachable)) && slices.Contains(allSaid(err), aLearner)
}

// MayServe reports whether the errors of the endpoints show a server that may be
// part of a cluster with a quorum.
func MayServe(err error) bool {
	all := allSaid(err)
	serves := []said{aServer, refusesUs}
	if !slices.Contains(all, noQuorum) {
		serves = append(serves, aLearner)
	}
	return errors.As(err, new(*connection.Unreachable)) && slices.ContainsFunc(all, func(s said) bool { return slices.Contains(serves, s) })
}
