// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdtest

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// poll calls try until it returns nil or a finalError, or ctx is done. In the
// last case the result includes the latest error of try.
func poll(ctx context.Context, every time.Duration, try func(context.Context) error) error {
	for {
		err := try(ctx)
		var final finalError
		if err == nil || errors.As(err, &final) {
			return err
		}
		timer := time.NewTimer(every)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return fmt.Errorf("%w: %w", context.Cause(ctx), err)
		}
	}
}

// finalError is an error that ends a poll.
type finalError struct{ error }

func (e finalError) Unwrap() error { return e.error }
