// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package memberconfig

import (
	"context"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/attribute"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/backend"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/bootstrap"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/private"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/report"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

const (
	// priorKey is the key under which the first call of a plan stores the state
	// for the second: for a replacement, Terraform plans a second time, without
	// the state.
	priorKey = "prior"
	// abandonedKey is the key of the plan's message to Delete: the ID of the
	// member's cluster if the cluster is abandoned, else "".
	abandonedKey = "abandoned"
	// clusterKey is the key under which Read stores the ID of the cluster in
	// which it found the member, to detect the member list of another cluster.
	clusterKey = "cluster"
)

// prior is the state of a configuration that is replaced or removed.
type prior struct {
	ID       string   `json:"id"`
	Name     string   `json:"name"`
	PeerURLs []string `json:"peer_urls"`
	Token    string   `json:"token"`
	Cluster  string   `json:"cluster"`
	// Formed is the cluster that the bootstrap forms, "" for a discovery.
	Formed string `json:"formed"`
	// Founders is the number of members that formed the cluster, if the member
	// is one of them; 0 if it was never seen in the cluster.
	Founders int `json:"founders"`
}

func priorOf(ctx context.Context, m model, kept private.Reader, diags *diag.Diagnostics) prior {
	p := prior{
		ID: m.ID.ValueString(), Name: m.Name.ValueString(), PeerURLs: m.urls().peer,
		Cluster: private.Kept[string](ctx, kept, clusterKey, diags),
	}
	if boot := bootstrap.From(ctx, m.Bootstrap, diags); boot != nil {
		p.Token, p.Formed = boot.Token.ValueString(), boot.ClusterID.ValueString()
		if m.Founder.ValueBool() && !neverFormed(m.Status.ValueString()) {
			p.Founders = int(boot.Size.ValueInt64())
		}
		if p.Cluster == "" && boot.Complete.ValueBool() {
			p.Cluster = boot.ClusterID.ValueString()
		}
	}
	return p
}

// guard is the part of the plan's guard that concerns one configuration. A
// member counts as replaced or removed if its configuration is, because its
// machine is destroyed too, whether or not the plan contains its etcd_member.
type guard struct {
	b        *backend.Backend
	was      prior
	replaced bool // the second half of a replacement
	// abandoned is the configuration's cluster if it is abandoned, else 0.
	abandoned membership.ClusterID
	plan      model // the zero value if it is removed
	err       error // why the cluster cannot be observed, if known
	resp      *resource.ModifyPlanResponse
}

// guardPlan runs the guard. It checks only while a plan is made: during an
// apply, the same calls get less information.
func (r *Resource) guardPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	g := &guard{b: r.backend, resp: resp}
	exists, stays := !req.State.Raw.IsNull(), !req.Plan.Raw.IsNull()
	if exists {
		var state model
		resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
		g.was = priorOf(ctx, state, req.Private, &resp.Diagnostics)
	} else if was := private.Kept[*prior](ctx, req.Private, priorKey, &resp.Diagnostics); was != nil {
		g.replaced, g.was = true, *was
	}
	if stays {
		resp.Diagnostics.Append(req.Plan.Get(ctx, &g.plan)...)
	}
	if exists && stays {
		private.Keep(ctx, resp.Private, priorKey, g.was, &resp.Diagnostics)
	}
	g.findAbandoned(ctx, req, exists && stays)
	if g.b == nil || resp.Diagnostics.HasError() || g.b.Applying.Load() {
		return
	}
	switch {
	case exists && !stays:
		g.remove(ctx)
	case !exists:
		g.create(ctx)
	}
	if stays && !resp.Diagnostics.HasError() {
		g.checkAddress()
	}
}

func (g *guard) refuse(t text.Message) { report.Error(&g.resp.Diagnostics, t) }

// checkAddress refuses a peer URL that another member has after the apply.
func (g *guard) checkAddress() {
	if c, err := g.b.Cluster(nil); c == nil || err != nil || g.plan.Name.IsUnknown() || attribute.SomeUnknown(g.plan.PeerURLs) {
		return
	}
	if url, other := g.b.Plan.Address(g.plan.Name.ValueString(), attribute.Texts(g.plan.PeerURLs)); url != "" {
		report.ErrorAt(&g.resp.Diagnostics, path.Root("peer_urls"), text.SameAddress(g.plan.Name.ValueString(), other, url))
	}
}

// observe returns the guard of the configuration's cluster, and an observation
// of it. ok is false if it cannot be observed: no endpoints, no response, or a
// response from another cluster.
func (g *guard) observe(ctx context.Context) (at *backend.Guard, snap membership.Snapshot, ok bool) {
	if g.b.Unknown {
		return nil, snap, false
	}
	c, err := g.b.Cluster(nil)
	if err != nil {
		g.err = err
		return nil, snap, false
	}
	want, err := membership.ParseClusterID(g.was.Cluster)
	if err != nil {
		want = 0 // not known
	}
	snap, err = c.View(ctx, want)
	if g.err = err; err != nil || len(snap.Others) > 0 || !isClusterOf(snap, want, g.was.Name, g.was.PeerURLs) {
		return nil, snap, false
	}
	return g.b.Guard(snap.ClusterID, c), snap, true
}

