// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package backend

import (
	"fmt"
	"sync/atomic"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/clock"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/syncmap"
)

// Cluster is one cluster as the resources of a provider share it.
type Cluster struct {
	*reconfigure.Engine
	// Added are the names of the members that the plan which is being made adds
	// through these endpoints. The order in which resources are planned is not
	// known, so whoever comes second, the new member or one that is in state,
	// finds the other.
	Added syncmap.Map[string, bool]

	backend *Backend
	// settings are those that the cluster is reached with.
	settings connection.Settings
	views
	inState atomic.Uint64 // see [Cluster.ExpectCluster]
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
	return b.clusters.GetOrMake(fmt.Sprint(settings.Learned, settings.Endpoints), func() *Cluster {
		port := cluster.New(settings, b.Pool)
		return &Cluster{backend: b, settings: settings, views: views{latest: map[viewKey]*look{}, flights: map[string]*look{}}, Engine: &reconfigure.Engine{
			Cluster: port, Process: &b.state, Clock: clock.System{}, Locker: lockOf(port, settings, b.Pool), Self: self().Who,
			Changed: func() { b.changes.Add(1) },
		}}
	})
}

// ExpectCluster notes which cluster the state knows a member of, and where that was
// reached, for [Cluster.ExpectedCluster].
func (c *Cluster) ExpectCluster(want membership.ClusterID, clientURLs []string) {
	c.Cluster.AddFallbackEndpoints(clientURLs)
	c.inState.Store(uint64(want))
}

// ExpectedCluster returns the cluster that [Cluster.ExpectCluster] was told of, 0 before.
func (c *Cluster) ExpectedCluster() membership.ClusterID {
	return membership.ClusterID(c.inState.Load())
}
