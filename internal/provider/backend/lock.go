// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package backend

import (
	"os"
	"os/user"
	"sync"

	"github.com/google/uuid"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/claim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/clock"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
)

// self identifies this process to the processes that wait for its locks.
var self = sync.OnceValue(func() claim.Holder {
	who, host := "unknown", "unknown"
	if u, err := user.Current(); err == nil {
		who = u.Username
	}
	if h, err := os.Hostname(); err == nil {
		host = h
	}
	return claim.Holder{Who: who + "@" + host, PID: os.Getpid(), Run: uuid.NewString()}
})

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
func lockOf(route *cluster.Client, s connection.Settings, pool *connection.Pool) *claim.Lock {
	return &claim.Lock{
		Store: claim.NewV3(route, s, pool), Prefix: s.MetadataPrefix, Self: self(),
		TTL: claim.LockTTL, Clock: clock.System{}, AtExit: pool.BeforeClose,
	}
}
