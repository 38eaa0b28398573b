// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package cluster

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	port "github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/attribute"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/bootstrap"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/node"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/private"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/report"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

// lookTimeout limits the observation of a cluster that probably does not exist yet.
const lookTimeout = 3 * time.Second

// ModifyPlan implements [resource.ResourceWithModifyPlan]. It decides from the
// configuration, the state and what Read stored alone, because Terraform calls it again
// during the apply, when a member and its machine are already gone. Only the creation and
// a restore look at what runs.
func (r *Resource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if req.Plan.Raw.IsNull() {
		return
	}
	plan := attribute.Read[model](ctx, req.Plan, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	r.claim(ctx, req, resp, plan)
	if req.State.Raw.IsNull() {
		r.planCreation(ctx, &plan, &resp.Diagnostics)
	} else {
		state := attribute.Read[model](ctx, req.State, &resp.Diagnostics)
		stored := private.Kept[health](ctx, req.Private, healthKey, &resp.Diagnostics)
		if !resp.Diagnostics.HasError() {
			r.planUpdate(ctx, &plan, state, stored, req.Private, &resp.Diagnostics)
		}
		plan.checkObject(ctx, state, stored, req.Private, &resp.Diagnostics)
	}
	if !resp.Diagnostics.HasError() {
		resp.Diagnostics.Append(resp.Plan.Set(ctx, &plan)...)
	}
}

// planCreation plans a cluster that does not exist yet.
func (r *Resource) planCreation(ctx context.Context, plan *model, diags *diag.Diagnostics) {
	plan.ID, plan.ClusterID, plan.Complete = types.StringUnknown(), types.StringUnknown(), types.BoolValue(false)
	plan.Pending, plan.Reason, plan.Node = listOf(nil), types.StringNull(), types.MapUnknown(types.ObjectType{AttrTypes: node.Types})
	want, known := plan.wants(ctx, diags)
	if want != nil && !diags.HasError() {
		plan.checkFormation(ctx, want, diags)
		r.checkNothingRuns(ctx, want, diags)
		plan.planForming(ctx, want, known, diags)
	}
	// Nothing answers there yet. The nodes show where, and every status is pending.
	plan.Status, plan.Endpoints = types.MapUnknown(types.StringType), types.ListUnknown(types.StringType)
}

// checkFormation refuses members that do not fit their token, or of which none forms the
// cluster.
func (m model) checkFormation(ctx context.Context, want map[string]wanted, diags *diag.Diagnostics) {
	initial, clients := 0, map[string][]string{}
	for name, w := range want {
		clients[name] = w.ClientURLs
		if !w.learner {
			initial++
		}
	}
	boot := bootstrap.From(ctx, m.Discovery, diags)
	switch {
	case initial == 0:
		report.ErrorOn(diags, "members", noInitialMember)
	case boot == nil:
		bootstrap.AdviseSize(initial, diags)
	case boot.Complete.ValueBool():
		report.ErrorOn(diags, "discovery", tokenComplete)
	case attribute.IsGiven(boot.Size) && boot.Size.ValueInt64() != int64(initial):
		report.ErrorOn(diags, "members", wrongSize(boot.Size.ValueInt64(), initial))
	default:
		boot.RefuseMembers(clients, diags)
	}
}

// checkNothingRuns refuses to create a cluster at the addresses of one that runs: its
// state was lost, it has another key, or it is tainted. Silence proves nothing, and is
// what a first apply finds, unless the state has the cluster: then it may have formed.
func (r *Resource) checkNothingRuns(ctx context.Context, want map[string]wanted, diags *diag.Diagnostics) {
	var urls, peers []string
	for _, w := range want {
		if !w.unknown {
			urls, peers = append(urls, w.ClientURLs...), append(peers, w.PeerURLs...)
		}
	}
	slices.Sort(urls)
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
		report.ErrorOn(diags, "members", running(snap))
	case err != nil && port.Hopeless(err):
		report.ErrorOn(diags, "members", answering(err))
	default:
		if was, ok := membership.InState(r.Backend.Table.Clusters(), peers); ok {
			report.ErrorOn(diags, "members", inState(was.Cluster))
		}
	}
}

