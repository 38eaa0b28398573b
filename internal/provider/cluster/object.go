// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package cluster

import (
	"context"
	"encoding/json"
	"maps"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	port "github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/backend"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/node"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/private"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/report"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

// checkNothingRuns refuses to create a cluster at the addresses of one that runs: its
// state was lost, it has another key, or it is tainted. Silence proves nothing, and is
// what a first apply finds. Terraform plans again right before it creates the resource,
// and all addresses are known then.
func (r *Resource) checkNothingRuns(ctx context.Context, want map[string]membership.NodeValues, diags *diag.Diagnostics) {
	_, urls := knownURLs(want)
	c, err := r.Backend.Cluster(urls)
	if err != nil {
		return // no address is known
	}
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	err = reconfigure.CheckLost(c.Cluster.Evidence(ctx, 0), membership.GiveUpRequest{Forms: true}, nil)
	if err != nil {
		report.ErrorOn(diags, "members", text.Occupied(err))
	}
}

// checkReplacesNone refuses an etcd_cluster in place of one that the state has: its cluster
// may have formed. Unless it has one of the addresses, the plan waits for those that are read
// at the same time: they are planned with their state then.
func (r *Resource) checkReplacesNone(ctx context.Context, want map[string]membership.NodeValues, object string, isNew bool, diags *diag.Diagnostics) {
	peers, _ := knownURLs(want)
	_, taken := membership.InState(r.Backend.Table.Clusters(), peers)
	for wait := 0; !taken && r.Backend.Table.Replaces(object, isNew); wait++ {
		taken = !isNew || wait == 20 || r.Backend.Run.Clock.Sleep(ctx, lookTimeout) != nil
	}
	if taken && !diags.HasError() {
		report.ErrorOn(diags, "members", text.New("The cluster is in the state",
			"The state has an etcd_cluster in place of which this one would be created. Its cluster may have formed, and its members would lose their machines.\n\n"+
				"If the resource is tainted, run:\n\n  terraform untaint 'etcd_cluster.this'\n\nIf it has another key, write a moved block. If the plan has -replace for it, leave that out."+text.DestroyInstead))
	}
}

// otherObject returns the record of another etcd_cluster than that of the model. was is
// what the last refresh found: a record that cannot be read neither is one, nor ends one.
func (m model) otherObject(ctx context.Context, c *backend.Cluster, id membership.ClusterID, was port.ObjectRecord) port.ObjectRecord {
	r, _, err := c.Cluster.ObjectRecords(id).Get(ctx, "")
	switch {
	case err != nil:
		return was
	case r.Object == m.ID.ValueString():
		return port.ObjectRecord{}
	}
	return r
}

// checkObject refuses a plan that adds, removes or rebuilds a node if another etcd_cluster
// is on record: two states could rebuild two nodes at a time.
func (m model) checkObject(ctx context.Context, state model, stored health, kept private.Reader, diags *diag.Diagnostics) {
	if stored.Other.Object == "" || private.Kept[object](ctx, kept, objectKey, diags).Imported {
		return
	}
	nodes, was := m.nodes(ctx, diags), state.nodes(ctx, diags)
	changes := !maps.EqualFunc(nodes, was, func(n, before node.Node) bool { return n.ID.Equal(before.ID) })
	if changes {
		other := stored.Other
		report.Error(diags, text.New("Another state changes this cluster",
			"The cluster has the etcd_cluster with the id %s on record, since %s by %s. This state has %s. Each of them rebuilds one node at a time, so both could rebuild two nodes at once. "+
				"The plan adds, removes or rebuilds a node.\n\nKeep one of them. Remove the other one from its state, which does not change the cluster:\n\n"+
				"  terraform state rm 'etcd_cluster.this'\n\nTo keep this one, run the command here too, and import the cluster again. The first update after the import puts it on record:\n\n%s",
			other.Object, other.Since.Format(time.RFC3339), other.By, m.ID.ValueString(),
			text.ImportBlock("etcd_cluster.this", m.ClusterID.ValueString())))
	}
}

// record puts the object o on record in its cluster if nothing is on record, or if it was
// imported since. If that fails, the next update tries it again.
func (m model) record(ctx context.Context, c *backend.Cluster, o object, keep private.Writer, diags *diag.Diagnostics) {
	id, err := membership.ParseClusterID(m.ClusterID.ValueString())
	if err != nil || !m.Complete.ValueBool() {
		return // it has not formed
	}
	ctx, cancel := context.WithTimeout(ctx, 2*lookTimeout)
	defer cancel()
	records := c.Cluster.ObjectRecords(id)
	r, _, err := records.Get(ctx, "")
	if err == nil && (r.Object == "" || o.Imported) {
		_, err = records.Put(ctx, port.ObjectRecord{Object: m.ID.ValueString(), By: c.Self, Since: c.Clock.Now()})
	}
	if err == nil {
		o.Imported = false
		private.Keep(ctx, keep, objectKey, o, diags)
	}
}

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

// claim refuses a second etcd_cluster of the plan with one of the peer URLs. It returns the
// ID of the object, and whether it is new.
func (r *Resource) claim(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, plan model) (id string, isNew bool) {
	diags := &resp.Diagnostics
	o := private.Kept[object](ctx, req.Private, objectKey, diags)
	if isNew = o.ID == ""; isNew {
		o.ID = "object-" + r.Backend.Run.ID()
		private.Keep(ctx, resp.Private, objectKey, o, diags)
	}
	want, _, _ := plan.wants(ctx, diags)
	peers, _ := knownURLs(want)
	if taken := r.Backend.Table.EnterCluster(membership.ClusterEntry{Object: o.ID, PeerURLs: peers}); len(taken) > 0 {
		report.ErrorOn(diags, "members", text.New("Two etcd_cluster have one peer URL",
			"Another etcd_cluster has these peer URLs too: %s. Each etcd_cluster rebuilds one node at a time, so two of them could rebuild two nodes of one cluster. "+
				"Keep one of them. To remove the other one from the state, which does not change the cluster, run:\n\n  terraform state rm 'ADDRESS'", taken))
	}
	return o.ID, isNew
}

// NoteOf returns what the state of a resource has of an etcd_cluster. Terraform reads the
// state of each object before it plans the object, also of a tainted one without a refresh.
func NoteOf(typ string, state []byte) (s membership.ClusterEntry, ok bool) {
	var m struct {
		ID        string   `json:"id"`
		Cluster   string   `json:"cluster_id"`
		Complete  bool     `json:"complete"`
		Endpoints []string `json:"endpoints"`
		Node      map[string]struct {
			ID       string   `json:"id"`
			PeerURLs []string `json:"peer_urls"`
		} `json:"node"`
	}
	if typ != "etcd_cluster" || json.Unmarshal(state, &m) != nil {
		return s, false
	}
	s.ID, s.Formed, s.Endpoints = m.ID, m.Complete, m.Endpoints
	s.Cluster, _ = membership.ParseClusterID(m.Cluster) // 0 if it is not known
	for name, n := range m.Node {
		s.Names = append(s.Names, name)
		s.Nodes, s.PeerURLs = append(s.Nodes, n.ID), append(s.PeerURLs, membership.NormalURLs(n.PeerURLs)...)
	}
	return s, true
}
