// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package cluster

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/joinscript"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/attribute"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/node"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/private"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/report"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

// restore is the argument restore: the snapshot that the initial members restore.
type restore struct {
	Snapshot      types.String `tfsdk:"snapshot"`
	SHA256        types.String `tfsdk:"sha256"`
	RevisionBump  types.Int64  `tfsdk:"revision_bump"`
	MarkCompacted types.Bool   `tfsdk:"mark_compacted"`
	// ReplacesCluster confirms that this cluster is lost. Gone are those of its voters
	// that the operator states are gone for good.
	ReplacesCluster types.String `tfsdk:"replaces_cluster"`
	Gone            types.Set    `tfsdk:"gone"`
}

// variables are those of an initial member, when all values are known.
func (r *restore) variables() map[string]string {
	out := map[string]string{
		joinscript.RestoreVariable:       r.Snapshot.ValueString(),
		joinscript.RestoreSHA256Variable: strings.ToLower(r.SHA256.ValueString()),
	}
	if bump := r.RevisionBump.ValueInt64(); bump > 0 {
		out[joinscript.RestoreBumpVariable] = strconv.FormatInt(bump, 10)
	}
	return out
}

// beforeKey is the key of what a restore keeps; see [before].
const beforeKey = "before"

// giveUpTimeout limits how long an apply waits for servers that end.
const giveUpTimeout = time.Minute

// before is what an apply keeps that gave up a cluster.
type before struct {
	// Lost is the cluster. Members of it may be left in the state.
	Lost membership.GivingUp `json:"lost"`
	// Nodes are its nodes ([pack]), until the restored cluster has answered. The others are what the state had beside them.
	Nodes    []byte               `json:"nodes,omitempty"`
	Status   map[string]string    `json:"status,omitempty"`
	Complete bool                 `json:"complete,omitempty"`
	Replaced membership.ClusterID `json:"replaced,omitempty"`
}

// into returns the state with the nodes before in it.
func (k before) into(ctx context.Context, state model, diags *diag.Diagnostics) model {
	nodes := unpack(ctx, k.Nodes, diags)
	state.ClusterID, state.Complete, state.Status = types.StringValue(k.Lost.Cluster.String()), types.BoolValue(k.Complete), mapOf(k.Status)
	var urls []string
	for _, n := range nodes {
		urls = append(urls, clientURLs(n)...)
	}
	state.setNodes(ctx, nodes, urls, diags)
	return state
}

// restoration is what a plan, or its apply, does with the restore.
type restoration struct {
	action membership.RestoreAction
	code   membership.Code
	// lost is the cluster that is given up, with the ID 0 if there is none.
	lost membership.GivingUp
	// state is the state, or the one before if the restore is withdrawn.
	state model
}

// restoration decides what becomes of the restore.
func (m model) restoration(ctx context.Context, state model, kept before, want map[string]membership.NodeValues, diags *diag.Diagnostics) restoration {
	now, was := attribute.As[restore](ctx, m.Restore, diags), attribute.As[restore](ctx, state.Restore, diags)
	has := state.inState(ctx, diags)
	req := membership.RestoreRequest{
		Replaced: was.replaces(), BeforeReplaced: kept.Replaced, Confirmed: now.replaces(), Unknown: m.Restore.IsUnknown() || !now.confirms(),
		SnapshotKnown: now.known(), SnapshotChanged: !now.same(was),
		NamesMissing: slices.ContainsFunc(has, func(n membership.Node) bool { _, stays := want[n.Name]; return !stays }),
	}
	req.Cluster, _ = membership.ParseClusterID(state.ClusterID.ValueString()) // 0 if it is not known
	if len(kept.Nodes) > 0 {
		req.Before = kept.Lost.Cluster
	}
	out := restoration{state: state}
	out.action, out.code = membership.DecideRestore(req)
	given := membership.GivingUp{Why: membership.RestoreNow}
	given.Cluster = req.Cluster
	for _, n := range has {
		given.Known = append(given.Known, membership.Member{Name: n.Name, ClientURLs: n.ClientURLs})
	}
	switch out.action {
	case membership.RestoreNow:
		given.Gone = now.gone()
		out.lost = given
	case membership.RestoreWithdrawn:
		given.Why, given.Named = out.action, []membership.ClusterID{kept.Lost.Cluster}
		out.lost, out.state = given, kept.into(ctx, state, diags)
	case membership.RestoreOnTheWay:
		out.lost = kept.Lost
		out.lost.Gone, out.lost.Why = now.gone(), out.action
	case membership.RestoreNothing, membership.RestoreRefused:
		out.lost = kept.Lost
		out.lost.Unasked = true
	}
	if out.action != membership.RestoreNow && out.action != membership.RestoreWithdrawn {
		// A name that is not stated any more may serve again.
		takenOut := slices.ContainsFunc(kept.Lost.Gone, func(name string) bool { return !slices.Contains(out.lost.Gone, name) })
		out.lost.Again, out.lost.Named = !takenOut, []membership.ClusterID{req.Cluster}
	}
	_, wanted := knownURLs(want)
	out.lost.At = union(slices.Concat(state.clientURLs(), out.state.clientURLs()), wanted)
	for _, m := range out.lost.Known {
		out.lost.At = union(out.lost.At, m.ClientURLs)
	}
	return out
}

