// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdtest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/clock"
)

// WaitLimit ends a test that hangs, and names what it waited for. It is no limit for
// an expected event: a test has no limit of its own, so that a busy machine slows it
// but does not fail it.
const WaitLimit = 15 * time.Minute

// WaitContext returns a context for calls that wait for an expected event. It ends
// with the test, or after [WaitLimit].
func WaitContext(t TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), WaitLimit)
	t.Cleanup(cancel)
	return ctx
}

// Eventually calls is until it returns nil. It fails the test with the latest
// error if that takes longer than [WaitLimit].
func Eventually(tb TB, what string, is func() error) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), WaitLimit)
	defer cancel()
	if err := poll(ctx, 20*time.Millisecond, func(context.Context) error { return is() }); err != nil {
		tb.Fatalf("%s: not within %v: %v", what, WaitLimit, err)
	}
}

// Until is [Eventually] for a function that returns a bool.
func Until(tb TB, what string, is func() bool) {
	tb.Helper()
	Eventually(tb, what, func() error {
		if !is() {
			return errNotYet
		}
		return nil
	})
}

var errNotYet = errors.New("not yet")

// poll calls try until it returns nil or a finalError, or ctx is done. In the
// last case the result includes the latest error of try.
func poll(ctx context.Context, every time.Duration, try func(context.Context) error) error {
	for {
		err := try(ctx)
		var final finalError
		if err == nil || errors.As(err, &final) {
			return err
		}
		if (clock.System{}).Sleep(ctx, every) != nil {
			return fmt.Errorf("%w: %w", context.Cause(ctx), err)
		}
	}
}

// finalError is an error that ends a poll.
type finalError struct{ error }

func (e finalError) Unwrap() error { return e.error }
