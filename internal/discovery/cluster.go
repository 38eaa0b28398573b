// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discovery

import (
	"context"
	"errors"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/log"
)

// Cluster is a [Registry] in the keys of an etcd cluster. The zero value is not usable:
// see [NewV2] and [NewV3].
type Cluster struct {
	settings connection.Settings
	sleep    func(context.Context, time.Duration) error
	// at calls do with the keys at one endpoint, within the request timeout.
	at func(ctx context.Context, endpoint string, do func(context.Context, keys) error) error
}

// keys are the keys of tokens at one endpoint, by one protocol.
type keys interface {
	// occupied returns an error if anything exists at the place of a token, or nil.
	occupied(ctx context.Context, token string) error
	// put creates the size of a token, without a time to live, because members may
	// wait for a long time. It fails if anything exists at the place of the token. sent
	// reports whether a failed attempt may have written the size anyway.
	put(ctx context.Context, token string, size int) (sent bool, err error)
	// read returns the registrations of a token, and its size, nil if there is none.
	read(ctx context.Context, token string) (all []registration, size *string, err error)
	// remove deletes the size of a token, and then its registrations: if the rest
	// fails, what is left never looks like a token with fewer registrations. deleted
	// reports whether a key may have been deleted. The error is an [*OthersError] if
	// keys stay that are not the token's.
	remove(ctx context.Context, token string) (deleted bool, err error)
}

// retryAfter is the pause before a Create with an unknown outcome is retried at
// all endpoints.
const retryAfter = time.Second

// Create implements [Registry]. It tries the endpoints in order until one creates
// the token. After a lost answer, it retries all endpoints until ctx ends. If it then
// finds the token with the same size, this call wrote it, because it found nothing
// before.
func (r *Cluster) Create(ctx context.Context, token string, size int) (Place, error) {
	place, unsure := Place{Token: token}, false
	for {
		err := connection.Try(ctx, r.settings.Endpoints, func(err error) bool {
			return is[*ExistsError](err) || !unsure && (connection.IsDenied(err) || is[*OthersError](err))
		}, func(endpoint string) error {
			return r.at(ctx, endpoint, func(ctx context.Context, k keys) error {
				// Read first, so that a token found after a lost answer is known to
				// come from this call. This also shows whether the endpoint answers
				// before anything is written.
				if err := k.occupied(ctx, token); err != nil {
					return err
				}
				sent, err := k.put(ctx, token, size)
				unsure = unsure || sent
				return err
			})
		})
		exists, found := errors.AsType[*ExistsError](err)
		switch {
		case err == nil, found && unsure && exists.Size == size:
			return place, nil
		case found || !unsure:
			return Place{}, err
		}
		log.Debug(ctx, log.Discovery, "creating the token again", "error", err)
		if r.sleep(ctx, retryAfter) != nil {
			return Place{}, &UnsureError{Place: place, Err: err}
		}
	}
}

// Status implements [Registry].
func (r *Cluster) Status(ctx context.Context, token string) (Status, error) {
	var s Status
	err := r.first(ctx, func(ctx context.Context, k keys) error {
		all, size, err := k.read(ctx, token)
		if err != nil {
			return err
		}
		s, err = statusOf(all, size)
		return err
	})
	s.log(ctx, err)
	return s, err
}

// Delete implements [Registry].
func (r *Cluster) Delete(ctx context.Context, token string) error {
	tried := false
	return r.first(ctx, func(ctx context.Context, k keys) error {
		deleted, err := k.remove(ctx, token)
		if tried = tried || deleted; err == nil && !tried {
			return ErrNotFound
		}
		return err
	})
}

// first calls do with the keys at each endpoint until one answers.
func (r *Cluster) first(ctx context.Context, do func(context.Context, keys) error) error {
	return connection.Try(ctx, r.settings.Endpoints, func(err error) bool {
		return errors.Is(err, ErrNotFound) || is[*BadSizeError](err) || connection.IsDenied(err) || is[*OthersError](err)
	}, func(endpoint string) error { return r.at(ctx, endpoint, do) })
}

// is reports whether err's tree contains an error of type E.
func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}
