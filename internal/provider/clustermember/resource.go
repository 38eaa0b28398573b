// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package clustermember implements the resources etcd_member and etcd_learner.
package clustermember

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	fwlist "github.com/hashicorp/terraform-plugin-framework/list"
	"github.com/hashicorp/terraform-plugin-framework/list/schema"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/attribute"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/backend"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/node"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/private"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/report"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

// role distinguishes etcd_member, for voting members, from etcd_learner.
type role string

// typeName returns the resource type of the role. provider is "etcd".
func (r role) typeName(provider string) string {
	return provider + map[role]string{roleVoter: "_member", roleLearner: "_learner"}[r]
}

// Resource is etcd_member or etcd_learner.
type Resource struct {
	backend.Resource
	role role
}

// NewResource returns etcd_member.
func NewResource() resource.Resource { return newResource(roleVoter) }

// NewLearnerResource returns etcd_learner.
func NewLearnerResource() resource.Resource { return newResource(roleLearner) }

func newResource(r role) *Resource { return &Resource{backend.Resource{Type: r.typeName("")}, r} }

// ValidateConfig implements resource.ResourceWithValidateConfig.
func (r *Resource) ValidateConfig(ctx context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse) {
	r.role.model(ctx, req.Config, &resp.Diagnostics).check(&resp.Diagnostics)
}

const (
	// The defaults of timeouts.
	defaultJoin  = 10 * time.Minute
	defaultLeave = 5 * time.Minute
)

// Create implements resource.Resource. An error leaves no state, but the cluster has a
// record of an added member, and the next Create continues from there.
func (r *Resource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	r.Backend.Table.Apply()
	diags := &resp.Diagnostics
	m := r.role.model(ctx, req.Plan, diags)
	ctx = connection.TrustHosts(ctx, m.given()...)
	timeout, d := m.Timeouts.Create(ctx, defaultJoin)
	diags.Append(d...)
	if diags.HasError() {
		return
	}
	join := m.toRequest()
	join.Restart, join.Rejoins = timeout/3, m.nodeID() != ""
	if machine := m.MachineID.ValueString(); machine != "" {
		start, _ := m.start()
		it := membership.Occupant{Name: m.Name.ValueString(), PeerURLs: m.peers(), Peers: start.Peers}
		join.Occupants = func() []string { return r.Backend.Table.Occupy(machine, it) }
		join.Occupants() // before the cluster answers, so that the others know
	}
	r.ensure(ctx, &m, timeout, reconfigure.ActionAdd, join, nil, diags)
	if diags.HasError() {
		return
	}
	id, _, _ := m.ids() // from the cluster
	r.Backend.Table.Note(membership.Entry{ID: id, Effect: membership.Created})
	m.store(ctx, &resp.State, resp.Identity, diags)
	diags.Append(resp.Private.SetKey(ctx, keptKey, nil)...) // of the member before
	r.trust(ctx, resp.Private, m, m.ClientURLs, diags)
}

// Read implements resource.Resource.
func (r *Resource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	diags := &resp.Diagnostics
	ctx = trusted(ctx, req.Private, diags)
	m := r.role.model(ctx, req.State, diags)
	r.Backend.Table.Read(m.ID.ValueString())
	if diags.HasError() {
		return
	}
	m.identify(ctx, resp.Identity, diags)
	was := private.Kept[kept](ctx, req.Private, keptKey, diags)
	// What an earlier plan has kept is of the member that it knew. Terraform plans a
	// replacement with it, and also a member that is gone.
	diags.Append(resp.Private.SetKey(ctx, keptKey, nil)...)
	if !r.refresh(ctx, &m, diags) {
		resp.State.RemoveResource(ctx)
		r.warnGone(m, diags)
		return
	}
	k := kept{Moved: was.Moved, Imported: was.Imported, Failover: r.lost(ctx, m, diags)}
	if k.Moved != "" || k.Imported || k.Failover.Evidence != "" {
		private.Keep(ctx, resp.Private, keptKey, k, diags)
	}
	diags.Append(resp.State.Set(ctx, m.stored())...)
}

