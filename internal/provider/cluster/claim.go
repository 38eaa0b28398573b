// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package cluster

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/private"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/report"
)

// objectKey is the key of what tells this resource from others in a plan. Terraform plans
// a replacement a second time without the state.
const objectKey = "object"

// claim refuses a second etcd_cluster of the plan with one of the peer URLs.
func (r *Resource) claim(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, plan model) {
	if r.backend == nil {
		return
	}
	diags := &resp.Diagnostics
	object := private.Kept[string](ctx, req.Private, objectKey, diags)
	if object == "" {
		id, err := newID(r.backend.Run.Random, "object-")
		if err != nil {
			report.Error(diags, noRandomness(err))
		}
		object = id
		private.Keep(ctx, resp.Private, objectKey, object, diags)
	}
	want, _ := plan.wants(ctx, diags)
	var urls []string
	for _, w := range want {
		if !w.unknown {
			urls = append(urls, w.PeerURLs...)
		}
	}
	if taken := r.backend.Table.Claim(object, urls); len(taken) > 0 {
		report.ErrorOn(diags, "members", twoClusters(taken))
	}
}
