// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package member

import (
	"cmp"
	"context"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/attribute"
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

	roleVoter   = "voter"
	roleLearner = "learner"
)

// model is what members and learners have in common.
type model struct {
	ID           types.String `tfsdk:"id"`
	ClusterID    types.String `tfsdk:"cluster_id"`
	Name         types.String `tfsdk:"name"`
	PeerURLs     types.Set    `tfsdk:"peer_urls"`
	Config       types.Object `tfsdk:"config"`
	MachineID    types.String `tfsdk:"machine_id"`
	Endpoints    types.List   `tfsdk:"endpoints"`
	WaitUntil    types.String `tfsdk:"wait_until"`
	MaxLag       types.Int64  `tfsdk:"max_lag"`
	StallTimeout types.String `tfsdk:"stall_timeout"`
	ForceDestroy types.Bool   `tfsdk:"force_destroy"`

	Timeouts timeouts.Value `tfsdk:"timeouts"`

	Role           types.String `tfsdk:"role"`
	ClientURLs     types.Set    `tfsdk:"client_urls"`
	Version        types.String `tfsdk:"version"`
	Environment    types.Map    `tfsdk:"environment"`
	InitialCluster types.String `tfsdk:"initial_cluster"`
}

type memberModel struct {
	model
	LearnerID types.String `tfsdk:"learner_id"`
}

type learnerModel struct {
	model
	Promote  types.Bool `tfsdk:"promote"`
	Failover types.Bool `tfsdk:"failover"`
}

func list(ctx context.Context, set interface {
	ElementsAs(context.Context, any, bool) diag.Diagnostics
	IsNull() bool
	IsUnknown() bool
}) ([]string, diag.Diagnostics) {
	if set.IsNull() || set.IsUnknown() {
		return nil, nil
	}
	var elements []types.String
	diags := set.ElementsAs(ctx, &elements, false)
	var out []string
	for _, e := range elements {
		if !e.IsNull() && !e.IsUnknown() {
			out = append(out, e.ValueString())
		}
	}
	return out, diags
}

// peers are the member's peer URLs, normalised and sorted.
func (m model) peers(ctx context.Context) ([]string, diag.Diagnostics) {
	urls, diags := list(ctx, m.PeerURLs)
	return attribute.NormalURLs(urls), diags
}

// goal is the stage that wait_until names.
func (m model) goal() reconfigure.Stage {
	switch m.WaitUntil.ValueString() {
	case waitAnnounced:
		return reconfigure.Announced
	case waitStarted:
		return reconfigure.Started
	case waitCaughtUp:
		return reconfigure.CaughtUp
	default:
		return reconfigure.Voting
	}
}

// owner is the key of the ownership record: the configuration's ID, so that
// its destroy finds what was announced for it. A member that takes a learner
// over has a record of its own, so that destroying the learner leaves it alone.
func (m model) owner(k kind) string {
	if id := m.configID(); id != "" && k != kindTaker {
		return id
	}
	if k == kindLearner {
		return "learner:" + m.Name.ValueString()
	}
	return "name:" + m.Name.ValueString()
}

// configID is the ID of the member's configuration, "" if it has none.
func (m model) configID() string { return memberconfig.MemberOf(m.Config).ID.ValueString() }

// kind tells the owners of one member apart.
type kind uint8

const (
	kindMember kind = iota
	kindTaker       // a member that takes a learner over
	kindLearner
)

func (m memberModel) kind() kind {
	if m.LearnerID.IsNull() {
		return kindMember
	}
	return kindTaker
}

// join is the request that makes the model so.
func (m model) join(ctx context.Context, k kind) (reconfigure.JoinRequest, diag.Diagnostics) {
	peers, diags := m.peers(ctx)
	config := memberconfig.MemberOf(m.Config)
	stall, err := parseDuration(cmp.Or(m.StallTimeout.ValueString(), defaultStall))
	if err != nil {
		diags.AddError("Invalid stall_timeout", err.Error())
	}
	return reconfigure.JoinRequest{
		Owner: m.owner(k), Name: m.Name.ValueString(), PeerURLs: peers,
		Configured: m.owner(k) == m.configID(),
		Bootstrap:  config.Bootstrap(), AwaitCluster: config.AwaitsCluster(), Founders: int(config.Founders.ValueInt64()),
		Goal: m.goal(), MaxLag: uint64(max(m.MaxLag.ValueInt64(), 0)), StallTimeout: stall,
	}, diags
}

// take keeps what came of a join.
func (m *model) take(ctx context.Context, j reconfigure.Joined) diag.Diagnostics {
	m.ID = types.StringValue(j.Member.ID.String())
	m.ClusterID = types.StringValue(j.Cluster.String())
	diags := m.observe(ctx, j.Member, j.Answer)
	switch {
	case !m.Config.IsNull(): // it has the environment
		if m.Environment.IsUnknown() {
			m.Environment, m.InitialCluster = types.MapNull(types.StringType), types.StringNull()
		}
	case m.InitialCluster.IsUnknown():
		peers, d := m.peers(ctx)
		diags.Append(d...)
		initial := j.InitialCluster(m.Name.ValueString())
		m.InitialCluster = types.StringValue(initial)
		env, d := environment.Map(ctx, map[string]string{
			"ETCD_NAME":                        m.Name.ValueString(),
			"ETCD_INITIAL_CLUSTER":             initial,
			"ETCD_INITIAL_ADVERTISE_PEER_URLS": strings.Join(peers, ","),
			"ETCD_INITIAL_CLUSTER_STATE":       "existing",
		})
		diags.Append(d...)
		m.Environment = env
	}
	return diags
}

// observe keeps what the list and the member itself say. What the member did
// not say keeps its former value.
func (m *model) observe(ctx context.Context, listed membership.Member, a membership.Answer) diag.Diagnostics {
	m.Role = types.StringValue(roleVoter)
	if listed.Learner {
		m.Role = types.StringValue(roleLearner)
	}
	known, diags := m.peers(ctx)
	if !membership.SameURLs(known, listed.PeerURLs) {
		set, d := types.SetValueFrom(ctx, types.StringType, listed.PeerURLs)
		diags.Append(d...)
		m.PeerURLs = set
	}
	urls := listed.ClientURLs
	if urls == nil {
		urls = []string{}
	}
	set, d := types.SetValueFrom(ctx, types.StringType, urls)
	diags.Append(d...)
	m.ClientURLs = set
	switch {
	case a.State == membership.Answered && a.MemberID == listed.ID:
		m.Version = types.StringValue(a.Version)
	case m.Version.IsUnknown():
		m.Version = types.StringNull()
	}
	return diags
}
