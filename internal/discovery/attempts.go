// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discovery

import (
	"context"
	"errors"
	"time"
)

// retryAfter is the pause before a Create whose outcome is unknown is tried
// again at all endpoints.
const retryAfter = time.Second

// attempts is what a registry with several endpoints does with them: it tries
// one after the other.
type attempts struct {
	endpoints []string
	sleep     func(context.Context, time.Duration) error
}

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
		var answers []Answer
		for _, endpoint := range a.endpoints {
			sent, err := do(ctx, endpoint)
			var exists *ExistsError
			var denied *DeniedError
			switch {
			case err == nil:
				return place, nil
			case errors.As(err, &exists):
				if unsure && exists.Size == size {
					return place, nil
				}
				return Place{}, exists
			case errors.As(err, &denied) && !unsure:
				return Place{}, denied
			case errors.Is(err, ErrOthers) && !unsure:
				return Place{}, err
			}
			unsure = unsure || sent
			answers = append(answers, Answer{Endpoint: endpoint, Err: err})
		}
		unreachable := &UnreachableError{Answers: answers}
		if !unsure {
			return Place{}, unreachable
		}
		if a.sleep(ctx, retryAfter) != nil {
			return Place{}, &UnsureError{Place: place, Err: unreachable}
		}
	}
}

// first calls do at one endpoint after the other, until one answers.
func (a attempts) first(do func(endpoint string) error) error {
	var answers []Answer
	for _, endpoint := range a.endpoints {
		err := do(endpoint)
		if err == nil || errors.Is(err, ErrNotFound) || errors.Is(err, ErrBadSize) || errors.Is(err, ErrDenied) || errors.Is(err, ErrOthers) {
			return err
		}
		answers = append(answers, Answer{Endpoint: endpoint, Err: err})
	}
	return &UnreachableError{Answers: answers}
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
