// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package cluster

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

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
// during the apply, when a member and its machine are already gone. Only the creation,
// a restore and a plan without a refresh look at what runs.
func (r *Resource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	var state model
	if !req.State.Raw.IsNull() {
		state = attribute.Read[model](ctx, req.State, &resp.Diagnostics)
		r.Backend.Table.Keep(state.ID.ValueString(), "") // whatever comes of the plan
	}
	if req.Plan.Raw.IsNull() {
		if id, err := membership.ParseClusterID(state.ClusterID.ValueString()); err == nil {
			r.Backend.Table.End(id)
		}
		return
	}
	plan := attribute.Read[model](ctx, req.Plan, &resp.Diagnostics)
	known := state.Members.Elements()
	for _, name := range slices.Sorted(maps.Keys(plan.Members.Elements())) {
		if _, ok := known[name]; !ok { // an existing member with a name of other characters can be imported
			attribute.CheckNewName(path.Root("members").AtMapKey(name), types.StringNull(), types.StringValue(name), &resp.Diagnostics)
		}
	}
	if resp.Diagnostics.HasError() {
		return
	}
	id, isNew := r.claim(ctx, req, resp, plan)
	if req.State.Raw.IsNull() {
		r.planCreation(ctx, &plan, id, isNew, &resp.Diagnostics)
	} else {
		r.Backend.Table.Keep(state.ID.ValueString(), id)
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
func (r *Resource) planCreation(ctx context.Context, plan *model, object string, isNew bool, diags *diag.Diagnostics) {
	plan.ID, plan.ClusterID, plan.Complete = types.StringUnknown(), types.StringUnknown(), types.BoolValue(false)
	plan.Pending, plan.Reason, plan.Node = listOf(nil), types.StringNull(), types.MapUnknown(types.ObjectType{AttrTypes: node.Types})
	want, initial, _ := plan.wants(ctx, diags)
	if want != nil && !diags.HasError() {
		plan.checkFormation(ctx, want, len(initial), diags)
		r.checkNothingRuns(ctx, want, diags)
		r.checkReplacesNone(ctx, want, object, isNew, diags)
		plan.planForming(ctx, want, diags)
	}
	// Nothing answers there yet. The nodes show where, and every status is pending.
	plan.Status, plan.Endpoints = types.MapUnknown(types.StringType), types.ListUnknown(types.StringType)
}

// planUpdate plans the nodes of a cluster in the state.
func (r *Resource) planUpdate(ctx context.Context, plan *model, state model, stored health, kept private.Reader, diags *diag.Diagnostics) {
	want, initial, known := plan.wants(ctx, diags)
	if !known {
		report.ErrorOn(diags, "members", unknownValues("members, version, revision or rebuild"))
		return
	}
	plan.planDiscovery(ctx, state, diags)
	has := state.nodes(ctx, diags)
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if _, there := has[name]; there && isUnknown(want[name].PeerURLs) {
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
		plan.checkFormation(ctx, want, len(initial), diags)
		plan.planForming(ctx, want, diags)
		return
	}
	warned := does.action == membership.RestoreNothing && attribute.IsGiven(plan.Restore) && !attribute.As[restore](ctx, plan.Restore, diags).same(attribute.As[restore](ctx, state.Restore, diags))
	state = does.state
	p := plan.nodesPlan(ctx, state, want, stored, kept, diags)
	if diags.HasError() || !r.agrees(ctx, p, state, stored, diags) {
		return
	}
	r.noteEffects(p, state, stored)
	p.check(plan.Version.ValueString(), stored, diags)
	nodes, status := map[string]node.Node{}, attribute.TextsByKey(state.Status)
	for _, name := range p.TakenBack {
		status[name] = string(membership.NodeVoter)
	}
	for name, v := range p.Nodes {
		switch v.Action {
		case membership.NodeKept:
			n := p.has[name]
			n.Version, n.Revision = attribute.TextOf(v.Version), mapOf(v.Revision)
			n.Start = renewed(n, p.presentURLs(), diags)
			nodes[name] = n
		case membership.NodeNew:
			nodes[name], status[name] = planned(name, v.NodeValues), string(membership.NodePending)
		case membership.NodeRebuilt:
			nodes[name], status[name] = planned(name, v.NodeValues), string(membership.NodeReplacing)
		}
	}
	maps.DeleteFunc(status, func(name, _ string) bool { _, stays := nodes[name]; return !stays })
	plan.ID, plan.ClusterID, plan.Complete, plan.Status = state.ID, state.ClusterID, state.Complete, mapOf(status)
	plan.setNodes(ctx, nodes, p.presentURLs(), diags)
	reason := p.reason(state.Complete.ValueBool(), stored.NoAddress)
	p.warn(reason, stored, diags)
	plan.Pending, plan.Reason = p.withSilent(reason, stored, plan.after())
	if warned {
		report.WarnAt(diags, path.Root("restore"), text.New("The cluster exists, and nothing is restored",
			"The plan stores the new value of restore and restores nothing. If the cluster is lost and the snapshot replaces it, confirm that with its ID in restore:\n\n  replaces_cluster = %q",
			state.ClusterID.ValueString()))
	}
}

// planDiscovery keeps discovery as it is in the state if its token is the same, which
// may be complete since. It refuses another token before the cluster has formed, because
// the nodes have the former one.
func (m *model) planDiscovery(ctx context.Context, state model, diags *diag.Diagnostics) {
	was, now := attribute.As[bootstrap.Bootstrap](ctx, state.Discovery, diags), attribute.As[bootstrap.Bootstrap](ctx, m.Discovery, diags)
	none := was == nil && m.Discovery.IsNull()
	switch {
	case was != nil && now != nil && now.Environment.Equal(was.Environment):
		m.Discovery = state.Discovery
	case !none && !state.Complete.ValueBool() && (now == nil || !now.Complete.ValueBool()):
		report.ErrorOn(diags, "discovery", text.New("The discovery token changed too early",
			"The cluster has not responded yet, and its nodes have the former token in their user data. Another token would have no effect on them. "+
				"Undo the change of discovery. If the cluster never formed and cannot form with that token, see "+
				text.StartAgain+text.DestroyInstead))
	}
}

// nodesPlan is a [membership.NodesPlan] of this resource.
type nodesPlan struct {
	membership.NodesPlan
	wanted map[string]membership.NodeValues
	nodes  []membership.Node // in the state
	// has are the nodes in the state, or the former ones that are taken back.
	has, former map[string]node.Node
	// saves is true if the apply stores another snapshot.
	saves bool
}

func (m model) nodesPlan(ctx context.Context, state model, want map[string]membership.NodeValues, stored health, kept private.Reader, diags *diag.Diagnostics) nodesPlan {
	p := nodesPlan{
		wanted: want, has: state.nodes(ctx, diags), former: unpack(ctx, private.Kept[[]byte](ctx, kept, formerKey, diags), diags), saves: !m.Snapshot.Equal(state.Snapshot),
	}
	saved := private.Kept[map[string]membership.NodeValues](ctx, kept, savedKey, diags)
	for _, name := range slices.Sorted(maps.Keys(p.has)) {
		n := built(name, p.has[name], diags)
		n.Unsaved = !m.Snapshot.IsNull() && (p.saves || !reflect.DeepEqual(saved[name], want[name]))
		if former, ok := p.former[name]; ok {
			n.Former = new(built(name, former, diags))
		}
		p.nodes = append(p.nodes, n)
	}
	p.NodesPlan = membership.PlanNodes(want, p.nodes, stored.NodesHealth)
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
		report.ErrorOn(diags, "version", text.New("The first version must be what runs",
			"The state has no version for %s, and the plan would note %s, which is not what they run (%s). Set version to what they run and apply. Then change it.",
			p.FirstVersion, want, slices.Compact(running)))
	}
	if p.Upgrade.Code == membership.UpgradeFine {
		return
	}
	t := text.Upgrade(p.Upgrade, stored.Running())
	if p.Upgrade.Code.Refused() {
		report.ErrorOn(diags, "version", t)
	} else {
		report.Warn(diags, t)
	}
}

// warn says which node is rebuilt, which wait, and what else a person should look at.
func (p nodesPlan) warn(reason string, stored health, diags *diag.Diagnostics) {
	waiting := cmp.Or(strings.Join(p.Pending, ", "), "none")
	switch {
	case p.Failed:
		report.Warn(diags, text.New("Node "+p.Rebuilt+" has failed and is rebuilt",
			"%s The plan removes the failed member first, then a new machine joins in its place. If it is only rebooting, wait and plan again. Pending after it: %s.",
			stored.Silent[p.Rebuilt].Evidence, waiting))
	case p.Rebuilt != "":
		report.Warn(diags, text.New("Node "+p.Rebuilt+" is rebuilt", "The plan replaces its member and its machine. Pending after it, one in each apply: %s.", waiting))
	case len(p.Pending) > 0:
		report.Warn(diags, text.New("No node is rebuilt", "Pending: %s. Reason: %s.", waiting, reason))
	}
	if len(p.TakenBack) > 0 {
		report.Warn(diags, text.New("The rebuild of "+strings.Join(p.TakenBack, ", ")+" is taken back",
			"An earlier apply rebuilt it in etcd_cluster, and the machine and the member did not follow. No node may be rebuilt now. "+
				"The plan restores the former node, so the machine and the member stay as they are. A later plan rebuilds the node in its turn."))
	}
	if len(p.DeadLearners) > 0 {
		report.Warn(diags, text.New("Learners do not answer",
			"These learners do not answer: %s. A learner can block the member that the plan adds again. Remove them, or bring them back.", p.DeadLearners))
	}
	if len(p.Deviating) > 0 {
		report.Warn(diags, text.New("Members run another version than their nodes have",
			"The image of the machine decides which version runs. %s: set version to what the members run, or correct the image. Other nodes wait.", p.Deviating))
	}
	if left := stored.Unclaimed(p.wanted); len(left) > 0 {
		report.Warn(diags, text.New("Members stay in the cluster",
			"The cluster lists %s, and members does not have them. No etcd_member is on record for them, so they stay in the cluster and count for its quorum. "+
				"Add them to members and import each as an etcd_member, or remove them:\n\n  etcdctl member remove %s", text.Members(listed(left)), left[0].Member))
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
	return listOf(p.Pending), attribute.TextOf(reason)
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
func renewed(n node.Node, present []string, diags *diag.Diagnostics) types.String {
	s := startOf(n, diags)
	own := clientURLs(n)
	left := slices.ContainsFunc(s.Endpoints, func(u string) bool { return !slices.Contains(own, u) && slices.Contains(present, u) })
	others := slices.ContainsFunc(present, func(u string) bool { return !slices.Contains(own, u) && u != unknownURL })
	if left || !others || isUnknown(present) {
		return n.Start
	}
	s.Endpoints = slices.Sorted(slices.Values(present))
	return s.Text()
}

func unknownValues(what string) text.Message {
	return text.New(what+" is not known at plan",
		"The plan decides which node is rebuilt next, so %s must be known when Terraform plans. Create what it follows from first, for example:\n\n"+
			"  terraform apply -target='ADDRESS OF THAT RESOURCE'\n\nThen run terraform apply.", what)
}

// reason says why the nodes that are pending wait, "" if none does. complete is true if
// the cluster has responded once, noAddress if no address of it is known.
func (p nodesPlan) reason(complete, noAddress bool) string {
	others := strings.Join(p.Others, ", ")
	switch p.Reason {
	case membership.NodesNext:
		if len(p.Pending) == 0 {
			return ""
		}
		return p.Rebuilt + " is rebuilt first"
	case membership.NodesUnobserved:
		if noAddress {
			return "the addresses of the members are not known: set endpoints of the provider, or ETCDCTL_ENDPOINTS"
		}
		if complete && others != "" {
			return "the members of " + others + " have not been seen since their nodes were built"
		}
		if !complete {
			return "the cluster has not responded yet: check that its machines run, the log of etcd on them, the " +
				"addresses in members, " +
				"and the certificates and credentials of the provider (" + text.StartAgain + ")"
		}
		return "the cluster was not observed at the last refresh, or has no quorum"
	case membership.NodesTooFew:
		return "the quorum needs each of one or two voting members: grow to three first"
	case membership.NodesBelowQuorum:
		return fmt.Sprintf("without it, %d of the voting members would be alive, and the quorum is %d", p.Alive, p.Quorum)
	case membership.NodesUnhealthy:
		return "not healthy: " + others
	case membership.NodesURLsPending:
		return "not restarted with its new peer URLs yet: " + others
	case membership.NodesOnTheWay:
		return "rebuilt and not voting yet: " + others
	case membership.NodesDeviate:
		return others + " runs another version than its node has: the image of the machine decides"
	case membership.NodesUnsaved:
		if p.saves {
			return "this apply stores the snapshot that is taken first, and a later plan goes on"
		}
		return "no snapshot was taken since the change: take one, with other triggers of the etcd_snapshot"
	case membership.NodesVersionUnknown:
		return "the version is not known of " + others
	}
	return ""
}
