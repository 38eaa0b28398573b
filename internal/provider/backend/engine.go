// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package backend

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
)

// Cluster is one cluster as the resources of a provider share it.
type Cluster struct {
	*reconfigure.Engine
	// Plan is what the plan that is being made would do.
	Plan *reconfigure.Plan

	mu      sync.Mutex
	viewed  time.Time
	view    membership.Snapshot
	viewErr error
}

// freshness is how long one look at the cluster serves the refresh of many
// resources. It is far below the time in which a person can act between.
const freshness = 2 * time.Second

// clusters are the clusters of one provider, by their endpoints.
type clusters struct {
	mu    sync.Mutex
	board *reconfigure.Board
	all   map[string]*Cluster
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
		c = &Cluster{Plan: reconfigure.NewPlan(), Engine: &reconfigure.Engine{
			Port: cluster.New(settings, b.Pool), Board: b.clusters.board, Clock: reconfigure.SystemClock{},
		}}
		b.clusters.all[key] = c
	}
	return c, nil
}

// View returns a look at the cluster that may be up to two seconds old, so
// that the refresh of any number of resources makes one. The error is that of
// the look.
func (c *Cluster) View(ctx context.Context) (membership.Snapshot, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := c.Clock.Now(); c.viewed.IsZero() || now.Sub(c.viewed) > freshness {
		c.view, c.viewErr = c.Port.Observe(ctx, 0)
		if ctx.Err() != nil {
			return membership.Snapshot{}, ctx.Err()
		}
		c.viewed = c.Clock.Now()
	}
	return c.view, c.viewErr
}
