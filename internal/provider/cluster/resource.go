// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package cluster implements the resource etcd_cluster: the nodes of a cluster, how the
// process of each starts, and which of them is rebuilt next.
package cluster

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/attribute"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/backend"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/private"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/report"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

// Resource is etcd_cluster.
type Resource struct{ backend.Resource }

// NewResource returns the resource.
func NewResource() resource.Resource { return newResource() }

func newResource() *Resource { return &Resource{backend.Resource{Type: "_cluster"}} }

// Metadata implements [resource.Resource].
func (r *Resource) Metadata(ctx context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	r.Resource.Metadata(ctx, req, resp)
	// The ID of a cluster is known once it has formed by discovery.
	resp.ResourceBehavior.MutableIdentity = true
}

// reach returns the cluster at the addresses of nodes and at the provider's endpoints, and
// the context in which the credentials may go to the former.
func (r *Resource) reach(ctx context.Context, nodes []string, diags *diag.Diagnostics) (context.Context, *backend.Cluster, error) {
	ctx = connection.TrustHosts(ctx, nodes...)
	// In one order, because resources that have the same endpoints share what they observe.
	c, err := r.Backend.At(append(slices.Compact(slices.Sorted(slices.Values(nodes))), r.Backend.Settings.Endpoints...), diags)
	return ctx, c, err
}

// Create implements [resource.Resource]. It works on the plan alone, and does not fail for
// a reason of a cluster: an object that is stored with an error would be replaced.
func (r *Resource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	m := attribute.Read[model](ctx, req.Plan, &resp.Diagnostics)
	diags := &resp.Diagnostics
	m.ID = types.StringValue("cluster-" + r.Backend.Run.ID())
	if r.form(ctx, &m, false, diags); !diags.HasError() {
		m.store(ctx, &resp.State, resp.Identity, diags)
		want, _, _ := m.wants(ctx, diags)
		m.keepSaved(ctx, resp.Private, types.StringNull(), want, diags)
	}
}

// builder returns what builds the nodes of a model.
func (r *Resource) builder(m model, f formation) builder {
	window, _ := time.ParseDuration(cmp.Or(m.Window.ValueString(), defaultWindow)) // validated already
	return builder{
		formation: f, run: r.Backend.Run, now: r.Backend.Run.Clock.Now(), window: window, peers: map[string][]string{}, endpoints: map[string][]string{},
	}
}

// add notes URLs of a node, beside those that it was given before.
func (b builder) add(name string, v membership.NodeValues) {
	b.peers[name], b.endpoints[name] = union(b.peers[name], v.PeerURLs), union(b.endpoints[name], v.ClientURLs)
}

func union(a, b []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(slices.Concat(a, b))))
}

// Read implements [resource.Resource]. It stores the health of the nodes for the plan. It
// never fails because members are down, and keeps then what it knew.
func (r *Resource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	diags := &resp.Diagnostics
	m := attribute.Read[model](ctx, req.State, diags)
	if diags.HasError() {
		return
	}
	if r.Backend.Unknown {
		m.store(ctx, &resp.State, resp.Identity, diags)
		return
	}
	was := private.Kept[health](ctx, req.Private, healthKey, diags)
	now := r.refresh(ctx, &m, was, diags)
	r.Backend.Table.Read(m.ID.ValueString())
	private.Keep(ctx, resp.Private, healthKey, now, diags)
	if kept := private.Kept[before](ctx, req.Private, beforeKey, diags); now.Observed && len(kept.Nodes) > 0 {
		// The cluster in the state serves: its restore is not withdrawn any more.
		private.Keep(ctx, resp.Private, beforeKey, before{Lost: kept.Lost}, diags)
	}
	m.store(ctx, &resp.State, resp.Identity, diags)
}

