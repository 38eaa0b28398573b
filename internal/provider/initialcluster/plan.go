// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package initialcluster

import (
	"context"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/bootstrap"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/private"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/report"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

// ModifyPlan implements [resource.ResourceWithModifyPlan]. An existing
// bootstrap is replaced only if a restored snapshot replaces its cluster. If
// the cluster is known to have formed, a change of the members or the token
// plans nothing. If that is not known, such a change is refused.
func (r *clusterResource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	// Terraform does not tell Delete whether another object replaces this one.
	private.Keep(ctx, resp.Private, keyRemoval, req.Plan.Raw.IsNull(), &resp.Diagnostics)
	if req.Plan.Raw.IsNull() {
		return
	}
	var config model
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	if resp.Diagnostics.HasError() {
		return
	}
	if req.State.Raw.IsNull() {
		r.planCreate(ctx, config, req, resp)
		return
	}

	var prior model
	resp.Diagnostics.Append(req.State.Get(ctx, &prior)...)
	if resp.Diagnostics.HasError() {
		return
	}
	private.Keep(ctx, resp.Private, keyRecord, recordOf(ctx, prior, &resp.Diagnostics), &resp.Diagnostics)
	if r.planReplaced(ctx, config, prior, resp) || resp.Diagnostics.HasError() {
		return
	}
	changed := changes(ctx, config, prior, &resp.Diagnostics)
	if !prior.Complete.ValueBool() {
		resp.RequiresReplace = append(resp.RequiresReplace, changed...) // refused in the second half
	}
	if prior.Complete.ValueBool() || len(changed) == 0 {
		window := prior.Window
		resp.Diagnostics.Append(req.Plan.GetAttribute(ctx, path.Root("bootstrap_window"), &prior.Window)...)
		if !prior.Window.Equal(window) {
			prior.Bootstrap = bootstrap.With(prior.Bootstrap, "window", prior.Window)
		}
		if prior.Restore.IsNull() && !config.Restore.IsNull() {
			// Terraform does not accept a plan without a configured value,
			// unless the state has another value.
			prior.Restore = config.Restore
			report.WarnAt(&resp.Diagnostics, path.Root("restore"), text.RestoreIgnored(prior.ClusterID.ValueString()))
		}
		resp.Diagnostics.Append(resp.Plan.Set(ctx, &prior)...)
	}
}

// planCreate plans a bootstrap without prior state: a new bootstrap or, if a
// record of the old bootstrap was stored, the second half of a replacement.
func (r *clusterResource) planCreate(ctx context.Context, config model, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	was := private.Kept[*record](ctx, req.Private, keyRecord, &resp.Diagnostics)
	abandoned := r.planAbandoned(ctx, config, was, resp)
	if resp.Diagnostics.HasError() {
		return
	}
	if was != nil && abandoned == 0 {
		r.refuseReplacement(ctx, *was, &resp.Diagnostics)
		return
	}
	plan := config
	resp.Diagnostics.Append(req.Plan.GetAttribute(ctx, path.Root("bootstrap_window"), &plan.Window)...)
	if config.ClusterToken.IsNull() {
		plan.ClusterToken = types.StringUnknown()
	}
	plan.Complete = types.BoolValue(false)
	if !config.ClusterToken.IsNull() {
		plan.Complete = types.BoolUnknown() // the cluster may already exist
	}
	if !config.Members.IsUnknown() && len(config.Members.Elements()) == 0 {
		report.ErrorOn(&resp.Diagnostics, "members", text.NoFounders)
	}
	plan.fromArguments(ctx, &resp.Diagnostics)
	r.refuseExisting(ctx, plan, abandoned, &resp.Diagnostics)
	bootstrap.AdviseSize(len(plan.Members.Elements()), &resp.Diagnostics)
	resp.Diagnostics.Append(resp.Plan.Set(ctx, &plan)...)
}

// changes returns the arguments that require another cluster.
func changes(ctx context.Context, config, prior model, diags *diag.Diagnostics) (changed path.Paths) {
	now, known := config.founders(ctx, diags)
	was, _ := prior.founders(ctx, diags)
	if !known || !maps.EqualFunc(now, was, membership.SameURLs) {
		changed = append(changed, path.Root("members"))
	}
	if !config.ClusterToken.IsNull() && !config.ClusterToken.Equal(prior.ClusterToken) {
		changed = append(changed, path.Root("cluster_token"))
	}
	return changed
}

// names returns the names of the initial members, sorted.
func names(founders map[string][]string) []string { return slices.Sorted(maps.Keys(founders)) }
