// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package memberconfig implements the resource etcd_member_config: how the
// process of a member starts.
package memberconfig

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/log"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/attribute"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/backend"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/private"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/report"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

const (
	// lookTimeout limits the check of an initial member whether the cluster
	// exists: at the first apply there are no machines yet, and unused
	// addresses should not cost more time.
	lookTimeout = 3 * time.Second
	// observeTimeout limits a new member's search for the cluster, long enough
	// for a change of leader or a restart.
	observeTimeout = 10 * time.Second
)

// named are the attributes that hold the member's URLs, given or derived; see
// [backend.Naming].
var named = []string{"peer_urls", "client_urls"}

// goesKey is the key of the plan's message to Delete: true if the configuration
// is removed permanently, false if another configuration follows.
const goesKey = "goes"

// Resource is etcd_member_config.
type Resource struct{ backend *backend.Backend }

var (
	_ resource.ResourceWithConfigure   = (*Resource)(nil)
	_ resource.ResourceWithModifyPlan  = (*Resource)(nil)
	_ resource.ResourceWithImportState = (*Resource)(nil)
)

// NewResource returns the resource.
func NewResource() resource.Resource { return &Resource{} }

// Metadata implements resource.Resource.
func (r *Resource) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_member_config"
}

// Configure implements resource.ResourceWithConfigure.
func (r *Resource) Configure(_ context.Context, req resource.ConfigureRequest, resp *resource.ConfigureResponse) {
	r.backend = backend.From(req.ProviderData, &resp.Diagnostics)
}

// ModifyPlan implements resource.ResourceWithModifyPlan. It refuses a member
// that is certain to join but has no member to ask, before anything is created.
func (r *Resource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if req.Plan.Raw.IsNull() {
		ctx = backend.Named(ctx, req.Private)
	} else {
		ctx = backend.Naming(ctx, req.Plan, named...)
	}
	// Terraform does not tell Delete whether another configuration follows.
	private.Keep(ctx, resp.Private, goesKey, req.Plan.Raw.IsNull(), &resp.Diagnostics)
	r.guardPlan(ctx, req, resp)
	if req.Plan.Raw.IsNull() {
		return
	}
	var m model
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	if req.State.Raw.IsNull() {
		r.planScript(ctx, req, resp)
		m.planRole(ctx, resp)
		r.checkBootstrap(ctx, m, resp)
	}
	if r.backend == nil || r.backend.Unknown || resp.Diagnostics.HasError() {
		return
	}
	if !req.State.Raw.IsNull() {
		r.noteRetry(ctx, req, &resp.Diagnostics)
		r.planLost(ctx, req, resp)
		return
	}
	if m.Bootstrap.IsUnknown() || m.JoinPeerURLs.IsUnknown() || len(m.JoinPeerURLs.Elements()) > 0 {
		return
	}
	p := m.planOf(ctx, &resp.Diagnostics)
	if _, err := r.backend.Cluster(nil); errors.Is(err, cluster.ErrNoEndpoints) && p.role == roleJoiner {
		report.Error(&resp.Diagnostics, text.NobodyToAsk(m.Name.ValueString()))
	}
}

