// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package clustermember

import (
	"cmp"
	"context"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/identityschema"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/attribute"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/environment"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/node"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/private"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
)

// The values of wait_until and role.
const (
	waitAnnounced = "announced"
	waitStarted   = "started"
	waitCaughtUp  = "caught_up"
	waitVoting    = "voting"

	roleVoter   role = "voter"
	roleLearner role = "learner"
)

// common are the attributes that members and learners share.
type common struct {
	ID             types.String   `tfsdk:"id"`
	ClusterID      types.String   `tfsdk:"cluster_id"`
	Name           types.String   `tfsdk:"name"`
	PeerURLs       types.Set      `tfsdk:"peer_urls"`
	Config         types.Object   `tfsdk:"config"`
	MachineID      types.String   `tfsdk:"machine_id"`
	Endpoints      types.List     `tfsdk:"endpoints"`
	WaitUntil      types.String   `tfsdk:"wait_until"`
	Timeouts       timeouts.Value `tfsdk:"timeouts"`
	Role           types.String   `tfsdk:"role"`
	ClientURLs     types.Set      `tfsdk:"client_urls"`
	Version        types.String   `tfsdk:"version"`
	Environment    types.Map      `tfsdk:"environment"`
	InitialCluster types.String   `tfsdk:"initial_cluster"`
}

// memberModel is etcd_member in Terraform's form.
type memberModel struct {
	common
	LearnerID types.String `tfsdk:"learner_id"`
}

// learnerModel is etcd_learner in Terraform's form.
type learnerModel struct {
	common
	Promote  types.Bool `tfsdk:"promote"`
	Failover types.Bool `tfsdk:"failover"`
}

// model is either of them. The attributes of the other are null.
type model struct {
	common
	role              role
	learnerID         types.String
	promote, failover types.Bool
	// sameName and sameURLs are true if Terraform's form leaves out what config has too:
	// a plan would show it twice.
	sameName, sameURLs bool
}

// model reads a configuration, plan or state.
func (r role) model(ctx context.Context, from attribute.Source, diags *diag.Diagnostics) model {
	if r == roleLearner {
		l := attribute.Read[learnerModel](ctx, from, diags)
		return model{common: l.common, role: r, promote: l.Promote, failover: l.Failover}.complete()
	}
	m := attribute.Read[memberModel](ctx, from, diags)
	return model{common: m.common, role: r, learnerID: m.LearnerID}.complete()
}

// complete takes what Terraform's form leaves out from config.
func (m model) complete() model {
	c := configOf(m.Config)
	if m.sameName = m.Name.IsNull(); m.sameName {
		m.Name = c.name
	}
	if m.sameURLs = m.PeerURLs.IsNull(); m.sameURLs {
		m.PeerURLs = c.peerURLs
	}
	return m
}

// stored returns the model in the form of the role's schema.
func (m model) stored() any {
	c := configOf(m.Config)
	if m.sameName && m.Name.Equal(c.name) {
		m.Name = types.StringNull()
	}
	if m.sameURLs && m.PeerURLs.Equal(c.peerURLs) {
		m.PeerURLs = types.SetNull(types.StringType)
	}
	if m.role == roleLearner {
		return &learnerModel{common: m.common, Promote: m.promote, Failover: m.failover}
	}
	return &memberModel{common: m.common, LearnerID: m.learnerID}
}

// config is the node of a member, as config has it.
type config struct {
	id, name types.String
	peerURLs types.Set
	start    types.String
}

// configOf returns the values of a node: null for null, unknown for unknown.
func configOf(o types.Object) config {
	switch {
	case o.IsUnknown():
		return config{types.StringUnknown(), types.StringUnknown(), types.SetUnknown(types.StringType), types.StringUnknown()}
	case o.IsNull():
		return config{peerURLs: types.SetNull(types.StringType)}
	}
	var c config
	c.name, _ = o.Attributes()["name"].(types.String)
	c.peerURLs, _ = o.Attributes()["peer_urls"].(types.Set)
	c.start, _ = o.Attributes()["start"].(types.String)
	if c.id = types.StringUnknown(); !c.start.IsUnknown() {
		s, _ := node.StartOf(c.start) // validated
		c.id = attribute.TextOf(s.NodeID)
	}
	return c
}

