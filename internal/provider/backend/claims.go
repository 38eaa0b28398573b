// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package backend

import (
	"sync"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/claim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
)

// Claims are where a provider's heartbeats are kept: on the v2 API, or on v3.
// It dials nothing.
func (b *Backend) Claims(v2 bool) claim.Store {
	if v2 {
		return claim.NewV2(b.Settings)
	}
	return claim.NewV3(cluster.New(b.Settings, b.Pool), b.Settings, b.Pool)
}

// held are the claims that this process holds for its user, from one call of
// Terraform to the next.
type held struct {
	mu  sync.Mutex
	all map[string]*claim.Claim
}

// Hold keeps a claim until [Backend.Release] with the same ID.
func (b *Backend) Hold(id string, c *claim.Claim) {
	b.held.mu.Lock()
	defer b.held.mu.Unlock()
	if b.held.all == nil {
		b.held.all = map[string]*claim.Claim{}
	}
	b.held.all[id] = c
}

// Release returns the claim that was kept under an ID, nil if there is none.
// It is the caller's then.
func (b *Backend) Release(id string) *claim.Claim {
	b.held.mu.Lock()
	defer b.held.mu.Unlock()
	c := b.held.all[id]
	delete(b.held.all, id)
	return c
}
