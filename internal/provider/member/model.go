// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package member

import (
	"context"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/attribute"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/backend"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/environment"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/memberconfig"
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
	ID        types.String `tfsdk:"id"`
	ClusterID types.String `tfsdk:"cluster_id"`
	Name      types.String `tfsdk:"name"`
	PeerURLs  types.Set    `tfsdk:"peer_urls"`
	Config    types.Object `tfsdk:"config"`
	MachineID types.String `tfsdk:"machine_id"`
	Endpoints types.List   `tfsdk:"endpoints"`
	WaitUntil types.String `tfsdk:"wait_until"`

	Timeouts timeouts.Value `tfsdk:"timeouts"`

	Role           types.String `tfsdk:"role"`
	ClientURLs     types.Set    `tfsdk:"client_urls"`
	Version        types.String `tfsdk:"version"`
	Environment    types.Map    `tfsdk:"environment"`
	InitialCluster types.String `tfsdk:"initial_cluster"`
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
	Promote, Failover types.Bool
}

// model reads a configuration, plan or state.
func (r role) model(ctx context.Context, from interface {
	Get(context.Context, any) diag.Diagnostics
}, diags *diag.Diagnostics) model {
	if r == roleLearner {
		var l learnerModel
		diags.Append(from.Get(ctx, &l)...)
		return model{common: l.common, role: r, Promote: l.Promote, Failover: l.Failover}
	}
	var m memberModel
	diags.Append(from.Get(ctx, &m)...)
	return model{common: m.common, role: r, learnerID: m.LearnerID}
}

// stored returns the model in the form of the role's schema.
func (m model) stored() any {
	if m.role == roleLearner {
		return &learnerModel{common: m.common, Promote: m.Promote, Failover: m.Failover}
	}
	return &memberModel{common: m.common, LearnerID: m.learnerID}
}

// peers returns the member's peer URLs, normalised and sorted.
func (m model) peers() []string { return attribute.NormalURLs(attribute.Texts(m.PeerURLs)) }

// goal returns the stage that wait_until names.
func (m model) goal() reconfigure.Stage {
	switch m.WaitUntil.ValueString() {
	case waitAnnounced:
		return reconfigure.Announced
	case waitStarted:
		return reconfigure.Started
	case waitCaughtUp:
		if m.Promote.ValueBool() {
			return reconfigure.Voting
		}
		return reconfigure.CaughtUp
	default:
		return reconfigure.Voting
	}
}

// owner returns the key of the ownership record. It is the configuration's ID, so that
// a destroy of the configuration finds the member added for it. A member that adopts a
// learner has a record of its own, so that destroying the learner does not affect it.
func (m model) owner() string {
	switch id := m.configID(); {
	case id != "" && m.holder() != backend.AdopterHolder:
		return id
	case m.role == roleLearner:
		return "learner:" + m.Name.ValueString()
	default:
		return "name:" + m.Name.ValueString()
	}
}

// config returns the member's configuration.
func (m model) config() memberconfig.Member { return memberconfig.MemberOf(m.Config) }

// configID returns the ID of the member's configuration, "" if it has none.
func (m model) configID() string { return m.config().ID.ValueString() }

// holder returns the kind of the resource, which distinguishes the owners of a member.
func (m model) holder() backend.Holder {
	switch {
	case m.role == roleLearner:
		return backend.LearnerHolder
	case !m.learnerID.IsNull():
		return backend.AdopterHolder
	default:
		return backend.MemberHolder
	}
}

// key identifies the member, whatever resource manages it: by its
// configuration, or without one by its name and the endpoints of its cluster.
// It is "" if that is not known yet.
func (m model) key() string {
	switch id := m.config().ID; {
	case id.IsUnknown() || m.Name.IsUnknown():
		return ""
	case id.ValueString() != "":
		return id.ValueString()
	case attribute.SomeUnknown(m.Endpoints):
		return ""
	default:
		return "name:" + m.Name.ValueString() + m.Endpoints.String()
	}
}

// toRequest returns the request that creates the model's member.
func (m model) toRequest() reconfigure.JoinRequest {
	config := m.config()
	return reconfigure.JoinRequest{
		Owner: m.owner(), Name: m.Name.ValueString(), PeerURLs: m.peers(),
		Configured: m.owner() == m.configID(),
		Bootstrap:  config.Bootstrap(), AwaitCluster: config.AwaitsCluster(), Founders: int(config.Founders.ValueInt64()),
		Goal: m.goal(),
	}
}

// fromJoined stores the result of a join.
func (m *model) fromJoined(ctx context.Context, j reconfigure.Joined, diags *diag.Diagnostics) {
	m.ID = types.StringValue(j.Member.ID.String())
	m.ClusterID = types.StringValue(j.Cluster.String())
	m.fromMember(j.Member, j.Answer)
	switch {
	case !m.Config.IsNull(): // the configuration has the environment
		if m.Environment.IsUnknown() {
			m.Environment, m.InitialCluster = types.MapNull(types.StringType), types.StringNull()
		}
	case m.InitialCluster.IsUnknown():
		initial := j.InitialCluster(m.Name.ValueString())
		m.InitialCluster = types.StringValue(initial)
		env, d := environment.Map(ctx, map[string]string{
			"ETCD_NAME":                        m.Name.ValueString(),
			"ETCD_INITIAL_CLUSTER":             initial,
			"ETCD_INITIAL_ADVERTISE_PEER_URLS": strings.Join(m.peers(), ","),
			"ETCD_INITIAL_CLUSTER_STATE":       "existing",
		})
		diags.Append(d...)
		m.Environment = env
	}
}

// fromMember stores the values of the member list and of the member itself.
// Values that the member did not return do not change.
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

// keepUnknown restores the former value of each attribute that is still
// unknown.
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
