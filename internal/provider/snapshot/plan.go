// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package snapshot

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/attribute"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/private"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/report"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

// ModifyPlan implements [resource.ResourceWithModifyPlan]. It plans a new snapshot
// if the triggers or the path change, or if the file has changed since it was
// saved. Otherwise it keeps the snapshot, whatever other argument changes.
func (r *snapshotResource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	was := private.Kept[kept](ctx, req.Private, keptKey, &resp.Diagnostics)
	was.Removal = req.Plan.Raw.IsNull()
	if was.Object == "" && r.Backend != nil {
		was.Object = r.Backend.Run.UUID()
	}
	private.Keep(ctx, resp.Private, keptKey, was, &resp.Diagnostics)
	if req.Plan.Raw.IsNull() {
		return
	}
	var plan, state model
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	exists := !req.State.Raw.IsNull()
	if exists {
		resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	}
	if resp.Diagnostics.HasError() {
		return
	}
	file := identity(plan.Path.ValueString())
	moves := !attribute.IsGiven(plan.Path) || !exists || file != identity(state.Path.ValueString())
	changed := exists && state.SHA256.ValueString() != was.SHA256
	switch {
	case moves || changed || !plan.Triggers.Equal(state.Triggers):
		plan.setUnknown()
	default:
		plan.keep(state)
	}
	resp.Diagnostics.Append(resp.Plan.Set(ctx, &plan)...)
	if !attribute.IsGiven(plan.Path) || r.Backend == nil {
		return
	}
	if r.Backend.Table.EnterFile(file, was.Object) {
		report.ErrorAt(&resp.Diagnostics, pathRoot, text.SnapshotPathTaken(plan.Path.ValueString()))
		return
	}
	// A problem with the resource's own file is found when the file is saved.
	request := reconfigure.SaveRequest{Path: plan.Path.ValueString(), Overwrite: plan.Overwrite.ValueBool() || plan.Overwrite.IsUnknown()}
	if moves {
		if err := reconfigure.Free(ctx, request); err != nil {
			report.ErrorAt(&resp.Diagnostics, pathRoot, text.Maintenance(saving, err))
		}
	} else if changed && !moves {
		report.Warn(&resp.Diagnostics, text.SnapshotChanged(plan.Path.ValueString(), state.SHA256.ValueString(), was.SHA256))
	}
}