// planUpdate plans the nodes of a cluster in the state.
func (r *Resource) planUpdate(ctx context.Context, plan *model, state model, stored health, kept private.Reader, diags *diag.Diagnostics) {
	want, known := plan.wants(ctx, diags)
	if want == nil || !known {
		report.ErrorOn(diags, "members", unknownValues("members, version, revision or rebuild"))
		return
	}
	plan.planDiscovery(ctx, state, diags)
	has := state.nodes(ctx, diags)
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if _, there := has[name]; there && want[name].unknown {
			report.ErrorOn(diags, "members", unknownValues("the address of "+name))
			return
		}
	}
	does := plan.restoration(ctx, state, private.Kept[before](ctx, kept, beforeKey, diags), want, diags)
	if !r.planRestore(ctx, does, diags) {
		return
	}
	if does.action == membership.RestoreNow {
		plan.ID = state.ID
		plan.checkFormation(ctx, want, diags)
		plan.planForming(ctx, want, true, diags)
		return
	}
	warned := does.action == membership.RestoreNothing && attribute.IsGiven(plan.Restore) && !restoreOf(ctx, plan.Restore, diags).same(restoreOf(ctx, state.Restore, diags))
	state = does.state
	p := plan.nodesPlan(ctx, state, want, stored, kept, diags)
	if diags.HasError() {
		return
	}
	p.check(plan.Version.ValueString(), stored, diags)
	nodes, status := map[string]node.Node{}, texts(state.Status)
	for _, name := range p.TakenBack {
		status[name] = string(membership.NodeVoter)
	}
	for name, v := range p.Nodes {
		switch v.Action {
		case membership.NodeKept:
			n := p.has[name]
			n.Version, n.Revision = textOf(v.Version), mapOf(v.Revision)
			n.Start = renewed(ctx, n, p.presentURLs(), diags)
			nodes[name] = n
		case membership.NodeNew:
			nodes[name], status[name] = planned(name, v.NodeValues, want[name].unknown), string(membership.NodePending)
		case membership.NodeRebuilt:
			nodes[name], status[name] = planned(name, v.NodeValues, false), string(membership.NodeReplacing)
		}
	}
	maps.DeleteFunc(status, func(name, _ string) bool { _, stays := nodes[name]; return !stays })
	plan.ID, plan.ClusterID, plan.Complete, plan.Status = state.ID, state.ClusterID, state.Complete, mapOf(status)
	plan.setNodes(ctx, nodes, p.presentURLs(), diags)
	reason := reasonOf(p.NodesPlan, state.Complete.ValueBool(), stored.NoAddress)
	p.warn(reason, stored, diags)
	plan.Pending, plan.Reason = p.withSilent(reason, stored, plan.after())
	if warned {
		report.WarnAt(diags, path.Root("restore"), notRestored(state.ClusterID.ValueString()))
	}
	if left := stored.Unclaimed(p.wanted); len(left) > 0 {
		report.Warn(diags, unclaimed(left))
	}
}

// planDiscovery keeps discovery as it is in the state if its token is the same, which
// may be complete since. It refuses another token before the cluster has formed, because
// the nodes have the former one.
func (m *model) planDiscovery(ctx context.Context, state model, diags *diag.Diagnostics) {
	was, now := bootstrap.From(ctx, state.Discovery, diags), bootstrap.From(ctx, m.Discovery, diags)
	switch {
	case was != nil && now != nil && now.Environment.Equal(was.Environment):
		m.Discovery = state.Discovery
	case was == nil && m.Discovery.IsNull():
	case !state.Complete.ValueBool() && (now == nil || !now.Complete.ValueBool()):
		report.ErrorOn(diags, "discovery", anotherToken)
	}
}

// nodesPlan is a [membership.NodesPlan] of this resource.
type nodesPlan struct {
	membership.NodesPlan
	wanted map[string]membership.NodeValues
	// has are the nodes in the state, or the former ones that are taken back.
	has, former map[string]node.Node
}

