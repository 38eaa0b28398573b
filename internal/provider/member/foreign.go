// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package member

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/attribute"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/backend"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/report"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

// checkForeign refuses a plan that adds a member through endpoints of another
// cluster than that of the members in the state. The refresh of those members
// only warns about it.
func (g *guard) checkForeign(ctx context.Context) {
	c := g.asked()
	if c == nil {
		return
	}
	if g.req.State.Raw.IsNull() {
		c.Added.Set(g.now.Name.ValueString(), true)
	}
	added, want := c.Added.Keys(), c.ExpectedCluster()
	if len(added) == 0 || want == 0 || g.b.Plan.Abandoned.Has(want) {
		return
	}
	snap, err := c.View(ctx, want)
	if err != nil || snap.ClusterID == want || !c.FirstTime("added elsewhere") {
		return
	}
	g.refuse(text.OtherClusterPlanned(added[0], reconfigure.NewOtherCluster(want, snap)))
}

// checkLearnerID refuses a new member whose learner_id is not in the cluster,
// before its machine boots.
func (g *guard) checkLearnerID(ctx context.Context) {
	id, err := membership.ParseMemberID(g.now.learnerID.ValueString())
	c := g.asked()
	if err != nil || c == nil || !g.req.State.Raw.IsNull() {
		return // not given, or not known yet
	}
	snap, err := c.View(ctx, 0)
	if err != nil || !snap.Linearizable {
		return
	}
	if _, ok := snap.Member(id); !ok {
		report.ErrorAt(&g.resp.Diagnostics, path.Root("learner_id"), text.NoSuchLearner(id, snap))
	}
}

// asked returns the cluster at the endpoints of a plan that is valid so far, nil if
// they are not known. Problems with the endpoints are reported where they are used.
func (g *guard) asked() *backend.Cluster {
	if g.b == nil || g.b.Unknown || g.step == removed || g.resp.Diagnostics.HasError() || attribute.SomeUnknown(g.now.Endpoints) {
		return nil
	}
	c, err := g.b.At(attribute.Texts(g.now.Endpoints), &g.resp.Diagnostics)
	if err != nil {
		return nil
	}
	return c
}
