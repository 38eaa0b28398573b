// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package initialcluster

import (
	"context"
	"errors"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/discovery"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/attribute"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/report"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

// ValidateConfig implements [resource.ResourceWithValidateConfig]. A later call
// checks the values that are not known yet.
func (r *clusterResource) ValidateConfig(ctx context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse) {
	var m model
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	restoreOf(ctx, m.Restore, &resp.Diagnostics).validate(&resp.Diagnostics)
	attribute.Refuse("cluster_token", m.ClusterToken, discovery.TokenProblem, text.ClusterTokenInvalid, &resp.Diagnostics)
	founders, known := m.founders(ctx, &resp.Diagnostics)
	if !known || resp.Diagnostics.HasError() {
		return
	}
	_, err := membership.InitialClusterOf(founders)
	var bad *membership.EntryError
	switch {
	case len(founders) == 0: // valid after the last initial member was replaced, see ModifyPlan
	case errors.As(err, &bad):
		report.ErrorOn(&resp.Diagnostics, "members", text.InitialCluster(bad))
	default:
		validateLoopback(founders, &resp.Diagnostics)
	}
}

// validateLoopback refuses an initial member with a loopback address, which the
// others cannot reach, unless all of them have one.
func validateLoopback(founders map[string][]string, diags *diag.Diagnostics) {
	var inside, outside, url string
	for _, name := range names(founders) {
		for _, u := range founders[name] {
			if membership.IsLoopback(u) {
				inside, url = name, u
			} else {
				outside = name
			}
		}
	}
	if inside != "" && outside != "" {
		report.ErrorOn(diags, "members", text.LoopbackFounder(inside, url, outside))
	}
}
