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

// retryAfter is the pause before a Create with an unknown outcome is retried at
// all endpoints.
const retryAfter = time.Second

// attempts tries the endpoints of a discovery cluster in order.
type attempts struct {
	settings connection.Settings
	sleep    func(context.Context, time.Duration) error
}

func newAttempts(s connection.Settings) attempts { return attempts{s, s.Time().Sleep} }

// create calls do with each endpoint until one creates the token. do reads the
// token first. If do fails, sent reports whether the token may have been
// written anyway.
//
// After a lost answer, create retries all endpoints until ctx ends. If it then
// finds the token with the same size, this call wrote it, because do found
// nothing before.
func (a attempts) create(ctx context.Context, place Place, size int, do func(ctx context.Context, endpoint string) (sent bool, err error)) (Place, error) {
	unsure := false
	for {
		err := connection.Try(ctx, a.settings.Endpoints, func(err error) bool {
			return is[*ExistsError](err) || !unsure && (connection.IsDenied(err) || is[*OthersError](err))
		}, func(endpoint string) error {
			sent, err := do(ctx, endpoint)
			unsure = unsure || sent
			return err
		})
		exists, found := errors.AsType[*ExistsError](err)
		switch {
		case err == nil, found && unsure && exists.Size == size:
			return place, nil
		case found || !unsure:
			return Place{}, err
		}
		log.Debug(ctx, log.Discovery, "creating the token again", "error", err)
		if a.sleep(ctx, retryAfter) != nil {
			return Place{}, &UnsureError{Place: place, Err: err}
		}
	}
}

// first calls do with each endpoint until one answers.
func (a attempts) first(ctx context.Context, do func(endpoint string) error) error {
	return connection.Try(ctx, a.settings.Endpoints, func(err error) bool {
		return errors.Is(err, ErrNotFound) || is[*BadSizeError](err) || connection.IsDenied(err) || is[*OthersError](err)
	}, do)
}

// is reports whether err's tree contains an error of type E.
func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}
