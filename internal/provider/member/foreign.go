// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package member

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/diag"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/attribute"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/backend"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/report"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
)

// guardForeign refuses a plan that adds a member through endpoints which lead to
// another cluster than that of the members in state: their refresh only warns of
// it.
func guardForeign(ctx context.Context, b *backend.Backend, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if b == nil || b.Unknown || req.Plan.Raw.IsNull() || resp.Diagnostics.HasError() {
		return
	}
	var m model
	resp.Diagnostics.Append(req.Plan.GetAttribute(ctx, path.Root("name"), &m.Name)...)
	resp.Diagnostics.Append(req.Plan.GetAttribute(ctx, path.Root("endpoints"), &m.Endpoints)...)
	endpoints, diags := list(ctx, m.Endpoints)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() || attribute.SomeUnknown(m.Endpoints) {
		return
	}
	c, err := b.Cluster(endpoints)
	if err != nil {
		return // said where it matters
	}
	if req.State.Raw.IsNull() {
		c.Add(m.Name.ValueString())
	}
	added, want := c.Added(), c.Expected()
	if added == "" || want == 0 {
		return
	}
	snap, err := c.View(ctx, want)
	if err != nil || snap.ClusterID == want || !c.Board.FirstTime("added elsewhere") {
		return
	}
	report.Error(&resp.Diagnostics, diag.OtherClusterPlanned(added, &reconfigure.OtherCluster{Want: want, Got: snap.ClusterID, Endpoints: endpointsOf(snap)}))
}

// guardLearnerID refuses a new member whose learner_id the cluster does not
// know, before its machine has booted.
func guardLearnerID(ctx context.Context, b *backend.Backend, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if b == nil || b.Unknown || req.Plan.Raw.IsNull() || !req.State.Raw.IsNull() || resp.Diagnostics.HasError() {
		return
	}
	var m memberModel
	resp.Diagnostics.Append(req.Plan.GetAttribute(ctx, path.Root("learner_id"), &m.LearnerID)...)
	resp.Diagnostics.Append(req.Plan.GetAttribute(ctx, path.Root("endpoints"), &m.Endpoints)...)
	endpoints, diags := list(ctx, m.Endpoints)
	resp.Diagnostics.Append(diags...)
	id, err := membership.ParseMemberID(m.LearnerID.ValueString())
	if resp.Diagnostics.HasError() || err != nil || attribute.SomeUnknown(m.Endpoints) {
		return // not given, or not known yet
	}
	c, err := b.Cluster(endpoints)
	if err != nil {
		return // said where it matters
	}
	snap, err := c.View(ctx, 0)
	if err != nil || !snap.Linearizable {
		return
	}
	if _, ok := snap.Member(id); !ok {
		report.ErrorAt(&resp.Diagnostics, path.Root("learner_id"), diag.NoSuchLearner(id, snap))
	}
}