// refresh observes the nodes. It updates the model and returns their health.
func (r *Resource) refresh(ctx context.Context, m *model, was health, diags *diag.Diagnostics) health {
	unseen := was.unobserved()
	ctx, c, err := r.reach(ctx, m.clientURLs(), diags)
	if err != nil {
		unseen.NoAddress = true
		return unseen
	}
	id, _ := membership.ParseClusterID(m.ClusterID.ValueString()) // 0 if it is not known
	snap, seen := c.Refresh(ctx, id, m.Complete.ValueBool(), diags)
	if !seen {
		return unseen
	}
	if d := snap.Gate(0); d.Code == membership.QuorumLost {
		if c.FirstTime("quorum lost") {
			report.Warn(diags, text.Message{Summary: "The cluster has lost its quorum", Detail: text.Advice(membership.Warning{Code: d.Code, Facts: d.Facts}, snap)})
		}
		return unseen // no list can be confirmed, and to wait for one takes long
	}
	// What leads to a rebuild needs a list that a majority confirms.
	if snap.Gate(0).Verdict != membership.Go {
		if snap, err = c.Confirmed(ctx, snap.ClusterID, reconfigure.ActionRead, "the cluster"); err != nil {
			if m.Complete.ValueBool() && c.FirstTime("not confirmed") {
				report.Warn(diags, text.New("The cluster cannot be observed", "No node is rebuilt until it can.%s",
					text.Cause(err)))
			}
			return unseen
		}
	}
	after := m.after()
	now := judge(ctx, c, snap, m.inState(ctx, diags), was, after)
	now.warn(c, after, diags)
	if left := now.Unmanaged(was.NodesHealth); len(left) > 0 && c.FirstTime("unmanaged "+snap.ClusterID.String()) {
		report.Warn(diags, text.New("No resource manages some members",
			"The cluster lists %s, and has no record of an etcd_member or etcd_learner for their nodes. A plan that replaces their machines does not remove them first. "+
				"If this plan creates or updates these resources, the apply records them. If not, import them:\n\n%s",
			text.Members(listed(left)), text.MemberBlocks(listed(left))))
	}
	m.ClusterID, m.Complete = types.StringValue(snap.ClusterID.String()), types.BoolValue(true)
	status := attribute.TextsByKey(m.Status)
	for _, e := range now.Members {
		if e.Node != "" {
			status[e.Name] = string(e.Status)
		}
	}
	m.Status = mapOf(status)
	now.Other = m.otherObject(ctx, c, snap.ClusterID, was.Other)
	return now
}

// Update implements [resource.Resource]. It builds the nodes that are new or rebuilt. It
// does not fail for a reason of the cluster, because the machine of a rebuilt node is
// already gone. For names that are gone it is the backstop.
func (r *Resource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	diags := &resp.Diagnostics
	m := attribute.Read[model](ctx, req.Plan, diags)
	state := attribute.Read[model](ctx, req.State, diags)
	stored := private.Kept[health](ctx, req.Private, healthKey, diags)
	want, initial, _ := m.wants(ctx, diags)
	does := m.restoration(ctx, state, private.Kept[before](ctx, req.Private, beforeKey, diags), want, diags)
	r.carryOut(ctx, does, resp.Private, diags)
	if does.action == membership.RestoreNow && !diags.HasError() {
		r.form(ctx, &m, true, diags)
		m.store(ctx, &resp.State, resp.Identity, diags)
	}
	if does.action == membership.RestoreNow || diags.HasError() {
		return
	}
	state = does.state
	f := m.formationOf(ctx, want, nil, "", diags) // what is built now joins
	f.clusterID = state.ClusterID.ValueString()
	b := r.builder(m, f)
	p := m.nodesPlan(ctx, state, want, stored, req.Private, diags)
	for name, w := range want {
		b.add(name, w)
	}
	for name, v := range p.Nodes { // a changed address that is pending is not in force
		b.add(name, v.NodeValues)
	}
	nodes := m.nodes(ctx, diags)
	left := private.Kept[map[string][]string](ctx, req.Private, leftKey, diags)
	at, c, err := r.reach(ctx, append(state.clientURLs(), p.presentURLs()...), diags)
	if err == nil {
		b.others = r.listed(at, c, state.ClusterID)
	}
	if !state.Complete.ValueBool() {
		b.members = len(initial)
	}
	for _, name := range slices.Sorted(maps.Keys(p.Nodes)) {
		if v := p.Nodes[name]; nodes[name].ID.IsUnknown() {
			nodes[name] = b.build(ctx, name, v.NodeValues, append(v.Replaces, left[name]...), diags)
		}
	}
	m.setNodes(ctx, nodes, p.presentURLs(), diags)
	m.store(ctx, &resp.State, resp.Identity, diags)
	p.keepFormer(ctx, resp.Private, stored, diags)
	m.keepSaved(ctx, resp.Private, state.Snapshot, want, diags)
	if err == nil {
		m.record(at, c, private.Kept[object](ctx, req.Private, objectKey, diags), resp.Private, diags)
	}
	gone := state.inState(ctx, diags)
	for name, ids := range left {
		last := len(ids) - 1
		gone = append(gone, membership.Node{Name: name, Replaces: ids[:last], ID: ids[last]})
	}
	left = map[string][]string{}
	for _, n := range gone {
		if _, stays := nodes[n.Name]; !stays && (err != nil || !r.cleanUp(at, c, n, diags)) {
			left[n.Name] = append(n.Replaces, n.ID)
		}
	}
	private.Keep(ctx, resp.Private, leftKey, left, diags)
}

