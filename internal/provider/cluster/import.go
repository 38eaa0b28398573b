// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package cluster

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	fwlist "github.com/hashicorp/terraform-plugin-framework/list"
	"github.com/hashicorp/terraform-plugin-framework/list/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	port "github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/attribute"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/backend"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/bootstrap"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/node"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/private"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/report"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

// ImportState implements [resource.ResourceWithImportState]. The ID is that of a cluster
// that answers at the provider's endpoints, or an identity. It changes nothing there.
func (r *Resource) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	diags := &resp.Diagnostics
	wanted := req.ID
	if wanted == "" {
		wanted = attribute.Read[identity](ctx, req.Identity, diags).ClusterID.ValueString()
	}
	id, err := membership.ParseClusterID(wanted)
	if err != nil {
		report.Error(diags, text.New("Invalid import ID",
			"%q is not a cluster ID. It is a hexadecimal number of up to 16 digits, such as the cluster_id of an etcd_member.", wanted))
		return
	}
	importing := "import cluster " + id.String()
	c := r.Backend.Open(importing, nil, diags)
	if c == nil {
		return
	}
	snap, err := c.CachedSnapshot(ctx, id)
	if err == nil && snap.ClusterID != id {
		report.Error(diags, text.New("Cannot "+importing,
			"At the provider's endpoints cluster %[1]s answers, with %[2]s. Nothing was imported. If it is the one, import it by its ID. ADDRESS is the address to import to.\n\n  terraform import 'ADDRESS' %[1]s",
			snap.ClusterID, text.Members(snap)))
		return
	}
	if err == nil { // the state of the whole cluster follows from this list
		snap, err = c.Confirmed(ctx, id, reconfigure.ActionImport, "the cluster")
	}
	var records []port.Record
	if err == nil {
		records, _, err = c.Cluster.Records(id).List(ctx)
	}
	if err != nil {
		report.Error(diags, text.Maintenance(importing, err))
		return
	}
	m := r.imported(ctx, snap, records, diags)
	if !diags.HasError() {
		m.store(ctx, &resp.State, resp.Identity, diags)
		private.Keep(ctx, resp.Private, objectKey, object{Imported: true}, diags)
	}
}

// nodeOwned returns the ID of the node that a member was added for, as the cluster has it
// on record, "" if there is none. With that ID, members that a state has keep their node.
func nodeOwned(records []port.Record, id membership.MemberID) (owner string) {
	for _, r := range records {
		if r.ID() == id && r.State == port.Added && strings.HasPrefix(r.Owner, nodePrefix) {
			owner = r.Owner
		}
	}
	return owner
}

