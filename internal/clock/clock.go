// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package clock provides the time to code that waits.
package clock

import (
	"context"
	"time"
)

// Clock is the time; tests provide their own.
type Clock interface {
	Now() time.Time
	// Sleep waits for d or until ctx is done, and returns ctx.Err().
	Sleep(ctx context.Context, d time.Duration) error
}

// System is the real time.
type System struct{}

// Now implements [Clock].
func (System) Now() time.Time { return time.Now() }

// Sleep implements [Clock].
func (System) Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
