// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package member

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/diag"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/attribute"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/backend"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/report"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
)

// guard is the part of one member in the guard of the plan.
type guard struct {
	b          *backend.Backend
	want       string // roleVoter for etcd_member, roleLearner for etcd_learner
	step       step
	was        prior
	now, state planned
	req        resource.ModifyPlanRequest
	resp       *resource.ModifyPlanResponse
}

// step is what is planned for the resource, as far as one call tells.
type step uint8

const (
	updated   step = iota // it stays; a replacement shows first as this
	removed               // for good
	successor             // the second half of a replacement
	created               // anew, or tainted
)

func newGuard(ctx context.Context, b *backend.Backend, want string, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) *guard {
	g := &guard{b: b, want: want, req: req, resp: resp}
	was, replaced, diags := priorOf(ctx, req.Private)
	resp.Diagnostics.Append(diags...)
	switch {
	case req.Plan.Raw.IsNull():
		g.step = removed
	case !req.State.Raw.IsNull():
		g.step = updated
	case replaced:
		g.step, g.was = successor, was
	default:
		g.step = created
	}
	if !req.State.Raw.IsNull() {
		resp.Diagnostics.Append(g.state.read(ctx, want, req.State)...)
		g.was = g.state.prior()
	}
	if !req.Plan.Raw.IsNull() {
		resp.Diagnostics.Append(g.now.read(ctx, want, req.Plan)...)
	} else {
		g.now = g.state
	}
	return g
}

func (g *guard) refuse(t diag.Text) { report.Error(&g.resp.Diagnostics, t) }

// check refuses what would leave a part of the node behind, or make the cluster
// lose its quorum. It runs while a plan is made: when the plan is applied, the
// same calls come with less in view.
func (g *guard) check(ctx context.Context) {
	if g.b == nil || g.resp.Diagnostics.HasError() || g.b.Chains().IsApplying() {
		return
	}
	g.checkHolder()
	g.checkWindow()
	g.checkNode()
	g.checkAddress(ctx)
	if g.b.Unknown || g.resp.Diagnostics.HasError() {
		return
	}
	if at := g.guardOf(ctx); at != nil {
		g.note(ctx, at)
	}
}

// checkHolder refuses a second resource for one member, and one in the place of
// another: a tainted one, or one that has got another key or type without a
// moved block. Both would remove the member and add it again.
func (g *guard) checkHolder() {
	twice := false
	switch g.step {
	case removed:
		twice = g.b.Plan().Hold(g.state.key(), backend.RemovedHolder)
	case updated:
		twice = g.b.Plan().Hold(g.state.key(), holder(g.want, g.state))
	case created:
		if key := g.now.key(); key != "" {
			twice = g.b.Plan().Make(key, holder(g.want, g.now))
		}
	}
	if twice {
		g.refuse(diag.SecondHolder(g.now.Name.ValueString()))
	}
}

// checkWindow warns of a member that waits for a cluster which nobody may form any
// more.
func (g *guard) checkWindow() {
	end, over := g.b.Plan().WindowClosed(g.now.Config.ValueString())
	if over && g.step == created {
		report.Warn(&g.resp.Diagnostics, diag.BootstrapWindowOver(g.now.Name.ValueString(), end))
	}
}

// checkNode refuses to replace some parts of a node and leave others behind.
func (g *guard) checkNode() {
	if !g.now.Config.IsNull() && g.now.Machine.IsNull() && g.step != removed {
		report.WarnAt(&g.resp.Diagnostics, path.Root("machine_id"), diag.NoMachineID(g.now.Name.ValueString()))
	}
	n := membership.NodePlan{HasRun: g.was.HasRun, Config: fate(g.was.Config, g.now.Config), Machine: fate(g.was.Machine, g.now.Machine)}
	switch g.step {
	case updated:
		n.Member = membership.Stays
		if g.was.Config != "" && n.Config == membership.Changes {
			return // it is replaced: that is the next call
		}
		if g.was.Config != "" && g.b.Plan().Stay(g.was.Config, g.was.Name) {
			n.Config = membership.Changes
		}
	case successor:
		n.Member = membership.Changes
	default:
		return
	}
	if d := membership.GuardNode(n); d.Verdict == membership.Refuse {
		t := diag.NodeRefused(d.Code, g.was.Name, g.was.Machine, g.now.Machine.ValueString())
		at := path.Root("machine_id")
		if d.Code == membership.MemberAlone || d.Code == membership.ConfigAlone {
			at = path.Root("config")
		}
		report.ErrorAt(&g.resp.Diagnostics, at, t)
	}
}