// ask asks whether the cluster may be given up that the plan gives up, if any. during is
// true during the apply.
func (r *Resource) ask(ctx context.Context, lost membership.GivingUp, during bool, diags *diag.Diagnostics) {
	if lost.Cluster == 0 {
		return
	}
	ctx, c, err := r.reach(ctx, lost.At, diags)
	if err != nil {
		c = nil // no address is known
	}
	if during {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, giveUpTimeout)
		defer cancel()
	}
	r.Backend.GiveUp(ctx, c, lost, during, diags)
}

// planRestore asks for the plan what [Resource.ask] asks, and reports what it does. It says
// whether the plan goes on.
func (r *Resource) planRestore(ctx context.Context, does restoration, diags *diag.Diagnostics) bool {
	if does.action == membership.RestoreRefused {
		report.ErrorOn(diags, "restore", restoreRefused(does.code, does.state.ClusterID.ValueString()))
		return false
	}
	// An apply asks when it begins to change something. Terraform plans again during the
	// apply, when machines have been destroyed.
	if does.lost.Cluster != 0 {
		if !does.lost.Unasked && !r.Backend.Table.Applies() {
			r.ask(ctx, does.lost, false, diags)
		}
		r.Backend.Table.EnterCluster(membership.ClusterEntry{GivesUp: &does.lost})
	}
	if diags.HasError() {
		return false
	}
	switch does.action {
	case membership.RestoreNow:
		report.Warn(diags, text.New("A snapshot takes the place of a cluster",
			"The plan gives up cluster %s. It replaces every node with its machine, forgets the members, and removes none of them from the cluster. "+
				"Writes that are not in the snapshot are lost. Apply this plan without -target. Until the restored cluster responds, the restore can be withdrawn: remove restore and apply.", does.lost.Cluster))
	case membership.RestoreWithdrawn:
		report.Warn(diags, text.New("The restore is withdrawn",
			"The plan gives up cluster %s, which an earlier apply began to restore and which has not responded yet. "+
				"It puts the nodes of cluster %s back. Machines that were replaced in the meantime are replaced again."+
				"\n\nIf the plan is refused because of a member, withdraw the restore for the etcd_cluster alone, "+
				"and then rebuild the nodes whose machines were replaced. ADDRESS is the address of the etcd_cluster:"+
				"\n\n  terraform apply -target='ADDRESS'",
			does.lost.Cluster, does.state.ClusterID.ValueString()))
	}
	return true
}

// carryOut asks again whether the cluster may be given up that the plan gives up, and
// keeps what leads back.
func (r *Resource) carryOut(ctx context.Context, does restoration, keep private.Writer, diags *diag.Diagnostics) {
	var kept before
	switch does.action {
	case membership.RestoreNow:
		was := does.state
		kept = before{does.lost, pack(ctx, was.Node, diags), attribute.TextsByKey(was.Status), was.Complete.ValueBool(), attribute.As[restore](ctx, was.Restore, diags).replaces()}
	case membership.RestoreWithdrawn:
		kept.Lost = does.lost
	case membership.RestoreRefused:
		report.ErrorOn(diags, "restore", restoreRefused(does.code, does.state.ClusterID.ValueString()))
		return
	case membership.RestoreNothing, membership.RestoreOnTheWay:
		return
	}
	r.ask(ctx, does.lost, true, diags)
	if !diags.HasError() {
		private.Keep(ctx, keep, beforeKey, kept, diags)
	}
}

