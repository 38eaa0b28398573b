// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package initialcluster implements the resource etcd_initial_cluster: a
// bootstrap that does not need a discovery service.
package initialcluster

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/discovery"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/backend"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/private"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/report"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

// lookTimeout limits the observation of a cluster that probably does not exist yet.
const lookTimeout = 3 * time.Second

// clusterResource implements etcd_initial_cluster.
type clusterResource struct {
	backend *backend.Backend
	look    func(ctx context.Context, b *backend.Backend, want membership.ClusterID, fresh bool) (membership.Snapshot, error)
}

// NewResource returns the resource etcd_initial_cluster.
func NewResource() resource.Resource { return &clusterResource{look: look} }

// look returns an observation of the cluster, a new one if it must be fresh.
func look(ctx context.Context, b *backend.Backend, want membership.ClusterID, fresh bool) (membership.Snapshot, error) {
	c, err := b.Cluster(nil)
	if err != nil {
		return membership.Snapshot{}, err
	}
	if !fresh {
		return c.View(ctx, want)
	}
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	snap, err := c.Cluster.Observe(ctx, want)
	if snap.ClusterID != 0 {
		return snap, nil // a member used up the time without a response, but others responded
	}
	return snap, err
}

var (
	_ resource.ResourceWithConfigure      = (*clusterResource)(nil)
	_ resource.ResourceWithImportState    = (*clusterResource)(nil)
	_ resource.ResourceWithModifyPlan     = (*clusterResource)(nil)
	_ resource.ResourceWithValidateConfig = (*clusterResource)(nil)
)

// Metadata implements [resource.Resource].
func (r *clusterResource) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_initial_cluster"
}

// Configure implements [resource.ResourceWithConfigure].
func (r *clusterResource) Configure(_ context.Context, req resource.ConfigureRequest, resp *resource.ConfigureResponse) {
	r.backend = backend.From(req.ProviderData, &resp.Diagnostics)
}

// Create implements [resource.Resource]. With a configured token, the cluster
// may already exist if its state was lost. Create then finds it again.
func (r *clusterResource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var m model
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	given := !m.ClusterToken.IsUnknown()
	if !given {
		token, err := discovery.NewToken(r.backend.Run.Random)
		if err != nil {
			report.Error(&resp.Diagnostics, text.NoRandomness(err))
			return
		}
		m.ClusterToken = types.StringValue(token)
	}
	m.Complete = types.BoolValue(false)
	m.fromArguments(ctx, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	if given {
		formed, _ := r.isFormed(ctx, m, true)
		m.Complete = types.BoolValue(formed)
		m.fromArguments(ctx, &resp.Diagnostics)
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
	resp.Diagnostics.Append(resp.Private.SetKey(ctx, keyAbandoned, nil)...) // the predecessor's
}

// Read implements [resource.Resource]. It does not observe a cluster that is
// known to have formed.
func (r *clusterResource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var m model
	resp.Diagnostics.Append(req.State.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() || m.Complete.ValueBool() || r.backend.Unknown {
		return
	}
	formed, other := r.isFormed(ctx, m, false)
	if other != nil {
		report.Warn(&resp.Diagnostics, text.OtherClusterAnswers(m.ClusterID.ValueString(), *other))
	}
	if formed {
		m.Complete = types.BoolValue(true)
		m.fromArguments(ctx, &resp.Diagnostics)
		resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
	}
}

// isFormed reports whether the cluster has formed, which it has if it responds. An
// initial member does not serve clients before its cluster has had a leader, and so
// a quorum (observed on 3.4 to 3.7). other is the cluster that responds instead.
func (r *clusterResource) isFormed(ctx context.Context, m model, fresh bool) (formed bool, other *membership.Snapshot) {
	id, err := membership.ParseClusterID(m.ClusterID.ValueString())
	if err != nil {
		return false, nil
	}
	snap, err := r.look(ctx, r.backend, id, fresh)
	switch {
	case err != nil:
		return false, nil
	case snap.ClusterID != id:
		return false, &snap
	}
	return true, nil
}

// Update implements [resource.Resource]. Only bootstrap_window changes in
// place, for configurations that are created later.
func (r *clusterResource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var m model
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	if !resp.Diagnostics.HasError() {
		resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
	}
}

// Delete implements [resource.Resource]. It only removes the resource from the
// state. A plan refuses a replacement without a restore, so such a replacement here
// is that of a tainted resource whose cluster did not respond at plan.
func (r *clusterResource) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	var m model
	resp.Diagnostics.Append(req.State.Get(ctx, &m)...)
	removal := private.Kept[*bool](ctx, req.Private, keyRemoval, &resp.Diagnostics)
	abandoned := private.Kept[bool](ctx, req.Private, keyAbandoned, &resp.Diagnostics)
	gone := private.Kept[[]string](ctx, req.Private, backend.GoneKey, &resp.Diagnostics)
	if resp.Diagnostics.HasError() || removal == nil || *removal {
		return
	}
	if abandoned {
		id, _ := membership.ParseClusterID(m.ClusterID.ValueString())
		c, _ := r.backend.Cluster(nil) // nil without endpoints
		r.backend.Abandon(ctx, c, id, membership.Member{}, gone, &resp.Diagnostics)
		return
	}
	r.refuseReplacement(ctx, recordOf(ctx, m, &resp.Diagnostics), &resp.Diagnostics)
}