// Create implements resource.Resource.
func (r *Resource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	ctx = backend.Naming(ctx, req.Plan, named...)
	r.backend.Applying.Store(true)
	var m model
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	c, err := r.backend.Cluster(nil)
	if err != nil && !errors.Is(err, cluster.ErrNoEndpoints) {
		report.Error(&resp.Diagnostics, text.Explain(reconfigure.ActionConfigure, m.Name.ValueString(), err))
		return
	}
	m.fromCluster(ctx, r.backend.Run, c, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	r.noteConfigured(m, m.planOf(ctx, &resp.Diagnostics))
	resp.Diagnostics.Append(resp.Private.SetKey(ctx, clusterKey, nil)...) // the predecessor's
	backend.KeepNamed(ctx, resp.Private, req.Plan, &resp.Diagnostics, nil, named...)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

// Read implements resource.Resource.
func (r *Resource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	ctx = backend.Named(ctx, req.Private)
	var m model
	resp.Diagnostics.Append(req.State.Get(ctx, &m)...)
	// Terraform refreshes a tainted resource, and then plans it like a new one.
	token, _ := tokenOf(ctx, m.Bootstrap)
	r.backend.Plan.HoldConfig(token, m.Name.ValueString())
	if resp.Diagnostics.HasError() || r.backend.Unknown {
		return
	}
	c, err := r.backend.Cluster(nil)
	if err != nil {
		return // without endpoints there is no cluster to observe
	}
	snap, err := c.View(ctx, 0)
	if err != nil {
		if c.FirstTime("unreachable") {
			report.Warn(&resp.Diagnostics, text.NotRefreshed(err))
		}
		return
	}
	c.WarnUntrusted(snap, &resp.Diagnostics)
	was := private.Kept[string](ctx, req.Private, clusterKey, &resp.Diagnostics)
	if want, err := membership.ParseClusterID(was); err == nil && !isClusterOf(snap, want, m.Name.ValueString(), attribute.Texts(m.PeerURLs)) {
		if c.FirstTime("other cluster") {
			report.Warn(&resp.Diagnostics, text.AnotherCluster(was, snap))
		}
		return
	}
	if m.Founder.ValueBool() && m.planOf(ctx, &resp.Diagnostics).unformed(snap) {
		return // the configured member is not in this cluster
	}
	status := m.status(ctx, c, snap)
	if follows(status) && status != m.Status.ValueString() {
		// The list of one member suffices for display. A status that leads to a
		// replacement needs a list that a majority confirms.
		if snap, err = c.Confirmed(ctx, snap.ClusterID, reconfigure.ActionRead, m.Name.ValueString()); err != nil {
			report.Warn(&resp.Diagnostics, text.GoneUnconfirmed(m.Name.ValueString(), err))
			return
		}
		status = m.status(ctx, c, snap)
	}
	if status == statusMember {
		var seen silence
		status, seen = m.watch(ctx, c, private.Kept[silence](ctx, req.Private, silenceKey, &resp.Diagnostics))
		private.Keep(ctx, resp.Private, silenceKey, seen, &resp.Diagnostics)
	}
	if d := snap.Gate(0); status == statusUnreachable && len(snap.Answers) > 0 && d.Code == membership.QuorumLost && c.FirstTime("quorum lost") {
		report.Warn(&resp.Diagnostics, text.QuorumIsLost(d, snap))
	}
	if !neverFormed(status) && len(snap.Others) == 0 {
		private.Keep(ctx, resp.Private, clusterKey, snap.ClusterID.String(), &resp.Diagnostics)
	}
	log.Debug(ctx, log.Membership, "status of a configuration", "name", m.Name.ValueString(), "status", status)
	m.Status = types.StringValue(status)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

// follows reports whether a status means that the member is not in the cluster
// or cannot join it, so that a replacement may follow.
func follows(status string) bool {
	return status == statusRemoved || status == statusRetired || status == statusStale
}

// status returns the status of the configuration's member, from the member list
// and the ownership record.
func (m model) status(ctx context.Context, c *backend.Cluster, snap membership.Snapshot) string {
	status := m.statusIn(snap)
	if status != statusMember && status != statusAnnounced {
		return m.recorded(ctx, c, snap, status)
	}
	return status
}

// statusIn returns the status of the configuration's member, from the member list.
func (m model) statusIn(snap membership.Snapshot) string {
	before := m.Status.ValueString()
	if member, listed := m.find(snap.Members); listed {
		// The list has an initial member because the cluster has formed with it.
		if !neverFormed(before) || m.Founder.ValueBool() || len(member.ClientURLs) > 0 {
			return statusMember
		}
		return statusAnnounced
	}
	switch {
	case !neverFormed(before):
		return statusRemoved
	case m.Founder.ValueBool() && snap.Linearizable && !slices.ContainsFunc(snap.Members, func(x membership.Member) bool { return x.Name == m.Name.ValueString() }):
		return statusStale // the cluster has formed without it
	case m.InitialCluster.ValueString() != "" && !sameOthers(m.InitialCluster.ValueString(), attribute.Texts(m.PeerURLs), snap.Members):
		return statusStale
	default:
		return statusPending
	}
}

// sameOthers reports whether a frozen initial cluster still matches the members
// in the cluster, apart from the member at the peer URLs self.
func sameOthers(frozen string, self []string, members []membership.Member) bool {
	was, err := membership.ParseInitialCluster(frozen)
	if err != nil {
		return false
	}
	var before, now []string
	for _, urls := range was {
		if !membership.SameURLs(urls, self) {
			before = append(before, urls...)
		}
	}
	for _, m := range members {
		if !membership.SameURLs(m.PeerURLs, self) {
			now = append(now, m.PeerURLs...)
		}
	}
	return membership.SameURLs(before, now)
}

// Update implements resource.Resource. Only arguments that do not reach the
// machine change in place.
func (r *Resource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	ctx = backend.Naming(ctx, req.Plan, named...)
	var m model
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	if !resp.Diagnostics.HasError() {
		resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
		backend.KeepNamed(ctx, resp.Private, req.Plan, &resp.Diagnostics, nil, named...)
	}
}

// Delete implements resource.Resource. It is the backstop for a member that is,
// or may be, still in the cluster when its configuration is destroyed. In graph
// order its etcd_member and its machine are destroyed first.
func (r *Resource) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	ctx = backend.Named(ctx, req.Private)
	r.backend.Applying.Store(true)
	var m model
	resp.Diagnostics.Append(req.State.Get(ctx, &m)...)
	goes := private.Kept[bool](ctx, req.Private, goesKey, &resp.Diagnostics)
	abandoned := private.Kept[string](ctx, req.Private, abandonedKey, &resp.Diagnostics)
	gone := private.Kept[[]string](ctx, req.Private, backend.GoneKey, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	name := m.Name.ValueString()
	c, err := r.backend.Cluster(nil)
	if id, bad := membership.ParseClusterID(abandoned); bad == nil {
		r.backend.Abandon(ctx, c, id, membership.Member{Name: name}, gone, &resp.Diagnostics)
		return
	}
	if err != nil {
		return
	}
	out, err := c.Withdraw(ctx, reconfigure.WithdrawRequest{Owner: m.ID.ValueString(), Name: name, PeerURLs: attribute.Texts(m.PeerURLs), Replacement: !goes})
	if goes && err == nil {
		if err := c.GiveUpTurn(ctx, m.ID.ValueString(), name); err != nil {
			report.Warn(&resp.Diagnostics, text.TurnLeft(name, err))
		}
	}
	report.Done(&resp.Diagnostics, reconfigure.ActionRemove, name, out.Warnings, out.Snapshot, out.Waited)
	answered := cluster.MayServe(err)
	switch undecidable := err != nil && reconfigure.Undecidable(err) && !cluster.Hopeless(err) && !answered; {
	case err == nil:
	case undecidable && m.Founder.ValueBool() && neverFormed(m.Status.ValueString()):
		// The cluster never formed with it, and an initial member is not added.
	case goes && undecidable:
		report.Warn(&resp.Diagnostics, text.BackstopSkipped(name, err))
	case undecidable:
		report.Error(&resp.Diagnostics, text.BackstopBlocked(name, err))
	case answered:
		report.Error(&resp.Diagnostics, text.BackstopAnswered(name, err))
	default:
		report.Error(&resp.Diagnostics, text.Explain(reconfigure.ActionRemove, name, err))
	}
}