func (m model) nodesPlan(ctx context.Context, state model, want map[string]wanted, stored health, kept private.Reader, diags *diag.Diagnostics) nodesPlan {
	p := nodesPlan{wanted: map[string]membership.NodeValues{}, has: state.nodes(ctx, diags), former: formerNodes(ctx, kept, diags)}
	for name, w := range want {
		p.wanted[name] = w.NodeValues
	}
	var nodes []membership.Node
	for _, name := range slices.Sorted(maps.Keys(p.has)) {
		n := built(ctx, name, p.has[name], diags)
		if former, ok := p.former[name]; ok {
			n.Former = new(built(ctx, name, former, diags))
		}
		nodes = append(nodes, n)
	}
	p.NodesPlan = membership.PlanNodes(p.wanted, nodes, stored.NodesHealth)
	for _, name := range p.TakenBack {
		p.has[name] = p.former[name]
	}
	return p
}

// check refuses versions that the cluster would not accept.
func (p nodesPlan) check(want string, stored health, diags *diag.Diagnostics) {
	if len(p.FirstVersion) > 0 {
		var running []string
		for _, e := range stored.Members {
			if slices.Contains(p.FirstVersion, e.Name) {
				running = append(running, e.Version)
			}
		}
		slices.Sort(running)
		report.ErrorOn(diags, "version", firstVersion(p.FirstVersion, want, slices.Compact(running)))
	}
	if p.Upgrade == membership.UpgradeFine {
		return
	}
	t := text.Upgrade(p.Step, p.Upgrade, stored.Running())
	if p.Upgrade.Refused() {
		report.ErrorOn(diags, "version", t)
	} else {
		report.Warn(diags, t)
	}
}

// warn says which node is rebuilt, which wait, and what else a person should look at.
func (p nodesPlan) warn(reason string, stored health, diags *diag.Diagnostics) {
	if t, say := rebuilding(p.NodesPlan, reason, stored.Silent[p.Rebuilt].Evidence); say {
		report.Warn(diags, t)
	}
	if len(p.TakenBack) > 0 {
		report.Warn(diags, takenBack(p.TakenBack))
	}
	if len(p.DeadLearners) > 0 {
		report.Warn(diags, deadLearners(p.DeadLearners))
	}
	if len(p.Deviating) > 0 {
		report.Warn(diags, deviating(p.Deviating))
	}
}

// withSilent returns what is pending, and why, with the members that are silent: an apply
// stores since when only if it changes something.
func (p nodesPlan) withSilent(reason string, stored health, after time.Duration) (types.List, types.String) {
	silent, until := stored.waiting(after)
	for _, name := range silent {
		if _, stays := p.Nodes[name]; stays && name != p.Rebuilt && !slices.Contains(p.Pending, name) {
			p.Pending, reason = append(p.Pending, name), cmp.Or(reason, until)
		}
	}
	slices.Sort(p.Pending)
	return listOf(p.Pending), textOf(reason)
}

// presentURLs are the client URLs of the nodes after the apply.
func (p nodesPlan) presentURLs() (urls []string) {
	for _, v := range p.Nodes {
		urls = append(urls, v.ClientURLs...)
	}
	return urls
}

// renewed returns the start of a node that is kept. Its endpoints are renewed if none of
// them belongs to another present node: through them the member would be unreachable once
// it is dead.
func renewed(ctx context.Context, n node.Node, present []string, diags *diag.Diagnostics) types.Object {
	s := node.StartOf(ctx, n.Start, diags)
	own := clientURLs(n)
	left := slices.ContainsFunc(attribute.Texts(s.Endpoints), func(u string) bool { return !slices.Contains(own, u) && slices.Contains(present, u) })
	others := slices.ContainsFunc(present, func(u string) bool { return !slices.Contains(own, u) && u != unknownURL })
	if left || !others || slices.Contains(present, unknownURL) {
		return n.Start
	}
	s.Endpoints = attribute.SetOf(slices.Sorted(slices.Values(present)))
	return objectOf(ctx, s, diags)
}
