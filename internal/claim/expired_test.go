// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package claim_test

import (
	"context"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/claim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// slow is a route that runs a function before the second request.
type slow struct {
	claim.Route
	requests int
	before   func()
}

func (s *slow) Anywhere(ctx context.Context, f func(context.Context, *clientv3.Client) error) error {
	if s.requests++; s.requests == 2 {
		s.before()
	}
	return s.Route.Anywhere(ctx, f)
}

// A process that is suspended between the grant of the lease and the write of the
// key, for longer than the lease lives, has lost no claim, and grants a new lease.
func TestALeaseThatEndsBeforeTheKeyIsWritten(t *testing.T) {
	t.Parallel()
	for _, v := range etcdtest.Maintained() {
		t.Run(string(v), func(t *testing.T) {
			t.Parallel()
			b := etcdtest.Start(t, 1, etcdtest.Options{Version: v})
			pool := &connection.Pool{}
			t.Cleanup(func() { _ = pool.Close() })
			s := settings(b.Endpoints())
			route := &slow{Route: cluster.New(s, pool), before: func() {
				client, ctx := b.Client(t), etcdtest.WaitContext(t)
				leases, err := client.Leases(ctx)
				if err != nil || len(leases.Leases) != 1 {
					t.Errorf("the leases are %+v, %v", leases, err)
					return
				}
				if _, err := client.Revoke(ctx, leases.Leases[0].ID); err != nil {
					t.Error(err)
				}
			}}
			c := take(t, claim.NewV3(route, s, pool), claim.Options{Value: "late", TTL: 30 * time.Second})
			if err := c.Check(etcdtest.WaitContext(t)); err != nil {
				t.Error(err)
			}
			if got := value(t, bench{b, "v3"}.store(t)); got != "late" {
				t.Errorf("at the key: %q", got)
			}
		})
	}
}
