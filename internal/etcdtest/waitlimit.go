// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdtest

import (
	"context"
	"errors"
	"time"
)

// WaitLimit ends a test that hangs, and names what it waited for. It is no limit for
// an expected event: a test has no limit of its own, so that a busy machine slows it
// but does not fail it.
const WaitLimit = 15 * time.Minute

// WaitContext returns a context for calls that wait for an expected event. It ends
// with the test, or after [WaitLimit].
func WaitContext(t interface {
	Helper()
	Cleanup(func())
}) context.Context {
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
