// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package connection

import (
	"context"
	"strings"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/log"
)

// Answer is the error that one endpoint returned.
type Answer struct {
	Endpoint string
	Err      error
}

// String returns the endpoint, once, and its error.
func (a Answer) String() string {
	if text := a.Err.Error(); strings.HasPrefix(text, a.Endpoint+": ") {
		return text
	}
	return a.Endpoint + ": " + a.Err.Error()
}

// Unreachable means that no endpoint gave a usable answer.
type Unreachable struct {
	// Answers are the errors of all endpoints, in the order they were tried.
	Answers []Answer
}

// Error implements error. It lists every endpoint with its error.
func (u *Unreachable) Error() string {
	text := "no endpoint answered"
	for _, a := range u.Answers {
		text += "; " + a.String()
	}
	return text
}

// Unwrap returns the errors, so that errors.Is and errors.As examine them.
func (u *Unreachable) Unwrap() []error {
	out := make([]error, len(u.Answers))
	for i, a := range u.Answers {
		out[i] = a.Err
	}
	return out
}

// Try calls f with each endpoint until the result is final: no error, or an
// error that final accepts. It returns that result, or an [*Unreachable] with
// all endpoints that were tried before ctx ended.
func Try(ctx context.Context, endpoints []string, final func(error) bool, f func(endpoint string) error) error {
	gone := &Unreachable{}
	for _, endpoint := range endpoints {
		err := f(endpoint)
		if err == nil || final(err) {
			return err
		}
		gone.Answers = append(gone.Answers, Answer{endpoint, err})
		log.Debug(ctx, log.Connection, "endpoint failed", "endpoint", endpoint, "error", err)
		if ctx.Err() != nil {
			break
		}
	}
	return gone
}