// start returns what the member must know of its node, and whether it is known.
func (m model) start() (node.Start, bool) {
	of := configOf(m.Config).start
	s, err := node.StartOf(of)
	return s, attribute.IsGiven(of) && err == nil
}

// nodeID is the ID of the node, "" if the member has none.
func (m model) nodeID() string { return configOf(m.Config).id.ValueString() }

// adopts reports whether the member adopts a learner.
func (m model) adopts() bool { return !m.learnerID.IsNull() }

// peers returns the member's peer URLs, normalised and sorted.
func (m model) peers() []string { return membership.NormalURLs(attribute.Texts(m.PeerURLs)) }

// owner returns the key of the ownership record. It is the ID of the node, so that
// etcd_cluster finds the member that was added for it. A member that adopts a learner has
// a record of its own, so that destroying the learner does not affect it.
func (m model) owner() string {
	switch id := m.nodeID(); {
	case id != "" && !m.adopts():
		return id
	case m.role == roleLearner:
		return "learner:" + m.Name.ValueString()
	}
	return "name:" + m.Name.ValueString()
}

// goal returns the stage that wait_until names.
func (m model) goal() reconfigure.Stage {
	switch m.WaitUntil.ValueString() {
	case waitAnnounced:
		return reconfigure.Added
	case waitStarted:
		return reconfigure.Started
	}
	if m.role == roleLearner && !m.promote.ValueBool() {
		return reconfigure.CaughtUp
	}
	return reconfigure.Voting
}

// toRequest returns the request that creates the model's member.
func (m model) toRequest() reconfigure.JoinRequest {
	start, _ := m.start()
	r := reconfigure.JoinRequest{
		Owner: m.owner(), Name: m.Name.ValueString(), PeerURLs: m.peers(), Goal: m.goal(),
		Initial: start.Initial, AwaitCluster: start.Initial || start.InitialMembers > 0, InitialMembers: start.InitialMembers,
		Replaces: start.Replaces, Machine: m.MachineID.ValueString(),
	}
	r.Cluster, _ = membership.ParseClusterID(start.ClusterID)     // 0 if it is not known
	r.ID, _ = membership.ParseMemberID(m.learnerID.ValueString()) // validated already
	return r
}

// fromJoined stores the result of a join.
func (m *model) fromJoined(ctx context.Context, j reconfigure.Joined, diags *diag.Diagnostics) {
	m.ID, m.ClusterID = types.StringValue(j.Member.ID.String()), types.StringValue(j.Snapshot.ClusterID.String())
	m.fromMember(j.Member, j.Answer)
	if !m.InitialCluster.IsUnknown() {
		return // the plan has it, as null if the node has the environment
	}
	initial := j.InitialCluster(m.Name.ValueString())
	m.InitialCluster = types.StringValue(initial)
	m.Environment = environment.Map(ctx, map[string]string{
		"ETCD_NAME": m.Name.ValueString(), "ETCD_INITIAL_CLUSTER": initial, "ETCD_INITIAL_CLUSTER_STATE": "existing",
		"ETCD_INITIAL_ADVERTISE_PEER_URLS": strings.Join(m.peers(), ","),
	}, diags)
}

// fromMember stores the values of the member list and of the member itself. Values that
// the member did not return do not change.
func (m *model) fromMember(listed membership.Member, a membership.Answer) {
	m.Role = types.StringValue(string(roleVoter))
	if listed.Learner {
		m.Role = types.StringValue(string(roleLearner))
	}
	if !membership.SameURLs(m.peers(), listed.PeerURLs) {
		m.PeerURLs = attribute.SetOf(listed.PeerURLs)
	}
	m.ClientURLs = attribute.SetOf(append([]string{}, listed.ClientURLs...))
	switch {
	case a.State == membership.Answered && a.MemberID == listed.ID:
		m.Version = types.StringValue(a.Version)
	case m.Version.IsUnknown():
		m.Version = types.StringNull()
	}
}

