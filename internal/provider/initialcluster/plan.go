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
)

// ModifyPlan implements [resource.ResourceWithModifyPlan]: nothing is planned
// for a cluster that has formed; one that has not is replaced where its members
// or its token change.
func (r *clusterResource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if req.Plan.Raw.IsNull() {
		return
	}
	var config model
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	if resp.Diagnostics.HasError() {
		return
	}
	plan := config
	if config.ClusterToken.IsNull() {
		plan.ClusterToken = types.StringUnknown()
	}
	plan.Formed = types.BoolValue(false)
	if !config.ClusterToken.IsNull() {
		plan.Formed = types.BoolUnknown() // it may have formed already
	}
	nobody := !config.Members.IsUnknown() && len(config.Members.Elements()) == 0
	if req.State.Raw.IsNull() {
		if nobody {
			at(&resp.Diagnostics, "members", text.NoFounders())
		}
		resp.Diagnostics.Append(plan.derive(ctx)...)
		adviseSize(plan, &resp.Diagnostics)
		resp.Diagnostics.Append(resp.Plan.Set(ctx, &plan)...)
		return
	}

	var prior model
	resp.Diagnostics.Append(req.State.Get(ctx, &prior)...)
	if resp.Diagnostics.HasError() {
		return
	}
	changed, diags := changes(ctx, config, prior)
	resp.Diagnostics.Append(diags...)
	if prior.Formed.ValueBool() || len(changed) == 0 {
		resp.Diagnostics.Append(resp.Plan.Set(ctx, &prior)...)
		return
	}
	if nobody {
		at(&resp.Diagnostics, "members", text.NoFounders())
	}
	r.refuseIfFormed(ctx, prior, &resp.Diagnostics)
	resp.RequiresReplace = append(resp.RequiresReplace, changed...)
	resp.Diagnostics.Append(plan.derive(ctx)...)
	adviseSize(plan, &resp.Diagnostics)
	resp.Diagnostics.Append(resp.Plan.Set(ctx, &plan)...)
}

// refuseIfFormed looks before founders are replaced that may be the voters of a
// living cluster: the state may be behind, above all with -refresh=false.
func (r *clusterResource) refuseIfFormed(ctx context.Context, prior model, diags *diag.Diagnostics) {
	if r.backend == nil || r.backend.Unknown {
		return
	}
	if formed, _, err := r.isFormed(ctx, prior, true); err == nil && formed {
		fault(diags, text.ClusterHasFormed(prior.ClusterID.ValueString()))
	}
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
		warn(diags, text.DiscoverySizeLarge(n))
	case n > 0 && n%2 == 0:
		warn(diags, text.DiscoverySizeEven(n))
	}
}

func at(diags *diag.Diagnostics, attribute string, t text.Text) {
	diags.AddAttributeError(path.Root(attribute), t.Summary, t.Detail)
}

// names returns the names of founders, sorted.
func names(founders map[string][]string) []string { return slices.Sorted(maps.Keys(founders)) }
