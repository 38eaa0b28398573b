// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package backend

import (
	"strings"
	"sync"
	"sync/atomic"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
)

// Cluster is one cluster as the resources of a provider share it.
type Cluster struct {
	*reconfigure.Engine
	// changes counts what this process has changed, in any cluster: several
	// [Cluster] may be the same one by other endpoints.
	changes *atomic.Uint64

	views

	mu    sync.Mutex
	want  membership.ClusterID
	added []string // see [Cluster.Add]
}

// clusters are the clusters of one provider, by their endpoints.
type clusters struct {
	changes atomic.Uint64

	mu     sync.Mutex
	board  *reconfigure.Board
	all    map[string]*Cluster
	guards map[membership.ClusterID]*Guard
	plan   *Plan
	chains *reconfigure.Chains
}

// Chains is what the plan that is being made finds out about its nodes.
func (b *Backend) Chains() *reconfigure.Chains {
	b.clusters.mu.Lock()
	defer b.clusters.mu.Unlock()
	if b.clusters.chains == nil {
		b.clusters.chains = &reconfigure.Chains{Clock: reconfigure.SystemClock{}}
	}
	return b.clusters.chains
}

// Cluster returns the cluster at the given endpoints, or at the provider's own
// if there are none. The error is [cluster.ErrNoEndpoints], or an
// [*connection.EndpointError] for one that is not a URL. It dials nothing.
func (b *Backend) Cluster(endpoints []string) (*Cluster, error) {
	settings := b.Settings
	if len(endpoints) > 0 {
		settings.Endpoints = nil
		for _, e := range endpoints {
			n, err := connection.ParseEndpoint(e, settings.TLS != nil)
			if err != nil {
				return nil, err
			}
			settings.Endpoints = append(settings.Endpoints, n)
		}
	}
	if len(settings.Endpoints) == 0 {
		return nil, cluster.ErrNoEndpoints
	}
	b.clusters.mu.Lock()
	defer b.clusters.mu.Unlock()
	if b.clusters.all == nil {
		b.clusters.all = map[string]*Cluster{}
		b.clusters.board = reconfigure.NewBoard()
	}
	key := strings.Join(settings.Endpoints, ",")
	c, ok := b.clusters.all[key]
	if !ok {
		port := cluster.New(settings, b.Pool)
		c = &Cluster{changes: &b.clusters.changes, Engine: &reconfigure.Engine{
			Port: port, Board: b.clusters.board, Clock: reconfigure.SystemClock{}, Locker: lockOf(port, settings, b.Pool), Self: self().Who,
		}}
		b.clusters.all[key] = c
	}
	return c, nil
}

// Expect notes which cluster the state knows a member of, and where that was
// reached, for [Cluster.Expected].
func (c *Cluster) Expect(want membership.ClusterID, clientURLs []string) {
	c.Port.Know(clientURLs)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.want = want
}

// Expected returns the cluster that [Cluster.Expect] was told of, 0 before.
func (c *Cluster) Expected() membership.ClusterID {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.want
}
