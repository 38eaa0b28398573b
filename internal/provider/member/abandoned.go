// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package member

import (
	"context"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/attribute"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

// isAbandoned reports whether the cluster of the member in the state is abandoned.
func (g *guard) isAbandoned() bool {
	id, err := membership.ParseClusterID(g.was.Cluster)
	return err == nil && g.b != nil && g.b.Plan.Abandoned.Has(id)
}

// checkAbandoned refuses to keep a member of an abandoned cluster, and to give up a
// cluster that may serve at an address of the member.
func (g *guard) checkAbandoned(ctx context.Context) {
	if g.step == updated && (g.was.Config == "" || fate(g.was.Config, g.now.config().ID) != membership.Changes) {
		g.refuse(text.AbandonedStays(g.was.Name, g.was.Cluster))
		return
	}
	if g.step == successor {
		return // the first call of the replacement has asked
	}
	id, _ := membership.ParseClusterID(g.was.Cluster)
	c, _, err := g.state.reach(g.b, &g.resp.Diagnostics)
	if err == nil {
		c.ExpectCluster(id, attribute.Texts(g.state.ClientURLs))
	}
	g.b.GuardAbandon(ctx, c, id, []membership.Member{g.state.listed()}, &g.resp.Diagnostics)
}
