// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package discovery is a client of the discovery clusters and discovery
// services through which the initial members of a cluster find each other. A
// token names one bootstrap. It holds the number of initial members and their
// registrations.
package discovery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/log"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// DefaultPrefix is the key under which a discovery cluster keeps its tokens.
// Members that use protocol v3 only look there.
const DefaultPrefix = "/_etcd/registry"

// Registry stores tokens. Its implementations are safe for concurrent use.
type Registry interface {
	// Create reserves token for size initial members and returns its location. It
	// returns an [*ExistsError] if the token exists, and an [*OthersError] if
	// other keys exist below its name. It changes neither. It returns an
	// [*UnsureError] if its time ends before it is known whether the token was
	// written. The same Create can then be repeated.
	//
	// Other errors are [*connection.Unreachable] and a refusal of the credentials
	// ([connection.IsDenied]). Both mean that nothing was written.
	Create(ctx context.Context, token string, size int) (Location, error)

	// Status returns the state of token. Errors: [ErrNotFound], [*BadSizeError]
	// (with the members of the Status set), [*connection.Unreachable], and a refusal
	// of the credentials.
	Status(ctx context.Context, token string) (Status, error)

	// Delete deletes token and its registrations, and no other key. Errors:
	// [*OthersError] (the token is deleted, other keys remain), [ErrNotFound],
	// [*connection.Unreachable], and a refusal of the credentials.
	Delete(ctx context.Context, token string) error
}

// ErrNotFound means that the discovery cluster answered and has no such token.
var ErrNotFound = errors.New("no such token")

// ExistsError means that the token already existed.
type ExistsError struct {
	// Size is the existing size, or 0 if it is not a number.
	Size int
}

// existsFor returns the error for an existing token with this size value.
func existsFor(value string) error {
	size, _ := parseSize(value) // 0 if it is not a number
	return &ExistsError{Size: size}
}

// Error implements error.
func (e *ExistsError) Error() string {
	return fmt.Sprintf("the token exists already, for size %d", e.Size)
}

// UnsureError means that a token may have been written: a request was sent, but
// no answer arrived.
type UnsureError struct {
	// Err holds the last error of each endpoint.
	Err error
}

// Error implements error.
func (e *UnsureError) Error() string {
	return fmt.Sprintf("the token may have been written: %v", e.Err)
}

// Unwrap returns the errors of the endpoints.
func (e *UnsureError) Unwrap() error { return e.Err }

// BadSizeError means that a token's size is not a valid number. A member that
// starts with such a token exits with "discovery: size key is bad".
type BadSizeError struct {
	// Value is the stored value, at most 64 bytes of it.
	Value string
}

// Error implements error.
func (e *BadSizeError) Error() string { return fmt.Sprintf("the size of the token is %q", e.Value) }

// Status is the state of one token.
type Status struct {
	// Size is the number of initial members.
	Size int
	// Members are the first Size registrations, in order of registration: they form
	// the cluster. A race can leave further registrations, which do not count.
	Members []Member
}

// Complete reports whether all initial members have registered. From then on
// other members are rejected ("discovery: cluster is full").
func (s Status) Complete() bool { return s.Size > 0 && len(s.Members) >= s.Size }

// registration is the stored registration of one member. A later registration
// has a greater created.
type registration struct {
	key, value string
	created    uint64
}

// statusOf returns the Status for the registrations of a token and the value of
// its size key, which is nil if the key does not exist.
func statusOf(ctx context.Context, all []registration, size *string) (s Status, err error) {
	slices.SortFunc(all, func(a, b registration) int { return cmp.Compare(a.created, b.created) })
	for _, r := range all {
		if m, ok := parseMember(path.Base(r.key), r.value); ok {
			s.Members = append(s.Members, m)
		}
	}
	if size == nil {
		return s, ErrNotFound
	}
	if s.Size, err = parseSize(*size); err != nil {
		return s, err
	}
	s.Members = s.Members[:min(len(s.Members), s.Size)]
	log.Debug(ctx, log.Discovery, "registrations read", "size", s.Size, "registered", len(s.Members))
	return s, nil
}

// Member is one registration.
type Member struct {
	// ID is the member's ID in the cluster that is formed.
	ID membership.MemberID
	// Name is the member's name.
	Name string
	// PeerURLs are the peer URLs that the member advertises, in its order.
	PeerURLs []string
}

// Verdict is a conclusion about the cluster of a token.
type Verdict int

const (
	// Unknown: the cluster may have formed. This is the zero value.
	Unknown Verdict = iota
	// Unformed: fewer members have registered than the smallest size of the
	// token, so none of them has formed the cluster.
	Unformed
	// Formed: every initial member has registered.
	Formed
)

// Judge decides from the answer of [Registry.Status]. least is the smallest
// size that the token is known to have had. Members that registered while the
// token had that size have formed their cluster, even if the size differs now.
//
// Only an answer about this token is evidence. A token that no longer exists
// may have been complete before it was deleted, and an error says nothing.
func Judge(s Status, err error, least int) Verdict {
	switch answered := err == nil || errors.As(err, new(*BadSizeError)); {
	case err == nil && s.Complete():
		return Formed
	case answered && len(s.Members) < least:
		return Unformed
	}
	return Unknown
}