// isClusterOf reports whether the observed cluster is want, in which the member
// was found before, or a cluster restored from it: with another ID, but with a
// member of the same name at the same addresses.
func isClusterOf(snap membership.Snapshot, want membership.ClusterID, name string, peerURLs []string) bool {
	m, listed := snap.MemberOf(name, peerURLs)
	return want == 0 || snap.ClusterID == want || listed && m.Name == name && membership.SameURLs(m.PeerURLs, peerURLs)
}

// remove notes a configuration that is removed permanently.
func (g *guard) remove(ctx context.Context) {
	if g.abandoned != 0 {
		return
	}
	at, snap, ok := g.observe(ctx)
	if !ok {
		g.count(g.was.Name, backend.Removed) // members in the plan are noted by their own resources
		return
	}
	if m, listed := snap.MemberOf(g.was.Name, g.was.PeerURLs); listed {
		at.Removed.Set(m.ID, true)
		at.Report(ctx, snap, text.Shown, &g.resp.Diagnostics)
	}
}

// create notes a new configuration, or a replacement. It refuses a configuration
// for a running member, because Terraform would replace its machine.
func (g *guard) create(ctx context.Context) {
	if g.replaced {
		g.b.Plan.Replaced.Set(g.was.ID, true)
		if name, _ := g.b.Plan.Stays.Get(g.was.ID); name != "" {
			g.refuse(text.NodeRefused(membership.ConfigAlone, name, "", ""))
			return
		}
		if g.was.Token != "" && g.b.Plan.ReplacedBootstraps.Has(g.was.Token) {
			return // its cluster is known not to have formed: another cluster responds
		}
	}
	if g.abandoned != 0 || g.isRestored(ctx) {
		return // its cluster is not the one that responds
	}
	at, snap, ok := g.observe(ctx)
	if !ok {
		g.createUnobserved(ctx)
		return
	}
	var instead membership.MemberID
	if m, listed := snap.MemberOf(g.was.Name, g.was.PeerURLs); g.replaced && listed {
		instead = m.ID
		at.Replaced.Set(m.ID, true)
	} else {
		at.Created.Set(g.plan.Name.ValueString(), true)
	}
	g.checkInTheWay(ctx, at.Cluster, snap, instead)
	if !g.resp.Diagnostics.HasError() {
		at.Report(ctx, snap, text.Shown, &g.resp.Diagnostics)
	}
}

// createUnobserved counts a replacement. It refuses any other configuration if
// its member may be running: the state has a configuration of that name, which
// is tainted or has a new key, or the member is one of those that formed the
// cluster.
func (g *guard) createUnobserved(ctx context.Context) {
	name := g.plan.Name.ValueString()
	switch {
	case g.replaced:
		g.count(g.was.Name, backend.Removed|backend.Created)
	case g.hasFormed(ctx), g.isHeld(ctx, name):
		g.refuse(text.MemberMayRun(name, g.hasFormed(ctx), g.err))
	default:
		g.count(name, backend.Created)
	}
}

// isHeld reports whether the state has a configuration of that name for the
// same bootstrap.
func (g *guard) isHeld(ctx context.Context, name string) bool {
	token, known := tokenOf(ctx, g.plan.Bootstrap)
	return known && g.b.Plan.HoldsConfig(token, name)
}

// tokenOf returns the token of a bootstrap, "" if there is no bootstrap.
func tokenOf(ctx context.Context, object types.Object) (token string, known bool) {
	var diags diag.Diagnostics
	boot := bootstrap.From(ctx, object, &diags)
	switch {
	case diags.HasError() || object.IsUnknown():
		return "", false
	case boot == nil:
		return "", true
	default:
		return boot.Token.ValueString(), !boot.Token.IsUnknown()
	}
}

// hasFormed reports whether the member is one of those that formed the cluster.
func (g *guard) hasFormed(ctx context.Context) bool {
	boot := bootstrap.From(ctx, g.plan.Bootstrap, &g.resp.Diagnostics)
	return boot != nil && boot.Complete.ValueBool() && slices.Contains(boot.Founders.Elements(), attr.Value(g.plan.Name))
}

func (g *guard) count(name string, h backend.Half) {
	if d := g.b.Plan.Count(g.was.Token, name, h, g.was.Founders); d.Verdict == membership.Refuse {
		g.refuse(text.PlanRefused(d, membership.Snapshot{}, text.Shown))
	}
}

// checkInTheWay refuses a configuration for a running member: a member that
// responds, or that is not certain not to.
func (g *guard) checkInTheWay(ctx context.Context, c *backend.Cluster, snap membership.Snapshot, instead membership.MemberID) {
	if g.plan.planOf(ctx, &g.resp.Diagnostics).unformed(snap) || g.resp.Diagnostics.HasError() {
		return // the cluster that responds is not the one to be formed
	}
	var urls []string
	if !attribute.SomeUnknown(g.plan.PeerURLs) {
		urls = attribute.Texts(g.plan.PeerURLs)
	}
	found := snap.InTheWay(g.plan.Name.ValueString(), urls, instead)
	var ids []membership.MemberID
	for _, m := range found {
		ids = append(ids, m.ID)
	}
	seen := cluster.SeenByLeader(ctx, c.Cluster, snap, ids)
	for _, m := range found {
		if membership.JudgeLoss(snap, m.ID, seen) != membership.Vanished {
			g.refuse(text.MemberInTheWay(g.plan.Name.ValueString(), m, snap))
			return
		}
	}
}
