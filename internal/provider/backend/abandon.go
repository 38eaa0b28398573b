// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package backend

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/log"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/report"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

// abandonTimeout limits the observation of a cluster that is probably gone.
const abandonTimeout = 3 * time.Second

// Abandon forgets a member of an abandoned cluster, or its configuration. It
// does not change that cluster. It refuses if the cluster may have regained the
// quorum that it did not have when the plan was made.
func (c *Cluster) Abandon(ctx context.Context, id membership.ClusterID, name string, diags *diag.Diagnostics) {
	ctx, cancel := context.WithTimeout(ctx, abandonTimeout)
	defer cancel()
	snap, err := c.View(ctx, id)
	d := membership.GuardAbandoned(snap, id)
	log.Debug(ctx, log.Membership, "forgetting a member of an abandoned cluster", "member", name, "cluster", id, "refused", d.Verdict == membership.Refuse, "error", err)
	switch {
	case err != nil && cluster.MayServe(err):
		report.Error(diags, text.RestoreUnasked(id.String(), err))
	case err == nil && d.Verdict == membership.Refuse:
		report.Error(diags, text.AbandonedHasQuorum(name, snap))
	}
}

// ClearReplaced deletes the records of the clusters that the cluster replaces.
// The plan knows that it is restored in their place. Records that remain do no
// harm.
func (c *Cluster) ClearReplaced(ctx context.Context, in membership.ClusterID, plan *Plan) {
	for _, id := range plan.Abandoned.Keys() {
		if id != in {
			err := c.ClearAbandoned(ctx, id)
			log.Debug(ctx, log.Membership, "cleared the records of an abandoned cluster", "cluster", id, "error", err)
		}
	}
}
