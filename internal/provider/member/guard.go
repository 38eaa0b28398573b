// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package member

import (
	"cmp"
	"context"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/attribute"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/backend"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/private"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/report"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

// guard is the part of the plan's guard that concerns one member.
type guard struct {
	b          *backend.Backend
	role       role
	step       step
	was        prior
	now, state model
	req        resource.ModifyPlanRequest
	resp       *resource.ModifyPlanResponse
}

// step is the planned action for the resource, as far as one call shows it.
type step uint8

const (
	updated   step = iota // the member stays; the first call of a replacement has this step, too
	removed               // removed permanently
	successor             // the second half of a replacement
	created               // new, or tainted
)

func newGuard(ctx context.Context, r *Resource, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) *guard {
	g := &guard{b: r.backend, role: r.role, req: req, resp: resp}
	was := private.Kept[*prior](ctx, req.Private, priorKey, &resp.Diagnostics)
	switch {
	case req.Plan.Raw.IsNull():
		g.step = removed
	case !req.State.Raw.IsNull():
		g.step = updated
	case was != nil:
		g.step, g.was = successor, *was
	default:
		g.step = created
	}
	if !req.State.Raw.IsNull() {
		g.state = r.role.model(ctx, req.State, &resp.Diagnostics)
		g.was = g.state.prior()
	}
	g.now = g.state
	if !req.Plan.Raw.IsNull() {
		g.now = r.role.model(ctx, req.Plan, &resp.Diagnostics)
	}
	return g
}

func (g *guard) refuse(t text.Message) { report.Error(&g.resp.Diagnostics, t) }

// check refuses a plan that would leave a part of the node behind, or lose the
// quorum. During an apply it checks nothing: the calls get less information.
func (g *guard) check(ctx context.Context) {
	if g.b == nil || g.resp.Diagnostics.HasError() || g.b.Applying.Load() {
		return
	}
	g.checkHolder(ctx)
	g.checkWindow()
	g.checkNode()
	g.checkAddress()
	if g.isAbandoned() && g.step != created {
		g.checkAbandoned(ctx)
		return // responses of the cluster no longer matter
	}
	if g.b.Unknown || g.resp.Diagnostics.HasError() {
		return
	}
	if at := g.guardOf(ctx); at != nil {
		g.note(ctx, at)
	}
}

// checkHolder refuses a second resource for one member. It refuses a resource
// that would replace another: a tainted resource, or a resource with a new key
// or type and no moved block. Both would remove the member and add it again. It
// also refuses to remove a member that has another resource in the state.
func (g *guard) checkHolder(ctx context.Context) {
	twice := false
	switch g.step {
	case removed:
		twice = g.b.Plan.Hold(g.state.key(), backend.RemovedHolder)
	case updated:
		twice = g.b.Plan.Hold(g.state.key(), g.state.holder())
	case created:
		if key := g.now.key(); key != "" {
			twice = g.b.Plan.Make(key, g.now.holder())
		}
	}
	if twice {
		g.refuse(text.SecondHolder(g.now.Name.ValueString()))
	}
	switch g.step {
	case removed:
		g.countHolders(g.was, 0, g.takes(ctx))
	case updated: // unless it is replaced, which the next call shows
		g.countHolders(g.was, 1, 0)
	case successor:
		g.countHolders(g.was, -1, g.takes(ctx))
	}
}

// countHolders is [backend.Plan.CountHolders] for a member. It adds no error to
// a plan that is already refused.
func (g *guard) countHolders(m prior, kept, gone int) {
	if d := g.b.Plan.CountHolders(m.Cluster, m.ID, kept, gone); d.Verdict == membership.Refuse && !g.resp.Diagnostics.HasError() {
		g.refuse(text.StillHeld(m.Name, m.ID))
	}
}

// takes returns 1 if the member is removed with its resource, and 0 for a
// learner that an etcd_member has adopted.
func (g *guard) takes(ctx context.Context) int {
	var at *backend.Guard
	if g.role == roleLearner && !g.b.Unknown {
		at = g.guardOf(ctx)
	}
	cluster, bad := membership.ParseClusterID(g.was.Cluster)
	if at == nil || bad != nil {
		return 1
	}
	owner := cmp.Or(private.Kept[string](ctx, g.req.Private, movedKey, &g.resp.Diagnostics), g.was.Owner)
	id, _ := membership.ParseMemberID(g.was.ID)
	owners, err := at.Cluster.Cluster.Records(cluster).Owners(ctx, id)
	if err == nil && slices.ContainsFunc(owners, func(o string) bool { return o != owner }) {
		return 0
	}
	return 1
}

// checkWindow warns about a member that waits for a cluster whose bootstrap
// window is closed.
func (g *guard) checkWindow() {
	end, over := g.b.Plan.WindowClosed.Get(g.now.configID())
	if over && g.step == created {
		report.Warn(&g.resp.Diagnostics, text.BootstrapWindowOver(g.now.Name.ValueString(), end))
	}
}

// checkNode refuses to replace some parts of a node without the others.
func (g *guard) checkNode() {
	if !g.now.config().ID.IsNull() && g.now.MachineID.IsNull() && g.step != removed {
		report.WarnAt(&g.resp.Diagnostics, path.Root("machine_id"), text.NoMachineID(g.now.Name.ValueString()))
	}
	n := membership.NodePlan{HasRun: g.was.HasRun, Config: fate(g.was.Config, g.now.config().ID), Machine: fate(g.was.Machine, g.now.MachineID)}
	if g.was.Config != "" && g.was.Machine == "" && g.was.HasRun && g.now.MachineID.IsUnknown() {
		n.Machine = membership.Changes // a member that has run has a machine, and the plan creates another
	}
	switch g.step {
	case updated:
		n.Member = membership.Stays
		switch {
		case g.was.Config != "" && n.Config == membership.Changes, g.was.Config == "" && g.now.config().ID.IsNull() && g.now.MachineID.IsUnknown():
			return // it is replaced, which the next call checks
		case g.was.Config != "" && n.Config == membership.NotGiven:
			n.Config = membership.Stays // the plan drops it, and does not replace it
		}
		if g.was.Config != "" {
			g.b.Plan.Stays.Set(g.was.Config, g.was.Name)
		}
		if g.b.Plan.Replaced.Has(g.was.Config) {
			n.Config = membership.Changes
		}
	case successor:
		n.Member = membership.Changes
	default:
		return
	}
	if d := membership.GuardNode(n); d.Verdict == membership.Refuse {
		t := text.NodeRefused(d.Code, g.was.Name, g.was.Machine, g.now.MachineID.ValueString())
		at := path.Root("machine_id")
		if d.Code == membership.MemberAlone || d.Code == membership.ConfigAlone {
			at = path.Root("config")
		}
		report.ErrorAt(&g.resp.Diagnostics, at, t)
	}
}

// fate returns what happens to a part of the node. A part that is given for the
// first time, or no longer given, is not known to change.
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

// checkAddress refuses a peer URL that another member has after the apply. For
// a member with a configuration, the configuration checks it.
func (g *guard) checkAddress() {
	if g.step == removed || !g.now.config().ID.IsNull() || !g.now.learnerID.IsNull() || !g.now.Endpoints.IsNull() || attribute.SomeUnknown(g.now.PeerURLs) {
		return
	}
	name := g.now.Name.ValueString()
	if url, other := g.b.Plan.Address(name, attribute.Texts(g.now.PeerURLs)); url != "" {
		g.refuse(text.SameAddress(name, other, url))
	}
}

// note notes the plan for the member and judges the plan as made so far. If the
// cluster cannot be observed, configurations are counted instead.
func (g *guard) note(ctx context.Context, at *backend.Guard) {
	name := g.now.Name.ValueString()
	member, _ := membership.ParseMemberID(g.was.ID) // 0, which is not a member, if there is none
	switch {
	case g.step == removed:
		at.Removed.Set(member, true)
	case g.step == updated:
		at.Kept.Set(name, true)
		g.readdress(at)
		return
	case g.step == successor:
		at.Replaced.Set(member, true)
	case g.role == roleLearner:
		g.addOnly(at)
	default:
		at.Created.Set(name, true)
	}
	snap, err := at.Cluster.View(ctx, at.ID)
	if err != nil || at.ID != 0 && snap.ClusterID != at.ID {
		return
	}
	g.checkIdentity(ctx, at.Cluster, snap)
	if !g.resp.Diagnostics.HasError() {
		at.Report(ctx, snap, text.ConfigOf(name), &g.resp.Diagnostics)
	}
}

// checkIdentity refuses a new member that the cluster already has or cannot
// accept again: a member that must be imported; a member that has run and was
// removed, whose process cannot return under its old identity; and a member
// that runs while the plan creates a machine for it.
func (g *guard) checkIdentity(ctx context.Context, c *backend.Cluster, snap membership.Snapshot) {
	if g.step != created || g.now.key() == "" || !g.now.learnerID.IsNull() || attribute.SomeUnknown(g.now.PeerURLs) ||
		!snap.Linearizable || len(snap.Others) > 0 {
		return
	}
	join := g.now.toRequest()
	found, err := c.Identify(ctx, join, snap)
	if err != nil || g.resp.Diagnostics.HasError() {
		return // the join reports it
	}
	if found.Step == membership.StepAdopt {
		g.countHolders(prior{ID: found.ID.String(), Cluster: snap.ClusterID.String(), Name: join.Name}, 1, 0)
	}
	u := &reconfigure.Unidentified{Name: join.Name, PeerURLs: join.PeerURLs, Identity: found, Snapshot: snap}
	switch found.Code {
	case membership.AlreadyMember, membership.NameTaken, membership.FounderRenamed, membership.MovedMember, membership.IdentityRetired:
		report.Error(&g.resp.Diagnostics, text.NotAdopted(u))
	}
	it, _ := snap.Member(found.ID)
	if found.Step == membership.StepAdopt && len(it.ClientURLs) > 0 && join.Configured && g.now.MachineID.IsUnknown() {
		report.ErrorAt(&g.resp.Diagnostics, path.Root("machine_id"), text.NodeRefused(membership.MachineAlone, join.Name, "", ""))
	}
}

// guardOf returns the guard of the member's cluster: by its ID for a member in the state, by
// observing the cluster for a new member. Endpoints that are known only after the apply are
// those of a new machine. Then guardOf takes the cluster that has a member of the name, or
// the only cluster. It returns nil if the cluster cannot be determined.
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
		c := g.reach(at)
		if c == nil {
			return nil // reported where it matters
		}
		c.ExpectCluster(cluster, attribute.Texts(g.state.ClientURLs))
		return g.b.Guard(cluster, c)
	}
	if attribute.SomeUnknown(g.now.Endpoints) {
		return g.b.GuardOf(g.now.Name.ValueString())
	}
	c := g.reach(g.now.Endpoints)
	if c == nil {
		return nil
	}
	id := c.ExpectedCluster()
	if snap, err := c.View(ctx, id); err == nil {
		id = snap.ClusterID
	}
	return g.b.Guard(id, c)
}

