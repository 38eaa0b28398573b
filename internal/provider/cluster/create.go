// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package cluster

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	port "github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/attribute"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/bootstrap"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/node"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/report"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

// planCreation plans a cluster that does not exist yet.
func (r *Resource) planCreation(ctx context.Context, plan *model, diags *diag.Diagnostics) {
	plan.ID, plan.ClusterID, plan.Complete = types.StringUnknown(), types.StringUnknown(), types.BoolValue(false)
	plan.Pending, plan.Reason, plan.Node = listOf(nil), types.StringNull(), types.MapUnknown(types.ObjectType{AttrTypes: node.Types})
	want, initial, _ := plan.wants(ctx, diags)
	if want != nil && !diags.HasError() {
		plan.checkFormation(ctx, want, len(initial), diags)
		r.checkNothingRuns(ctx, want, diags)
		plan.planForming(ctx, want, diags)
	}
	// Nothing answers there yet. The nodes show where, and every status is pending.
	plan.Status, plan.Endpoints = types.MapUnknown(types.StringType), types.ListUnknown(types.StringType)
}

// checkFormation refuses members that do not fit their token, or of which none forms the
// cluster.
func (m model) checkFormation(ctx context.Context, want map[string]membership.NodeValues, initial int, diags *diag.Diagnostics) {
	clients := map[string][]string{}
	for name, w := range want {
		clients[name] = w.ClientURLs
	}
	boot := attribute.As[bootstrap.Bootstrap](ctx, m.Discovery, diags)
	switch {
	case initial == 0:
		report.ErrorOn(diags, "members", text.New("No member forms the cluster",
			"Every member has learner = true. Take learner out of the members that form the cluster. Prefer three or five."))
	case boot == nil:
		bootstrap.AdviseSize(initial, diags)
	case boot.Complete.ValueBool():
		report.ErrorOn(diags, "discovery", text.New("The token has formed a cluster",
			"All initial members of the discovery token have registered, so its cluster has formed or may have formed. A token serves one cluster. "+
				"These commands show the registrations as members:\n\n  terraform apply -refresh-only -target='etcd_discovery_token.this'\n  terraform state show 'etcd_discovery_token.this'\n\n"+
				"If the resource is tainted, keep it:\n\n  terraform untaint 'etcd_cluster.this'\n\nIf the state has lost the cluster, import it by its ID. "+
				"If no registered member ever served, destroy everything. The next apply creates another token."+text.DestroyInstead))
	case attribute.IsGiven(boot.Size) && boot.Size.ValueInt64() != int64(initial):
		report.ErrorOn(diags, "members", text.New("The token is for another number of members",
			"The discovery token forms a cluster of %d, and members has %d that take part in the formation. Set size of the token to %[2]d, or learner = true for members that join later.",
			boot.Size.ValueInt64(), initial))
	default:
		boot.RefuseMembers(clients, diags)
	}
}

// checkNothingRuns refuses to create a cluster at the addresses of one that runs: its
// state was lost, it has another key, or it is tainted. Silence proves nothing, and is
// what a first apply finds, unless the state has the cluster: then it may have formed.
func (r *Resource) checkNothingRuns(ctx context.Context, want map[string]membership.NodeValues, diags *diag.Diagnostics) {
	peers, urls := knownURLs(want)
	if r.Backend == nil || r.Backend.Unknown {
		return
	}
	c, err := r.Backend.Cluster(urls)
	if err != nil {
		return // no address is known
	}
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	snap, err := c.Cluster.Observe(ctx, 0)
	switch {
	case snap.ClusterID != 0:
		report.ErrorOn(diags, "members", text.New("A cluster runs at these addresses",
			"Cluster %s answers at the addresses of members, and the state has no etcd_cluster for it. A new one would form a second cluster on its machines.\n\n"+
				"If the resource is tainted, run:\n\n  terraform untaint 'etcd_cluster.this'\n\n"+
				"If the state was lost or the resource has another key, import the cluster and its members. Set endpoints of the provider, correct the addresses in these blocks, "+
				"and set ignore_changes for the user data of the machines, which exist:\n\n%s\n\n%s",
			snap.ClusterID, text.Verbatim(importBlock("etcd_cluster.this", snap.ClusterID.String())), memberBlocks(snap)))
	case err != nil && port.Hopeless(err):
		report.ErrorOn(diags, "members", text.New("Something answers at the addresses of the members",
			"The plan creates a cluster, and a server at an address of a member refuses the provider: %v. If a cluster runs there, import it. If not, correct the addresses or the credentials.", err))
	default:
		if _, ok := membership.InState(r.Backend.Table.Clusters(), peers); ok {
			report.ErrorOn(diags, "members", text.New("The cluster is in the state",
				"The state has an etcd_cluster with these addresses, and its cluster does not answer. It may have formed, and its members would lose their machines.\n\n"+
					"If the resource is tainted, run:\n\n  terraform untaint 'etcd_cluster.this'\n\nIf it has another key, write a moved block."+text.DestroyInstead))
		}
	}
}