// imported returns the resource of a cluster that runs. Its nodes are those of the members
// that have a name. Their machines keep the user data that they have until the nodes are
// rebuilt.
func (r *Resource) imported(ctx context.Context, snap membership.Snapshot, records []port.Record, diags *diag.Diagnostics) model {
	null := types.MapNull(types.StringType)
	m := model{
		Restore: types.ObjectNull(restoreTypes()), Discovery: types.ObjectNull(bootstrap.AttrTypes()), Revision: null, Rebuild: null,
		ClusterID: types.StringValue(snap.ClusterID.String()), Complete: types.BoolValue(true), Pending: listOf(nil),
	}
	m.ID = types.StringValue("cluster-" + r.Backend.Run.ID())
	named, unnamed := namedMembers(snap, diags)
	b := r.builder(m, formation{clusterID: snap.ClusterID.String()})
	b.imported = map[string]string{}
	for name, it := range named {
		b.peers[name], b.endpoints[name] = membership.NormalURLs(it.PeerURLs), membership.NormalURLs(it.ClientURLs)
		b.imported[name] = nodeOwned(records, it.ID)
	}
	nodes, status, members := map[string]node.Node{}, map[string]string{}, map[string]member{}
	for name, it := range named {
		nodes[name] = b.build(ctx, name, membership.NodeValues{PeerURLs: b.peers[name], ClientURLs: b.endpoints[name]}, nil, diags)
		learner := types.BoolNull()
		status[name] = string(membership.NodeVoter)
		if it.Learner {
			learner, status[name] = types.BoolValue(true), string(membership.NodeLearner)
		}
		members[name] = member{Address: types.StringNull(), PeerURLs: attribute.SetOf(b.peers[name]), ClientURLs: attribute.SetOf(b.endpoints[name]), Learner: learner}
	}
	m.setNodes(ctx, nodes, slices.Concat(slices.Collect(maps.Values(b.endpoints))...), diags)
	m.Status = mapOf(status)
	var d diag.Diagnostics
	m.Members, d = types.MapValueFrom(ctx, memberType(), members)
	diags.Append(d...)
	switch {
	case len(named) == 0:
		report.Error(diags, text.New("Cannot import cluster "+snap.ClusterID.String(),
			"No member of it has started and published a name, and names are the keys of members. Nothing was imported. Start its members, then import again."))
	case len(unnamed) > 0:
		report.Warn(diags, text.New("Members without a usable name are not imported",
			"These members have not started, or have a name that cannot be a key of members: %s. They stay in the cluster. Start such a member and import the cluster again, or remove it:\n\n"+
				"  etcdctl member remove %s", text.Members(membership.Snapshot{Members: unnamed}), unnamed[0].ID))
	}
	return m
}

// namedMembers returns the members that can be nodes, by name, and the others. A name is
// the key of a node, so two members of one name are refused.
func namedMembers(snap membership.Snapshot, diags *diag.Diagnostics) (named map[string]membership.Member, unnamed []membership.Member) {
	named = map[string]membership.Member{}
	for _, m := range snap.Members {
		other, twice := named[m.Name]
		switch {
		case !m.Started() || membership.ValidateListedName(m.Name) != nil:
			unnamed = append(unnamed, m)
		case twice:
			report.Error(diags, text.New("Two members are named "+m.Name,
				"The members %s and %s have the same name, and names are the keys of members. Nothing was imported. Give one of them another name (ETCD_NAME), restart its process, then import again.",
				other.ID, m.ID))
		default:
			named[m.Name] = m
		}
	}
	return named, unnamed
}

// List implements list "etcd_cluster": the cluster at the endpoints, to be imported.
type List struct{ *Resource }

// NewList returns list "etcd_cluster".
func NewList() fwlist.ListResource { return &List{newResource()} }

// ListResourceConfigSchema implements [fwlist.ListResource].
func (l *List) ListResourceConfigSchema(_ context.Context, _ fwlist.ListResourceSchemaRequest, resp *fwlist.ListResourceSchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "Lists the cluster at the provider's `endpoints`, with the identity for its import.",
	}
}

// List implements [fwlist.ListResource]. A cluster that does not respond is an error.
func (l *List) List(ctx context.Context, req fwlist.ListRequest, stream *fwlist.ListResultsStream) {
	var diags diag.Diagnostics
	var m model
	if c, snap := l.Backend.Observe(ctx, "list the cluster", nil, &diags); c != nil {
		m = l.imported(ctx, snap, nil, &diags)
	}
	if diags.HasError() {
		stream.Results = fwlist.ListResultsStreamDiagnostics(diags)
		return
	}
	out := backend.Listed(ctx, req, "cluster "+m.ClusterID.ValueString(), m.identity(), &m)
	out.Diagnostics.Append(diags...)
	stream.Results = slices.Values([]fwlist.ListResult{out})
}

// listed are the members of nodes, as a cluster lists them.
func listed(nodes []membership.NodeHealth) (s membership.Snapshot) {
	for _, e := range nodes {
		s.Members = append(s.Members, membership.Member{ID: e.Member, Name: e.Name, Learner: !e.Voter})
	}
	return s
}