// leftKey is the key of nodes that are gone and whose members may be left, because the
// cluster did not answer: the IDs by name. The next update asks again, and a node that gets
// the name replaces them.
const leftKey = "left"

// listed returns the peer URLs of the members that the cluster lists, nil if it does not
// answer in time.
func (r *Resource) listed(ctx context.Context, c *backend.Cluster, id types.String) (urls []string) {
	ctx, cancel := context.WithTimeout(ctx, 2*lookTimeout)
	defer cancel()
	want, _ := membership.ParseClusterID(id.ValueString())
	snap, err := c.CachedSnapshot(ctx, want)
	if err != nil || want != 0 && snap.ClusterID != want {
		return nil
	}
	for _, m := range snap.Members {
		if !m.Learner {
			urls = append(urls, membership.NormalURLs(m.PeerURLs)...)
		}
	}
	return urls
}

// cleanUp removes what was added for a node that is gone and is still in the cluster, and
// reports whether nothing is left: see [reconfigure.Engine.CleanUp]. The peer URLs of the
// nodes before it may have been others.
func (r *Resource) cleanUp(ctx context.Context, c *backend.Cluster, n membership.Node, diags *diag.Diagnostics) bool {
	for _, owner := range append(slices.Clone(n.Replaces), n.ID) {
		req := reconfigure.CleanUpRequest{Owner: owner, Name: n.Name}
		if owner == n.ID {
			req.PeerURLs = n.PeerURLs
		}
		out, err := c.CleanUp(ctx, req)
		if err != nil {
			report.Warn(diags, text.New("Could not check what was added for "+n.Name,
				"The node was removed, and the cluster did not answer or has no quorum. Nothing was changed in the cluster. "+
					"The next apply that changes etcd_cluster or adds %[1]s again checks it. To do it now, find the ID of %[1]s in the member list, and remove that member if it is there:\n\n"+
					"  etcdctl member list\n  etcdctl member remove ID%[2]s", n.Name, text.Cause(err)))
			return false
		}
		report.Done(diags, reconfigure.ActionRemove, n.Name, out.Outcome)
	}
	err := c.AbandonReplacement(ctx, n.ID, n.Name)
	if err != nil {
		report.Warn(diags, text.TurnLeft(n.Name, err))
	}
	return err == nil
}

// Delete implements [resource.Resource]. It refuses while the cluster answers, unless this
// run has given the cluster up with its last member.
func (r *Resource) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	diags := &resp.Diagnostics
	m := attribute.Read[model](ctx, req.State, diags)
	if diags.HasError() {
		return
	}
	ctx, c, err := r.reach(ctx, m.clientURLs(), diags)
	if err != nil {
		return // no address is known
	}
	id, _ := membership.ParseClusterID(m.ClusterID.ValueString())
	if id != 0 && c.IsDissolved(id) {
		return // nothing of it is left
	}
	for _, n := range m.inState(ctx, diags) {
		r.cleanUp(ctx, c, n, diags)
	}
	at, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	snap, err := c.Cluster.Observe(at, id)
	if err == nil && snap.ClusterID != 0 && (id == 0 || snap.ClusterID == id) && !c.IsDissolved(snap.ClusterID) {
		report.Error(diags, text.New("The cluster still answers",
			"Cluster %s answers, and its etcd_cluster is destroyed after its members, which are removed first. "+
				"Nothing was changed. "+
				"To keep the cluster, put the etcd_cluster back into the configuration. To forget the cluster and "+
				"keep it running, run:\n\n  terraform state rm 'etcd_cluster.this'\n\n"+
				"To end the cluster, its members must be in the state, and destroyed in the same run.", snap.ClusterID))
	}
}
