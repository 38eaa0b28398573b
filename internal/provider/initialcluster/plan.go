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

// ModifyPlan implements [resource.ResourceWithModifyPlan]: once it is made, a
// bootstrap is never replaced, but by a snapshot that takes the place of its
// cluster. Nothing is planned where its cluster is known to have formed; where that
// is not known, a change of its members or its token is refused.
func (r *clusterResource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	// Terraform does not tell Delete whether another object follows.
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
		resp.RequiresReplace = append(resp.RequiresReplace, changed...) // which its second half refuses
	}
	if prior.Complete.ValueBool() || len(changed) == 0 {
		window := prior.Window
		resp.Diagnostics.Append(req.Plan.GetAttribute(ctx, path.Root("bootstrap_window"), &prior.Window)...)
		if !prior.Window.Equal(window) {
			prior.Bootstrap = bootstrap.With(prior.Bootstrap, "window", prior.Window)
		}
		if prior.Restore.IsNull() && !config.Restore.IsNull() {
			// Terraform accepts no plan that leaves out what is configured, unless the
			// state has another value.
			prior.Restore = config.Restore
			report.WarnAt(&resp.Diagnostics, path.Root("restore"), text.RestoreIgnored(prior.ClusterID.ValueString()))
		}
		resp.Diagnostics.Append(resp.Plan.Set(ctx, &prior)...)
	}
}

// planCreate plans a bootstrap without prior state: a new one, or, if a record
// of it was left, the second half of a replacement.
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
		plan.Complete = types.BoolUnknown() // it may have formed already
	}
	if !config.Members.IsUnknown() && len(config.Members.Elements()) == 0 {
		report.ErrorOn(&resp.Diagnostics, "members", text.NoFounders)
	}
	plan.fromArguments(ctx, &resp.Diagnostics)
	r.refuseExisting(ctx, plan, abandoned, &resp.Diagnostics)
	bootstrap.AdviseSize(len(plan.Members.Elements()), &resp.Diagnostics)
	resp.Diagnostics.Append(resp.Plan.Set(ctx, &plan)...)
}

// changes returns the arguments that ask for another cluster.
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

// names returns the names of founders, sorted.
func names(founders map[string][]string) []string { return slices.Sorted(maps.Keys(founders)) }
