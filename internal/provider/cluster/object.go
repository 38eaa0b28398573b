// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package cluster

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	port "github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/backend"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/private"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/report"
)

// otherObject returns the record of another etcd_cluster than that of the model. was is
// what the last refresh found: a record that cannot be read neither is one, nor ends one.
func (m model) otherObject(ctx context.Context, c *backend.Cluster, id membership.ClusterID, was port.ObjectRecord) port.ObjectRecord {
	r, _, err := c.Cluster.ObjectRecords(id).Get(ctx, "")
	switch {
	case err != nil:
		return was
	case r.Object == m.ID.ValueString():
		return port.ObjectRecord{}
	}
	return r
}

// checkObject refuses a plan that adds, removes or rebuilds a node if another etcd_cluster
// is on record: two states could rebuild two nodes at a time.
func (m model) checkObject(ctx context.Context, state model, stored health, kept private.Reader, diags *diag.Diagnostics) {
	if stored.Other.Object == "" || private.Kept[object](ctx, kept, objectKey, diags).Imported {
		return
	}
	nodes, was := m.nodes(ctx, diags), state.nodes(ctx, diags)
	changes := len(nodes) != len(was)
	for name, n := range nodes {
		changes = changes || !n.ID.Equal(was[name].ID)
	}
	if changes {
		report.Error(diags, anotherObject(stored.Other, m.ID.ValueString(), m.ClusterID.ValueString()))
	}
}

// record puts the object on record in its cluster if nothing is on record, or if it was
// imported since. If that fails, the next update tries it again.
func (m model) record(ctx context.Context, c *backend.Cluster, kept interface {
	private.Reader
	private.Writer
}, diags *diag.Diagnostics) {
	id, err := membership.ParseClusterID(m.ClusterID.ValueString())
	if err != nil || !m.Complete.ValueBool() {
		return // it has not formed
	}
	ctx, cancel := context.WithTimeout(ctx, 2*lookTimeout)
	defer cancel()
	records := c.Cluster.ObjectRecords(id)
	r, _, err := records.Get(ctx, "")
	o := private.Kept[object](ctx, kept, objectKey, diags)
	if err == nil && (r.Object == "" || o.Imported) {
		_, err = records.Put(ctx, port.ObjectRecord{Object: m.ID.ValueString(), By: c.Self, Since: c.Clock.Now()})
	}
	if err == nil {
		o.Imported = false
		private.Keep(ctx, kept, objectKey, o, diags)
	}
}