// reach returns the cluster at the endpoints, nil after an error. A new member
// without endpoints is an error; a member in the state can be read without.
func (g *guard) reach(at types.List) *backend.Cluster {
	c, err := g.b.At(attribute.Texts(at), &g.resp.Diagnostics)
	if err == nil {
		return c
	}
	if g.req.State.Raw.IsNull() {
		g.refuse(text.Explain(reconfigure.ActionReach, g.now.Name.ValueString(), err))
	}
	return nil
}

// readdress refuses a second member whose peer URLs change in place: the
// process of the first must be restarted first.
func (g *guard) readdress(at *backend.Guard) {
	replaced := g.was.Config != "" && fate(g.was.Config, g.now.config().ID) == membership.Changes
	if replaced || g.now.PeerURLs.IsUnknown() || g.now.PeerURLs.Equal(g.state.PeerURLs) {
		return
	}
	if _, names := at.Readdressed.Set(g.now.Name.ValueString(), true); len(names) == 2 {
		report.ErrorAt(&g.resp.Diagnostics, path.Root("peer_urls"), text.SecondReaddress(names))
	}
}

// addOnly refuses a second learner that is added before its machine exists: it
// would wait for the slot of the first learner, whose machine would wait for it.
func (g *guard) addOnly(at *backend.Guard) {
	if g.now.WaitUntil.ValueString() != waitAnnounced {
		return
	}
	if _, names := at.AddOnly.Set(g.now.Name.ValueString(), true); len(names) == 2 {
		g.refuse(text.SecondAnnouncement(names))
	}
}
