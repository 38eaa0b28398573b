// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package connection

import (
	"context"
	"sync"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// Test that a member is not considered silent if it has not applied a token
// yet, which may happen shortly after another member issued it.
func TestBorrowedTokenThatIsNotThereYet(t *testing.T) {
	t.Parallel()
	cluster := etcdtest.Start(t, 3, etcdtest.Options{Password: password})
	s := Settings{Endpoints: cluster.Endpoints(), Username: "root", Password: password}
	for range 30 {
		pool := &Pool{}
		var wg sync.WaitGroup
		for _, endpoint := range s.Endpoints {
			wg.Go(func() {
				c, err := pool.Client(t.Context(), s.WithoutCredentials(), endpoint)
				if err == nil {
					err = c.Do(t.Context(), func(ctx context.Context) error {
						_, err := c.Status(ctx, endpoint)
						return err
					})
				}
				if err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if err := pool.Close(); err != nil {
			t.Error(err)
		}
	}
}