// Open returns the [Registry] of a token: the discovery service at its base, or the discovery
// cluster at the endpoints of settings. It connects on first use.
func Open(settings connection.Settings, pool *connection.Pool, at Location) Registry {
	if at.Protocol == ByService {
		return newService(settings, at.Base, pool)
	}
	return &cluster{settings, pool, at}
}

// cluster is a [Registry] in the keys of an etcd cluster.
type cluster struct {
	settings connection.Settings
	pool     *connection.Pool
	at       Location
}

// with calls do with the keys at one endpoint, within the request timeout.
func (r *cluster) with(ctx context.Context, endpoint string, do func(context.Context, keys) error) error {
	if r.at.Protocol == V2 {
		return r.pool.V2(ctx, r.settings, endpoint, func(ctx context.Context, api connection.KeysV2) error { return do(ctx, keysV2{api, r.at.Prefix}) })
	}
	client, err := r.pool.Client(ctx, r.settings, endpoint)
	if err != nil {
		return err
	}
	return client.Do(ctx, func(ctx context.Context) error { return do(ctx, keysV3{client.KV, r.at.Prefix}) })
}

// keys are the keys of tokens at one endpoint, by one protocol.
type keys interface {
	// occupied returns an error if anything exists at the place of a token, or nil.
	occupied(ctx context.Context, token string) error
	// put creates the size of a token, without a time to live, because members may
	// wait for a long time. The error is an [*ExistsError] without a size if anything exists
	// at the place of the token. sent reports whether a failed attempt may have written the
	// size anyway.
	put(ctx context.Context, token string, size int) (sent bool, err error)
	// read returns the registrations of a token, and its size, nil if there is none.
	read(ctx context.Context, token string) (all []registration, size *string, err error)
	// remove deletes the size of a token, and then its registrations: if the rest
	// fails, what is left never looks like a token with fewer registrations. deleted
	// reports whether a key may have been deleted. The error is an [*OthersError] if
	// keys stay that are not the token's.
	remove(ctx context.Context, token string) (deleted bool, err error)
}

// The limits of the operations, each for all endpoints together.
const (
	createLimit = time.Minute
	readLimit   = 20 * time.Second
	deleteLimit = 30 * time.Second
)

// retryAfter is the pause before a Create with an unknown outcome is retried at
// all endpoints.
const retryAfter = time.Second

// Create implements [Registry]. It tries the endpoints in order until one creates
// the token. After a lost answer, it retries all endpoints until its time is over. If it then
// finds the token with the same size, this call wrote it, because it found nothing
// before.
func (r *cluster) Create(ctx context.Context, token string, size int) (Location, error) {
	ctx, cancel := context.WithTimeout(ctx, createLimit)
	defer cancel()
	made, unsure := r.at, false
	made.Token = token
	for {
		err := connection.Try(ctx, r.settings.Endpoints, func(err error) bool { return errors.As(err, new(*ExistsError)) || !unsure && isAnswer(err) }, func(endpoint string) error {
			return r.with(ctx, endpoint, func(ctx context.Context, k keys) error {
				// Read first, so that a token found after a lost answer is known to
				// come from this call. This also shows whether the endpoint answers
				// before anything is written.
				if err := k.occupied(ctx, token); err != nil {
					return err
				}
				sent, err := k.put(ctx, token, size)
				unsure = unsure || sent
				if errors.As(err, new(*ExistsError)) { // another call was faster
					return cmp.Or(k.occupied(ctx, token), err)
				}
				return err
			})
		})
		exists, found := errors.AsType[*ExistsError](err)
		switch {
		case err == nil, found && unsure && exists.Size == size:
			return made, nil
		case found || !unsure:
			return Location{}, err
		}
		log.Debug(ctx, log.Discovery, "creating the token again", "error", err)
		if r.settings.Time().Sleep(ctx, retryAfter) != nil {
			return made, &UnsureError{err}
		}
	}
}

// Status implements [Registry].
func (r *cluster) Status(ctx context.Context, token string) (s Status, err error) {
	ctx, cancel := context.WithTimeout(ctx, readLimit)
	defer cancel()
	err = r.first(ctx, func(ctx context.Context, k keys) error {
		all, size, err := k.read(ctx, token)
		if err != nil {
			return err
		}
		s, err = statusOf(ctx, all, size)
		return err
	})
	return s, err
}

// Delete implements [Registry].
func (r *cluster) Delete(ctx context.Context, token string) error {
	ctx, cancel := context.WithTimeout(ctx, deleteLimit)
	defer cancel()
	tried := false
	return r.first(ctx, func(ctx context.Context, k keys) error {
		deleted, err := k.remove(ctx, token)
		tried = tried || deleted
		if err == nil && !tried {
			return ErrNotFound
		}
		return err
	})
}

// first calls do with the keys at each endpoint until one answers.
func (r *cluster) first(ctx context.Context, do func(context.Context, keys) error) error {
	return connection.Try(ctx, r.settings.Endpoints, isAnswer, func(endpoint string) error { return r.with(ctx, endpoint, do) })
}

// isAnswer reports whether an error is about the token or the user, so that other endpoints
// would return it too.
func isAnswer(err error) bool {
	switch {
	case errors.Is(err, ErrNotFound), errors.As(err, new(*BadSizeError)), errors.As(err, new(*ExistsError)), errors.As(err, new(*OthersError)), connection.IsDenied(err):
		return true
	}
	return false
}
