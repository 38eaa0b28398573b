// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discovery

import (
	"context"
	"errors"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/clock"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/log"
)

// retryAfter is the pause before a Create whose outcome is unknown is tried
// again at all endpoints.
const retryAfter = time.Second

// attempts is what a registry with several endpoints does with them: it tries
// one after the other.
type attempts struct {
	settings connection.Settings
	sleep    func(context.Context, time.Duration) error
}

func newAttempts(s connection.Settings) attempts { return attempts{s, clock.System{}.Sleep} }

// create calls do at one endpoint after the other, until one creates the
// token. do looks for the token first; where it fails, sent says that the
// token may have been written all the same.
//
// After an answer that was lost, all endpoints are tried again as long as ctx
// lasts. A token that is then found with the same size is this call's own,
// since the look before it found nothing.
func (a attempts) create(ctx context.Context, place Place, size int, do func(ctx context.Context, endpoint string) (sent bool, err error)) (Place, error) {
	unsure := false
	for {
		err := connection.Try(ctx, a.settings.Endpoints, func(err error) bool {
			return is[*ExistsError](err) || !unsure && (is[*DeniedError](err) || is[*OthersError](err))
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

// first calls do at one endpoint after the other, until one answers.
func (a attempts) first(ctx context.Context, do func(endpoint string) error) error {
	return connection.Try(ctx, a.settings.Endpoints, func(err error) bool {
		return errors.Is(err, ErrNotFound) || is[*BadSizeError](err) || is[*DeniedError](err) || is[*OthersError](err)
	}, do)
}

// is reports whether an error is of a type.
func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}
