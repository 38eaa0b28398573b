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

	text "github.com/terraform-provider-etcd/terraform-provider-etcd/internal/diag"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/bootstrap"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/report"
)

// ModifyPlan implements [resource.ResourceWithModifyPlan]: once it is made, a
// bootstrap is never replaced. Nothing is planned where its cluster is known to
// have formed; where that is not known, a change of its members or its token is
// refused.
func (r *clusterResource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	// Terraform does not tell Delete whether another object follows.
	resp.Diagnostics.Append(bootstrap.Keep(ctx, resp.Private, keyRemoval, req.Plan.Raw.IsNull())...)
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
	was, diags := recordOf(ctx, prior)
	resp.Diagnostics.Append(diags...)
	resp.Diagnostics.Append(bootstrap.Keep(ctx, resp.Private, keyRecord, was)...)
	changed, diags := changes(ctx, config, prior)
	resp.Diagnostics.Append(diags...)
	if !prior.Complete.ValueBool() {
		resp.RequiresReplace = append(resp.RequiresReplace, changed...) // which its second half refuses
	}
	if prior.Complete.ValueBool() || len(changed) == 0 {
		window := prior.Window
		resp.Diagnostics.Append(req.Plan.GetAttribute(ctx, path.Root("bootstrap_window"), &prior.Window)...)
		if !prior.Window.Equal(window) {
			prior.Bootstrap = bootstrap.With(prior.Bootstrap, "window", prior.Window)
		}
		resp.Diagnostics.Append(resp.Plan.Set(ctx, &prior)...)
	}
}

// planCreate plans a bootstrap without prior state: a new one, or, if a record
// of it was left, the second half of a replacement.
func (r *clusterResource) planCreate(ctx context.Context, config model, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	was, diags := bootstrap.Kept[record](ctx, req.Private, keyRecord)
	resp.Diagnostics.Append(diags...)
	if was != nil {
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
	resp.Diagnostics.Append(plan.derive(ctx)...)
	r.refuseExisting(ctx, plan, &resp.Diagnostics)
	adviseSize(plan, &resp.Diagnostics)
	resp.Diagnostics.Append(resp.Plan.Set(ctx, &plan)...)
}

// changes returns the arguments that ask for another cluster.
func changes(ctx context.Context, config, prior model) (changed path.Paths, diags diag.Diagnostics) {
	now, known, d := config.founders(ctx)
	diags.Append(d...)
	was, _, d := prior.founders(ctx)
	diags.Append(d...)
	if !known || !maps.EqualFunc(now, was, membership.SameURLs) {
		changed = append(changed, path.Root("members"))
	}
	if !config.ClusterToken.IsNull() && !config.ClusterToken.Equal(prior.ClusterToken) {
		changed = append(changed, path.Root("cluster_token"))
	}
	return changed, diags
}

// largeSize is the greatest number of founders that is planned without a
// warning.
const largeSize = 9

func adviseSize(m model, diags *diag.Diagnostics) {
	switch n := len(m.Members.Elements()); {
	case n > largeSize:
		report.Warn(diags, text.DiscoverySizeLarge(n))
	case n > 0 && n%2 == 0:
		report.Warn(diags, text.DiscoverySizeEven(n))
	}
}

// names returns the names of founders, sorted.
func names(founders map[string][]string) []string { return slices.Sorted(maps.Keys(founders)) }
