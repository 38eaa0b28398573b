// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package cluster

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/private"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/report"
)

// objectKey is the key of the [object].
const objectKey = "object"

// object is what tells this resource from others.
type object struct {
	// ID is an ID of the resource within a plan. Terraform plans a replacement a second
	// time without the state.
	ID string `json:"id,omitempty"`
	// Imported is true after an import that no update has put on record yet.
	Imported bool `json:"imported,omitempty"`
}

// claim refuses a second etcd_cluster of the plan with one of the peer URLs.
func (r *Resource) claim(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, plan model) {
	if r.Backend == nil {
		return
	}
	diags := &resp.Diagnostics
	o := private.Kept[object](ctx, req.Private, objectKey, diags)
	if o.ID == "" {
		o.ID = "object-" + r.Backend.Run.ID()
		private.Keep(ctx, resp.Private, objectKey, o, diags)
	}
	want, _ := plan.wants(ctx, diags)
	var urls []string
	for _, w := range want {
		if !w.unknown {
			urls = append(urls, w.PeerURLs...)
		}
	}
	if taken := r.Backend.Table.EnterCluster(membership.ClusterEntry{Object: o.ID, PeerURLs: urls}); len(taken) > 0 {
		report.ErrorOn(diags, "members", twoClusters(taken))
	}
}
