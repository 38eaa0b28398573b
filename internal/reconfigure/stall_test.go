// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package reconfigure

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// A learner that makes no progress is given up, but not while the leader sends it
// a snapshot, however long that takes. The next join continues.
func TestStalled(t *testing.T) {
	for name, transfer := range map[string]time.Duration{"without a snapshot": 0, "with a snapshot": time.Hour} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Hour)
				defer cancel()
				f, e := fakeCluster()
				f.down = func() membership.MemberID { return 4 }
				sent := time.Now().Add(transfer)
				f.sending = func() bool { return time.Now().Before(sent) }
				err := joinD(ctx, e)
				if late, ok := errors.AsType[*Incomplete](err); !ok || !late.Stalled {
					t.Fatal(err)
				}
				if still := time.Since(sent); still <= StallTimeout/2 || still > StallTimeout+time.Minute {
					t.Errorf("given up %s after the transfer", still)
				}
				f.down = func() membership.MemberID { return 0 }
				if err := joinD(ctx, e); err != nil {
					t.Error(err)
				}
			})
		})
	}
}
