// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package clusterdata implements the data source etcd_cluster: the observable
// state of a cluster.
package clusterdata

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/attribute"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/backend"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/report"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

// pause is the time between the two observations that distinguish a stalled
// learner from a learner that makes progress.
const pause = time.Second

// clusterData implements data "etcd_cluster".
type clusterData struct{ backend.DataSource }

// NewDataSource returns the data source etcd_cluster.
func NewDataSource() datasource.DataSource { return &clusterData{backend.DataSource{Type: "_cluster"}} }

var _ datasource.DataSourceWithConfigure = (*clusterData)(nil)

// Read implements [datasource.DataSource]. It reports whatever it observes.
// Only a configuration without a usable cluster is an error.
func (d *clusterData) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var endpoints types.List
	resp.Diagnostics.Append(req.Config.GetAttribute(ctx, path.Root("endpoints"), &endpoints)...)
	if d.Backend.Unknown {
		report.Error(&resp.Diagnostics, text.EndpointsUnknown)
		return
	}
	c := d.Backend.Open("read the cluster", attribute.Texts(endpoints), &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	l, err := observe(ctx, c)
	var m model
	switch {
	case ctx.Err() != nil:
		resp.Diagnostics.AddError("Interrupted", ctx.Err().Error())
	case cluster.Hopeless(err):
		report.Error(&resp.Diagnostics, text.New("Cannot read the cluster",
			"The endpoints that respond refuse the credentials of the provider, or have a certificate that it does not trust.%s", text.Answers(err)))
	case err != nil:
		m = fromError(err)
	default:
		c.WarnUntrusted(l.now, &resp.Diagnostics)
		m = fromLook(l)
	}
	if m.Endpoints = endpoints; !resp.Diagnostics.HasError() {
		resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
	}
}

// look is an observation, with what helps to interpret it.
type look struct {
	now membership.Snapshot
	// before is an earlier observation, kept if a learner lags.
	before membership.Snapshot
	// seen are the connections of one member to the others, requested if a
	// member does not respond to Terraform.
	seen map[membership.MemberID]bool
	// authenticated is true if the cluster is known to have authentication.
	authenticated bool
}

// observe observes all members at the same time. It observes them again after a
// pause if a learner lags, to see whether the learner makes progress.
func observe(ctx context.Context, c *backend.Cluster) (look, error) {
	l := look{authenticated: c.HasUser()}
	var err error
	if l.now, err = c.View(ctx, 0); err != nil {
		return l, err
	}
	if len(l.now.Lagging()) > 0 && c.Clock.Sleep(ctx, pause) == nil {
		again, err := c.Cluster.Observe(ctx, l.now.ClusterID)
		if err == nil {
			l.before, l.now = l.now, again
		}
	}
	if witness, down := l.now.Witness(), l.now.Down(); witness != 0 && len(down) > 0 {
		// On an error, the advice is that for a member that is down.
		l.seen, _ = c.Cluster.Peers(ctx, witness, down)
	}
	return l, ctx.Err()
}

// hex returns an ID as a value, null for 0.
func hex[ID interface {
	~uint64
	String() string
}](id ID) types.String {
	if id == 0 {
		return types.StringNull()
	}
	return types.StringValue(id.String())
}
