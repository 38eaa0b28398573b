// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdtest

import (
	"context"
	"errors"
	"time"
)

// WaitLimit is how long a test waits for what has to come. It is far more than
// anything takes: on a machine under load a test becomes slow, and does not fail.
const WaitLimit = 5 * time.Minute

// WaitContext returns a context for such waits. It ends with the test.
func WaitContext(t interface {
	Helper()
	Context() context.Context
	Cleanup(func())
}) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), WaitLimit)
	t.Cleanup(cancel)
	return ctx
}

// Eventually waits until is returns nil, and fails the test with its latest error
// if that takes longer than [WaitLimit].
func Eventually(tb TB, what string, is func() error) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), WaitLimit)
	defer cancel()
	if err := poll(ctx, 20*time.Millisecond, func(context.Context) error { return is() }); err != nil {
		tb.Fatalf("%s: not within %v: %v", what, WaitLimit, err)
	}
}

// Until is [Eventually] for what is true or not.
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