// form builds the nodes of a cluster that is to form. clusterID is "" if the cluster is
// new: a node knows its cluster only if the cluster exists, because its member must then
// be seen. The nodes of a restored cluster know it, so that no member joins a survivor of
// the cluster before.
func (r *Resource) form(ctx context.Context, m *model, restored bool, diags *diag.Diagnostics) {
	want, initial, _ := m.wants(ctx, diags)
	f := m.formationOf(ctx, want, initial, r.Backend.Run.ID()+r.Backend.Run.ID(), diags)
	b := r.builder(*m, f)
	for name, w := range want {
		b.add(name, w)
	}
	b.members = len(initial)
	if !restored {
		b.clusterID = ""
	}
	m.ClusterID = attribute.TextOf(f.clusterID)
	m.forming(ctx, want, func(name string) node.Node {
		return b.build(ctx, name, want[name], nil, diags)
	}, diags)
}

// planForming plans a cluster that is to form.
func (m *model) planForming(ctx context.Context, want map[string]membership.NodeValues, diags *diag.Diagnostics) {
	m.ClusterID = types.StringUnknown()
	m.forming(ctx, want, func(name string) node.Node {
		n := planned(name, want[name])
		n.Version, n.Revision = m.Version, m.Revision // which may be unknown
		return n
	}, diags)
}

// forming sets what a cluster that is to form has, with the nodes that build returns.
func (m *model) forming(ctx context.Context, want map[string]membership.NodeValues, build func(name string) node.Node, diags *diag.Diagnostics) {
	nodes, status := map[string]node.Node{}, map[string]string{}
	var urls []string
	for _, name := range slices.Sorted(maps.Keys(want)) {
		nodes[name], status[name], urls = build(name), string(membership.NodePending), append(urls, want[name].ClientURLs...)
	}
	m.Complete, m.Status, m.Pending, m.Reason = types.BoolValue(false), mapOf(status), listOf(nil), types.StringNull()
	m.setNodes(ctx, nodes, urls, diags)
}

// replaces returns the cluster that the restore replaces, 0 for none.
func (r *restore) replaces() membership.ClusterID {
	if r == nil {
		return 0
	}
	id, _ := membership.ParseClusterID(r.ReplacesCluster.ValueString()) // validated already
	return id
}

// confirms reports whether it is known which cluster is replaced, and which members are
// stated to be gone.
func (r *restore) confirms() bool {
	return r == nil || !r.ReplacesCluster.IsUnknown() && !attribute.SomeUnknown(r.Gone)
}

// known reports whether the snapshot is known.
func (r *restore) known() bool {
	return r != nil && !r.Snapshot.IsUnknown() && !r.SHA256.IsUnknown() && !r.RevisionBump.IsUnknown()
}

// same reports whether two restore the same snapshot in the same way.
func (r *restore) same(other *restore) bool {
	if r == nil || other == nil {
		return r == other
	}
	return r.Snapshot.Equal(other.Snapshot) && r.SHA256.Equal(other.SHA256) && r.RevisionBump.Equal(other.RevisionBump)
}

func (r *restore) gone() []string { return slices.Sorted(slices.Values(attribute.Texts(r.Gone))) }

// restoreRefused is the error for a restore in place of a cluster. id is that of the
// cluster in the state.
func restoreRefused(code membership.Code, id string) text.Message {
	const summary = "Cannot restore the cluster"
	switch code {
	case membership.OtherConfirmed:
		return text.New(summary,
			"restore.replaces_cluster is not the cluster in the state. If the cluster in the state is in use, remove "+
				"restore from the configuration. "+
				"If that cluster is lost and the snapshot replaces it, confirm that with its ID:\n\n  "+
				"replaces_cluster = %q", id)
	case membership.ConfirmationUnknown:
		return text.New(summary, "replaces_cluster or gone of restore is not known at plan, and the plan must show which cluster is replaced. Write the values themselves.")
	case membership.StillOnTheWay:
		return text.New(summary,
			"The state has cluster %s, which an earlier apply restores, and it has not responded yet. If it is only slow, set restore to what it was and run terraform apply. "+
				"To restore another snapshot, withdraw this restore first: set restore to what it was before, or remove it, and run:\n\n"+
				"  terraform apply -target='etcd_cluster.this'\n\nThen set the new restore.", id)
	case membership.NamesMissing:
		return text.New(summary,
			"The plan restores the cluster and removes names from members. All machines of the lost cluster must be replaced in one apply. Keep all names, and remove some after the restore.")
	}
	return text.New(summary, // [membership.SnapshotUnknown]
		"snapshot, sha256 or revision_bump of restore is not known at plan. The machines, and with them the data, are destroyed before a new snapshot could be taken. Take the snapshot first:\n\n"+
			"  terraform apply -target='etcd_snapshot.this'\n\nThen run terraform apply.")
}
