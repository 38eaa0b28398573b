// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package backend

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/claim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/log"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/report"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

// Cluster is a cluster that the resources of a provider share.
type Cluster struct {
	*reconfigure.Engine
	backend *Backend
	// settings are the connection settings of the cluster.
	settings connection.Settings
	views
}

// HasUser reports whether the provider logs in as a user of the cluster, which then has
// authentication.
func (c *Cluster) HasUser() bool { return c.settings.Username != "" }

// Cluster returns the cluster at the given endpoints, or at the provider's own if there
// are none. The error is [cluster.ErrNoEndpoints], or an [*connection.EndpointError]
// for an endpoint that is not a URL. Cluster does not connect.
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

// Where is [Backend.Cluster] for URLs known only because members advertised
// them. Requests go to them, but that does not make their hosts trusted.
func (b *Backend) Where(learned []string) *Cluster { return b.cluster(b.Settings.Where(learned)) }

func (b *Backend) cluster(settings connection.Settings) *Cluster {
	return b.clusters.GetOrMake(fmt.Sprint(settings.Learned, settings.Endpoints), func() *Cluster {
		port := cluster.New(settings, b.Pool)
		return &Cluster{backend: b, settings: settings, views: views{flights: map[string]*look{}}, Engine: &reconfigure.Engine{
			Cluster: port, Process: &b.state, Clock: settings.Time(), Locker: b.lockOf(port, settings), Self: b.Run.Self().Who, Lost: b.Lost, InUse: b.InUse,
			Changed: func() { b.changes.Add(1) },
		}}
	})
}

// Of is [Backend.At] for the cluster with an ID, 0 if it is not known. Resources of one
// cluster share it, and with it their observations, whichever endpoints each of them has.
func (b *Backend) Of(id membership.ClusterID, endpoints []string, diags *diag.Diagnostics) (*Cluster, error) {
	slices.Sort(endpoints)
	c, err := b.At(slices.Compact(endpoints), diags)
	if err != nil || id == 0 {
		return c, err
	}
	b.state.Know(id)
	shared := b.byID.GetOrMake(id, func() *Cluster { return c })
	if shared != c {
		shared.Cluster.AddFallbackEndpoints(c.settings.Endpoints)
	}
	return shared, nil
}

// Claims returns the store of a provider's heartbeats, on the v2 API or on v3.
// It does not connect.
func (b *Backend) Claims(v2 bool) claim.Store {
	if v2 {
		return claim.NewV2(b.Settings, b.Pool)
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

// CheckLost is [reconfigure.CheckLost] for a member without an address to ask.
func (b *Backend) CheckLost(id membership.ClusterID, m membership.Member, cause error) error {
	b.state.Know(id, m)
	return reconfigure.CheckLost(membership.Evidence{}, b.state.Request(id, b.Lost, nil), cause)
}

// GiveUp refuses a plan that gives up a cluster, unless the answers of every known address
// and the statement of the operator allow it. c is nil if no address is known. during is
// true if the apply asks that again. It does not change the cluster.
func (b *Backend) GiveUp(ctx context.Context, c *Cluster, g membership.GivingUp, during bool, diags *diag.Diagnostics) {
	b.state.Know(g.Cluster, g.Known...)
	for _, other := range g.Others {
		if other != 0 {
			b.state.Know(other)
		}
	}
	var err error
	switch {
	case c == nil || b.Unknown:
		err = reconfigure.CheckLost(membership.Evidence{}, b.state.Request(g.Cluster, b.Lost, g.Gone), nil)
	case during:
		err = c.GiveUp(ctx, g.Cluster, g.Gone)
	default:
		err = c.MayGiveUp(ctx, g.Cluster, g.Gone)
	}
	log.Debug(ctx, log.Membership, "giving up a cluster", "cluster", g.Cluster, "again", g.Again, "error", err)
	kept, refused := errors.AsType[*reconfigure.NotGivenUp](err)
	if refused && g.Again && kept.Decision.Code == membership.NotStated {
		return
	}
	if err != nil {
		report.Error(diags, text.NotGivenUp(err, g.Why))
	}
}
