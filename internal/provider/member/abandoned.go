// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package member

import (
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

// isAbandoned reports whether the cluster of the member in the state is abandoned.
func (g *guard) isAbandoned() bool {
	id, err := membership.ParseClusterID(g.was.Cluster)
	return err == nil && g.b != nil && g.b.Plan.Abandoned.Has(id)
}

// checkAbandoned refuses to keep a member of an abandoned cluster.
func (g *guard) checkAbandoned() {
	if g.step == updated && (g.was.Config == "" || fate(g.was.Config, g.now.config().ID) != membership.Changes) {
		g.refuse(text.AbandonedStays(g.was.Name, g.was.Cluster))
	}
}
