// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package backend

import (
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
)

// Guard is what the plan that is being made would do to one cluster, however
// many sets of endpoints its members are reached by.
type Guard struct {
	*reconfigure.Plan
	Cluster membership.ClusterID
	// At is where the cluster can be asked.
	At *Cluster
}

// Guard returns the guard of that cluster, 0 where none is known yet.
func (b *Backend) Guard(id membership.ClusterID, at *Cluster) *Guard {
	b.clusters.mu.Lock()
	defer b.clusters.mu.Unlock()
	if b.clusters.guards == nil {
		b.clusters.guards = map[membership.ClusterID]*Guard{}
	}
	g, ok := b.clusters.guards[id]
	if !ok {
		g = &Guard{Plan: reconfigure.NewPlan(), Cluster: id, At: at}
		b.clusters.guards[id] = g
	}
	return g
}

// GuardOf returns the guard of the cluster that has a member of that name, or
// of the only cluster there is; nil for neither.
func (b *Backend) GuardOf(name string) *Guard {
	b.clusters.mu.Lock()
	defer b.clusters.mu.Unlock()
	var found *Guard
	for _, g := range b.clusters.guards {
		if g.Keeps(name) || len(b.clusters.guards) == 1 {
			if found != nil {
				return nil // two of them: it may be either
			}
			found = g
		}
	}
	return found
}