// keepUnknown restores the former value of each attribute that is still unknown.
func (m *model) keepUnknown(state model) {
	if m.Role.IsUnknown() {
		m.Role = state.Role
	}
	if m.ClientURLs.IsUnknown() {
		m.ClientURLs = state.ClientURLs
	}
	if m.Version.IsUnknown() {
		m.Version = state.Version
	}
}

// identity identifies a member: member IDs are unique within their cluster,
// permanently.
type identity struct {
	ClusterID types.String `tfsdk:"cluster_id"`
	MemberID  types.String `tfsdk:"member_id"`
}

// IdentitySchema implements resource.ResourceWithIdentity.
func (r *Resource) IdentitySchema(_ context.Context, _ resource.IdentitySchemaRequest, resp *resource.IdentitySchemaResponse) {
	resp.IdentitySchema = identityschema.Schema{Attributes: map[string]identityschema.Attribute{
		"cluster_id": identityschema.StringAttribute{RequiredForImport: true, Description: "The cluster's ID in hexadecimal."},
		"member_id":  identityschema.StringAttribute{RequiredForImport: true, Description: "The member's ID in hexadecimal."},
	}}
}

func (m model) identity() identity { return identity{ClusterID: m.ClusterID, MemberID: m.ID} }

// identify sets the identity. Older CLIs require it in every response, even
// in a response that drops the resource.
func (m model) identify(ctx context.Context, to *tfsdk.ResourceIdentity, diags *diag.Diagnostics) {
	if to != nil {
		diags.Append(to.Set(ctx, m.identity())...)
	}
}

// store sets the state and the identity.
func (m model) store(ctx context.Context, state *tfsdk.State, id *tfsdk.ResourceIdentity, diags *diag.Diagnostics) {
	diags.Append(state.Set(ctx, m.stored())...)
	m.identify(ctx, id, diags)
}

// ownAddress is this provider's address without the registry's host.
const ownAddress = "terraform-provider-etcd/etcd"

// MoveState implements resource.ResourceWithMoveState. An etcd_learner becomes an
// etcd_member, and the next update promotes it. An etcd_member becomes an etcd_learner;
// a voter then has promote = true, because a promotion cannot be undone.
func (r *Resource) MoveState(ctx context.Context) []resource.StateMover {
	before, last := roleLearner, waitCaughtUp
	if r.role == roleLearner {
		before, last = roleVoter, waitVoting
	}
	var source resource.SchemaResponse
	(&Resource{role: before}).Schema(ctx, resource.SchemaRequest{}, &source)
	return []resource.StateMover{{SourceSchema: &source.Schema, StateMover: func(ctx context.Context, req resource.MoveStateRequest, resp *resource.MoveStateResponse) {
		if !movesFrom(before.typeName("etcd"), req) {
			return
		}
		from := before.model(ctx, req.SourceState, &resp.Diagnostics)
		m := model{
			common: from.common, role: r.role,
			promote: types.BoolValue(from.Role.ValueString() == string(roleVoter)), failover: types.BoolValue(false),
		}
		if m.WaitUntil.ValueString() == last {
			m.WaitUntil = types.StringNull() // the other resource has another last stage
		}
		if !resp.Diagnostics.HasError() {
			m.store(ctx, &resp.TargetState, resp.TargetIdentity, &resp.Diagnostics)
			// A resource that was moved before, but not updated since, keeps its original owner.
			source := private.Kept[kept](ctx, req.SourcePrivate, keptKey, &resp.Diagnostics)
			k := kept{Imported: source.Imported}
			if was := cmp.Or(source.Moved, from.owner()); was != m.owner() {
				k.Moved = was
			}
			if k.Moved != "" || k.Imported {
				private.Keep(ctx, resp.TargetPrivate, keptKey, k, &resp.Diagnostics)
			}
		}
	}}}
}

// movesFrom reports whether the state is that of the other resource of this
// provider, from any registry. OpenTofu before 1.11.12 and 1.12.4 names the
// provider by its type alone (opentofu/opentofu#4352).
func movesFrom(resourceType string, req resource.MoveStateRequest) bool {
	from := req.SourceProviderAddress
	return req.SourceState != nil && req.SourceTypeName == resourceType &&
		(from == "etcd" || from == ownAddress || strings.HasSuffix(from, "/"+ownAddress))
}
