// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package backend

import (
	"fmt"
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
	// [Cluster] may be the same one by other endpoints. A look from before a
	// change is worth nothing after it, however young it is: a data source that
	// depends on a member must see that member.
	changes *atomic.Uint64
	// settings are those that the cluster is reached with.
	settings connection.Settings

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
		parsed, err := connection.ParseEndpoints(endpoints, settings.TLS != nil)
		if err != nil {
			return nil, err
		}
		settings = settings.At(parsed)
	}
	if len(settings.Endpoints) == 0 {
		return nil, cluster.ErrNoEndpoints
	}
	return b.cluster(settings), nil
}

// Where is [Backend.Cluster] for URLs that are known only from what members
// advertised: they are asked, and get no credentials for that.
func (b *Backend) Where(learned []string) *Cluster { return b.cluster(b.Settings.Where(learned)) }

func (b *Backend) cluster(settings connection.Settings) *Cluster {
	b.clusters.mu.Lock()
	defer b.clusters.mu.Unlock()
	if b.clusters.all == nil {
		b.clusters.all = map[string]*Cluster{}
		b.clusters.board = reconfigure.NewBoard()
	}
	key := fmt.Sprint(settings.Learned, settings.Endpoints)
	c, ok := b.clusters.all[key]
	if !ok {
		port := cluster.New(settings, b.Pool)
		c = &Cluster{changes: &b.clusters.changes, settings: settings, Engine: &reconfigure.Engine{
			Port: port, Board: b.clusters.board, Clock: reconfigure.SystemClock{}, Locker: lockOf(port, settings, b.Pool), Self: self().Who,
			Changed: func() { b.clusters.changes.Add(1) },
		}}
		b.clusters.all[key] = c
	}
	return c
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