// warnGone warns once if the confirmed list lacks several voters of the state. Members that
// were removed one after the other rest on an operator; all at once they may rest on a member
// that was started as a cluster of its own, while the others still serve.
func (r *Resource) warnGone(m model, diags *diag.Diagnostics) {
	if m.Role.ValueString() != string(roleVoter) {
		return
	}
	gone := r.Backend.Table.Gone(m.ClusterID.ValueString(), m.Name.ValueString())
	if len(gone) == 2 {
		report.Warn(diags, text.New("Several voting members are gone",
			"The member list that a majority confirms has neither %s nor %s. The state has both as voting members. "+
				"If they were removed on purpose, apply. Otherwise a member may have been started with "+
				"ETCD_FORCE_NEW_CLUSTER, or from a copy of its data. It continues without the others, and these "+
				"may still serve with newer data. An apply adds them again without their data. "+
				"Before you apply, ask each of their machines:\n\n  etcdctl --endpoints=URL endpoint status",
			gone[0], gone[1]))
	}
}

// Update implements resource.Resource. It updates the ownership record and the peer
// URLs, and promotes a learner, for etcd_learner only with promote = true or in a
// failover. Other changes concern only this resource.
func (r *Resource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	r.Backend.Table.Apply()
	diags := &resp.Diagnostics
	m, state := r.role.model(ctx, req.Plan, diags), r.role.model(ctx, req.State, diags)
	timeout, d := m.Timeouts.Update(ctx, defaultJoin)
	diags.Append(d...)
	if diags.HasError() {
		return
	}
	ctx = connection.TrustHosts(ctx, m.given()...)
	learner := state.Role.ValueString() == string(roleLearner)
	join := m.toRequest()
	var bad error
	join.ID, join.Cluster, bad = m.ids()
	join.Goal, join.Replaces = reconfigure.Voting, nil
	if bad != nil {
		report.Error(diags, text.BadID(m.Name.ValueString(), bad))
	}
	before := private.Kept[kept](ctx, req.Private, keptKey, diags)
	update := reconfigure.UpdateRequest{Owner: m.owner(), ID: join.ID, Cluster: join.Cluster, Name: join.Name, PeerURLs: state.peers()}
	r.own(ctx, cmp.Or(before.Moved, state.owner()), m, update, diags)
	r.readdress(ctx, m, update, timeout, diags)
	switch {
	case diags.HasError():
		return
	case learner && (r.role == roleVoter || m.promote.ValueBool()):
		r.ensure(ctx, &m, timeout, reconfigure.ActionPromote, join, nil, diags)
	case learner && m.failover.ValueBool() && m.Role.IsUnknown():
		r.ensure(ctx, &m, timeout, reconfigure.ActionPromote, join, &before.Failover, diags)
	}
	m.keepUnknown(state)
	if !diags.HasError() {
		diags.Append(resp.Private.SetKey(ctx, keptKey, nil)...)
		r.trust(ctx, resp.Private, m, state.ClientURLs, diags)
		m.store(ctx, &resp.State, resp.Identity, diags)
	}
}

// Delete implements resource.Resource. It does not remove a learner that an etcd_member
// has adopted, nor a member for which this run has created a resource.
func (r *Resource) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	r.Backend.Table.Apply()
	diags := &resp.Diagnostics
	ctx = trusted(ctx, req.Private, diags)
	m := r.role.model(ctx, req.State, diags)
	plan := private.Kept[kept](ctx, req.Private, keptKey, diags)
	owner := cmp.Or(plan.Moved, m.owner())
	timeout, d := m.Timeouts.Delete(ctx, defaultLeave)
	diags.Append(d...)
	if id, _, bad := m.ids(); bad == nil && r.Backend.Table.HasJoined(id) {
		report.Warn(diags, text.New("Member "+m.Name.ValueString()+" stays",
			"This Terraform run has created a resource for the member before it destroyed the one from before, so the member was not removed. "+
				"Remove create_before_destroy from the lifecycle block of the resource."))
		return
	}
	if !diags.HasError() {
		r.leave(ctx, m, owner, plan, timeout, diags)
	}
}

