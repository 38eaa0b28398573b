// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package connection

import (
	"context"
	"strings"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/log"
)

// Answer is what one endpoint answered instead of what was asked.
type Answer struct {
	Endpoint string
	Err      error
}

// String is the endpoint, once, with what it answered.
func (a Answer) String() string {
	if text := a.Err.Error(); strings.HasPrefix(text, a.Endpoint+": ") {
		return text
	}
	return a.Endpoint + ": " + a.Err.Error()
}

// Unreachable says that no endpoint gave a usable answer.
type Unreachable struct {
	// Answers are what each endpoint answered, in the order they were tried.
	Answers []Answer
}

// Error implements error: every endpoint with what it answered.
func (u *Unreachable) Error() string {
	text := "no endpoint answered"
	for _, a := range u.Answers {
		text += "; " + a.String()
	}
	return text
}

// Unwrap returns the answers, so that errors.Is and errors.As look into them.
func (u *Unreachable) Unwrap() []error {
	out := make([]error, len(u.Answers))
	for i, a := range u.Answers {
		out[i] = a.Err
	}
	return out
}

// Try calls f with one endpoint after the other until one gives an answer that
// no other would change: no error, or one that is final. The error is that one,
// or an [*Unreachable] with all that were tried before ctx ended.
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
