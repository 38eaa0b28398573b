// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package backend

import (
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/claim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
)

// Claims returns the store of a provider's heartbeats, on the v2 API or on v3.
// It does not connect.
func (b *Backend) Claims(v2 bool) claim.Store {
	if v2 {
		return claim.NewV2(b.Settings)
	}
	return claim.NewV3(cluster.New(b.Settings, b.Pool), b.Settings, b.Pool)
}

// lockOf returns the lock on membership changes. The lock is stored in the
// cluster itself, next to the ownership records.
func (b *Backend) lockOf(route *cluster.Client, s connection.Settings) *claim.Lock {
	return &claim.Lock{
		Store: claim.NewV3(route, s, b.Pool), Self: b.Run.Self(),
		TTL: claim.LockTTL, Clock: s.Time(), AtExit: b.Pool.BeforeClose,
	}
}