// plannedAlone is the warning for a member whose etcd_cluster this process does not plan.
func plannedAlone(name string) text.Message {
	return text.New("Member "+name+" is planned without its etcd_cluster",
		"No etcd_cluster of this provider block has the node of %s: the etcd_cluster has another provider block, or is in another state. Terraform runs a process for each provider block, "+
			"and each process judges only the members that it plans: two of them together can replace two voters in one plan. "+
			"Use one provider block for an etcd_cluster and all of its members: set the same provider argument, or none, in each of their blocks and modules.", name)
}

// own records the present owner of the member: for an imported member that got its
// node, or a member without its former learner_id.
func (r *Resource) own(ctx context.Context, was string, m model, req reconfigure.UpdateRequest, diags *diag.Diagnostics) {
	if req.Owner != was && !diags.HasError() {
		r.act(m, reconfigure.ActionRecord, diags, func(c *backend.Cluster) error { return c.RecordOwner(ctx, was, req) })
	}
}

// readdress updates the member's peer URLs if they have changed. The request has those of
// the state.
func (r *Resource) readdress(ctx context.Context, m model, req reconfigure.UpdateRequest, timeout time.Duration, diags *diag.Diagnostics) {
	was := req.PeerURLs
	req.PeerURLs = m.peers()
	if slices.Equal(req.PeerURLs, was) || diags.HasError() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var updated reconfigure.Outcome
	if !r.act(m, reconfigure.ActionUpdate, diags, func(c *backend.Cluster) (err error) {
		updated, err = c.UpdatePeerURLs(ctx, req)
		return err
	}) {
		return
	}
	report.Done(diags, reconfigure.ActionUpdate, req.Name, updated)
	report.Warn(diags, text.New("Restart member "+req.Name+" with its new peer URLs",
		"The cluster now reaches %s at %s. Until its process listens there (ETCD_LISTEN_PEER_URLS, ETCD_INITIAL_ADVERTISE_PEER_URLS), the others cannot reach it. "+
			"Restart it now. Until the metrics show that they reach it there, no change relies on this member, and no other member's peer URLs change.", req.Name, req.PeerURLs))
}

// ImportState implements resource.ResourceWithImportState. The ID is a
// hexadecimal ID, a name, a peer URL or an identity.
func (r *Resource) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	fail := func(t text.Message) { report.Error(&resp.Diagnostics, t) }
	wanted, cluster := req.ID, ""
	if wanted == "" {
		id := attribute.Read[identity](ctx, req.Identity, &resp.Diagnostics)
		wanted, cluster = id.MemberID.ValueString(), id.ClusterID.ValueString()
	}
	if resp.Diagnostics.HasError() {
		return
	}
	c, snap := r.Backend.Observe(ctx, "import member "+wanted, nil, &resp.Diagnostics)
	if c == nil {
		return
	}
	if want, bad := membership.ParseClusterID(cluster); cluster != "" && (bad != nil || want != snap.ClusterID) {
		fail(text.Explain(reconfigure.ActionImport, wanted, reconfigure.NewOtherCluster(want, snap)))
		return
	}
	found := match(snap, wanted)
	switch {
	case len(found) != 1:
		fail(text.NotOne("Cannot import member "+wanted, wanted, found, snap))
	case found[0].Learner && r.role != roleLearner:
		fail(text.New("Cannot import member "+wanted, "Member %s is a learner. Import it as an etcd_learner.%s", found[0].ID, text.AdoptLearner(found[0].ID)))
	case !found[0].Learner && r.role == roleLearner:
		fail(text.New("Cannot import learner "+wanted, "Member %s is a voting member. Import it as an etcd_member.", found[0].ID))
	default:
		m := ofMember(ctx, r.role, snap, found[0], &resp.Diagnostics)
		m.store(ctx, &resp.State, resp.Identity, &resp.Diagnostics)
		private.Keep(ctx, resp.Private, keptKey, kept{Imported: true}, &resp.Diagnostics)
		r.Backend.Table.Import(m.ID.ValueString())
	}
}