// fate is what becomes of a part of the node. One that is named for the first
// time, or no more, is not known to change.
func fate(was string, now types.String) membership.Fate {
	switch {
	case was == "" || now.IsNull():
		return membership.NotGiven
	case now.IsUnknown() || now.ValueString() != was:
		return membership.Changes
	default:
		return membership.Stays
	}
}

// checkAddress refuses a peer URL that another member has after the apply. For a
// member with a configuration that is the configuration's business.
func (g *guard) checkAddress(ctx context.Context) {
	if g.step == removed || !g.now.Config.IsNull() || !g.now.LearnerID.IsNull() || !g.now.Endpoints.IsNull() {
		return
	}
	var peers types.Set
	g.resp.Diagnostics.Append(g.req.Plan.GetAttribute(ctx, path.Root("peer_urls"), &peers)...)
	if g.resp.Diagnostics.HasError() || attribute.SomeUnknown(peers) {
		return
	}
	urls, diags := list(ctx, peers)
	g.resp.Diagnostics.Append(diags...)
	name := g.now.Name.ValueString()
	if url, other := g.b.Plan().Address(name, urls); url != "" {
		g.refuse(diag.SameAddress(name, other, url))
	}
}

// note notes what is planned for the member and judges the plan as far as it has
// been made. It stays silent if the cluster cannot be observed: then nothing is
// known of its voters, and configurations are counted instead.
func (g *guard) note(ctx context.Context, at *backend.Guard) {
	name := g.now.Name.ValueString()
	member, _ := membership.ParseMemberID(g.was.ID) // zero, which is no member, if there is none
	switch {
	case g.step == removed:
		at.Remove(member)
	case g.step == updated:
		at.Keep(name)
		g.readdress(ctx, at)
		return
	case g.step == successor:
		at.Replace(member)
	case g.want == roleLearner:
		g.addOnly(ctx, at)
	default:
		at.Create(name)
	}
	snap, err := at.At.View(ctx, at.Cluster)
	if err != nil || at.Cluster != 0 && snap.ClusterID != at.Cluster {
		return
	}
	g.checkIdentity(ctx, at.At, snap)
	if !g.resp.Diagnostics.HasError() {
		at.Report(ctx, snap, diag.ConfigOf(name), &g.resp.Diagnostics)
	}
}

// checkIdentity refuses a new member that the cluster has already, or cannot take
// again: one that has to be imported; one that has run and was removed, whose
// process has no identity to return under; and one that runs while the plan
// creates a machine for it.
func (g *guard) checkIdentity(ctx context.Context, c *backend.Cluster, snap membership.Snapshot) {
	if g.step != created || g.now.key() == "" || !g.now.LearnerID.IsNull() || !snap.Linearizable || len(snap.Others) > 0 {
		return
	}
	var m model
	var peers types.Set
	g.resp.Diagnostics.Append(g.req.Plan.GetAttribute(ctx, path.Root("peer_urls"), &peers)...)
	if attribute.SomeUnknown(peers) || g.resp.Diagnostics.HasError() {
		return
	}
	g.resp.Diagnostics.Append(g.req.Plan.GetAttribute(ctx, path.Root("config"), &m.Config)...)
	m.Name, m.PeerURLs = g.now.Name, peers
	kind := kindMember
	if g.want == roleLearner {
		kind = kindLearner
	}
	join, diags := m.join(ctx, kind)
	g.resp.Diagnostics.Append(diags...)
	found, err := c.Identify(ctx, join, snap)
	if err != nil || diags.HasError() {
		return // said when it is joined
	}
	u := &reconfigure.Unidentified{Name: join.Name, PeerURLs: join.PeerURLs, Identity: found, Snapshot: snap}
	switch found.Code {
	case membership.AlreadyMember, membership.NameTaken, membership.FounderRenamed, membership.MovedMember, membership.IdentityRetired:
		report.Error(&g.resp.Diagnostics, diag.NotAdopted(u))
	}
	it, _ := snap.Member(found.ID)
	if found.Step == membership.StepAdopt && len(it.ClientURLs) > 0 && join.Configured && g.now.Machine.IsUnknown() {
		report.ErrorAt(&g.resp.Diagnostics, path.Root("machine_id"), diag.NodeRefused(membership.MachineAlone, join.Name, "", ""))
	}
}