// ofMember returns the known attributes of a member that this provider did not create.
func ofMember(ctx context.Context, r role, snap membership.Snapshot, it membership.Member, diags *diag.Diagnostics) model {
	m := model{role: r, promote: types.BoolValue(false), failover: types.BoolValue(false), common: common{
		Name: attribute.TextOf(it.Name), Config: types.ObjectNull(node.ConfigTypes),
		PeerURLs: attribute.SetOf(it.PeerURLs), Endpoints: types.ListNull(types.StringType), InitialCluster: types.StringUnknown(),
		Timeouts: timeouts.Value{Object: types.ObjectNull(map[string]attr.Type{"create": types.StringType, "update": types.StringType, "delete": types.StringType})},
	}}
	m.fromJoined(ctx, reconfigure.Joined{Member: it, Answer: snap.Answer(it.ID), Outcome: reconfigure.Outcome{Snapshot: snap}}, diags)
	return m
}

// match returns the members that match a text: by ID, else by name, else by
// peer URL.
func match(snap membership.Snapshot, words string) []membership.Member {
	if found := snap.Find(words); len(found) > 0 {
		return found
	}
	return slices.DeleteFunc(slices.Clone(snap.Members), func(m membership.Member) bool {
		return !slices.ContainsFunc(m.PeerURLs, func(u string) bool { return membership.SameURLs([]string{u}, []string{words}) })
	})
}

// List implements list "etcd_member" and list "etcd_learner": the existing
// members, to be imported.
type List struct{ *Resource }

// NewList returns list "etcd_member", which lists the voting members.
func NewList() fwlist.ListResource { return &List{newResource(roleVoter)} }

// NewLearnerList returns list "etcd_learner", which lists the learners.
func NewLearnerList() fwlist.ListResource { return &List{newResource(roleLearner)} }

// ListResourceConfigSchema implements [fwlist.ListResource].
func (l *List) ListResourceConfigSchema(_ context.Context, _ fwlist.ListResourceSchemaRequest, resp *fwlist.ListResourceSchemaResponse) {
	what := map[role]string{roleVoter: "voting members", roleLearner: "learners"}[l.role]
	resp.Schema = schema.Schema{
		MarkdownDescription: "Lists the " + what + " of a cluster, each with the identity for its import.",
		Attributes:          map[string]schema.Attribute{"endpoints": attribute.OptionalEndpoints("Client URLs of the cluster. Default: the provider's `endpoints`.")},
	}
}

// List implements [fwlist.ListResource]. It sorts by name, with members that
// never started at the end. A cluster that does not respond is an error,
// because an empty list would mean that there are no members. Without a quorum
// it lists the members that the responding member returns, with a warning.
func (l *List) List(ctx context.Context, req fwlist.ListRequest, stream *fwlist.ListResultsStream) {
	var diags diag.Diagnostics
	var endpoints types.List
	diags.Append(req.Config.GetAttribute(ctx, path.Root("endpoints"), &endpoints)...)
	_, snap := l.Backend.Observe(ctx, "list members", attribute.Texts(endpoints), &diags)
	if diags.HasError() {
		stream.Results = fwlist.ListResultsStreamDiagnostics(diags)
		return
	}
	if !snap.Linearizable {
		report.Warn(&diags, text.New("The list may be behind",
			"It is what those who answer have, and no quorum has confirmed it: members may have been added or removed since. Check the cluster (data \"etcd_cluster\") before anything is imported."))
	}
	var results []fwlist.ListResult
	for _, it := range snap.ByName() {
		if it.Learner != (l.role == roleLearner) || req.Limit > 0 && int64(len(results)) == req.Limit {
			continue
		}
		m := ofMember(ctx, l.role, snap, it, &diags)
		results = append(results, backend.Listed(ctx, req, text.Member(snap, it.ID), m.identity(), m.stored()))
	}
	if len(results) > 0 {
		results[0].Diagnostics.Append(diags...)
	}
	stream.Results = slices.Values(results)
}