// guardOf returns the guard of the member's cluster: by its ID if the member is
// in state, by asking for a new one. Endpoints that are known after apply only
// are a new machine's: then it is the cluster that has a member of the name, or
// the only one there is. nil means that nothing can be known.
func (g *guard) guardOf(ctx context.Context) *backend.Guard {
	if !g.req.State.Raw.IsNull() {
		cluster, err := membership.ParseClusterID(g.state.ClusterID.ValueString())
		if err != nil {
			return nil
		}
		at := g.now.Endpoints
		if attribute.SomeUnknown(at) {
			at = g.state.Endpoints
		}
		c := g.reach(ctx, at)
		if c == nil {
			return nil // said where it matters
		}
		urls, diags := list(ctx, g.state.ClientURLs)
		g.resp.Diagnostics.Append(diags...)
		c.Expect(cluster, urls)
		return g.b.Guard(cluster, c)
	}
	if attribute.SomeUnknown(g.now.Endpoints) {
		return g.b.GuardOf(g.now.Name.ValueString())
	}
	c := g.reach(ctx, g.now.Endpoints)
	if c == nil {
		return nil
	}
	id := c.Expected()
	if snap, err := c.View(ctx, id); err == nil {
		id = snap.ClusterID
	}
	return g.b.Guard(id, c)
}

// reach returns the cluster at the endpoints, nil after an error. A new member
// without any endpoints is an error; what is in state can be read without.
func (g *guard) reach(ctx context.Context, at types.List) *backend.Cluster {
	endpoints, diags := list(ctx, at)
	g.resp.Diagnostics.Append(diags...)
	c, err := g.b.Cluster(endpoints)
	if err == nil {
		return c
	}
	if g.req.State.Raw.IsNull() {
		g.refuse(diag.Explain(reconfigure.ActionReach, g.now.Name.ValueString(), err))
	}
	return nil
}

// readdress refuses a second member whose peer URLs change in place: the process
// of the first has to be restarted before.
func (g *guard) readdress(ctx context.Context, at *backend.Guard) {
	var was, now types.Set
	g.resp.Diagnostics.Append(g.req.State.GetAttribute(ctx, path.Root("peer_urls"), &was)...)
	g.resp.Diagnostics.Append(g.req.Plan.GetAttribute(ctx, path.Root("peer_urls"), &now)...)
	replaced := g.was.Config != "" && fate(g.was.Config, g.now.Config) == membership.Changes
	if g.resp.Diagnostics.HasError() || replaced || now.IsUnknown() || now.Equal(was) {
		return
	}
	if names := at.Readdress(g.now.Name.ValueString()); len(names) == 2 {
		report.ErrorAt(&g.resp.Diagnostics, path.Root("peer_urls"), diag.SecondReaddress(names))
	}
}

// addOnly refuses a second learner that is added ahead of its machine: it would
// wait for the slot of the first, whose machine waits for it.
func (g *guard) addOnly(ctx context.Context, at *backend.Guard) {
	var until types.String
	g.resp.Diagnostics.Append(g.req.Plan.GetAttribute(ctx, path.Root("wait_until"), &until)...)
	if until.ValueString() != waitAnnounced {
		return
	}
	if names := at.AddOnly(g.now.Name.ValueString()); len(names) == 2 {
		g.refuse(diag.SecondAnnouncement(names))
	}
}
