// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package clusterdata

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/attribute"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

// model is the data source in Terraform's form.
type model struct {
	Endpoints        types.List   `tfsdk:"endpoints"`
	ClusterID        types.String `tfsdk:"cluster_id"`
	Reachable        types.Bool   `tfsdk:"reachable"`
	Healthy          types.Bool   `tfsdk:"healthy"`
	Leader           types.String `tfsdk:"leader"`
	Term             types.Int64  `tfsdk:"term"`
	Voters           types.Int64  `tfsdk:"voters"`
	Quorum           types.Int64  `tfsdk:"quorum"`
	FailureTolerance types.Int64  `tfsdk:"failure_tolerance"`
	VoterEndpoints   types.List   `tfsdk:"voter_endpoints"`
	Members          types.List   `tfsdk:"members"`
	Alarms           types.List   `tfsdk:"alarms"`
	Survivor         types.Object `tfsdk:"survivor"`
	Advice           types.List   `tfsdk:"advice"`
}

// memberModel is one element of members.
type memberModel struct {
	ID               types.String `tfsdk:"id"`
	Name             types.String `tfsdk:"name"`
	Role             types.String `tfsdk:"role"`
	Leader           types.Bool   `tfsdk:"leader"`
	Alive            types.Bool   `tfsdk:"alive"`
	Answer           types.String `tfsdk:"answer"`
	Endpoint         types.String `tfsdk:"endpoint"`
	Version          types.String `tfsdk:"version"`
	PeerURLs         []string     `tfsdk:"peer_urls"`
	ClientURLs       []string     `tfsdk:"client_urls"`
	DBSize           types.Int64  `tfsdk:"db_size"`
	RaftTerm         types.Int64  `tfsdk:"raft_term"`
	RaftIndex        types.Int64  `tfsdk:"raft_index"`
	RaftAppliedIndex types.Int64  `tfsdk:"raft_applied_index"`
	Lag              types.Int64  `tfsdk:"lag"`
}

// survivorModel is the member to save after the quorum is lost.
type survivorModel struct {
	ID               types.String `tfsdk:"id"`
	Name             types.String `tfsdk:"name"`
	Role             types.String `tfsdk:"role"`
	Version          types.String `tfsdk:"version"`
	DBSize           types.Int64  `tfsdk:"db_size"`
	RaftTerm         types.Int64  `tfsdk:"raft_term"`
	RaftIndex        types.Int64  `tfsdk:"raft_index"`
	RaftAppliedIndex types.Int64  `tfsdk:"raft_applied_index"`
}

// setSurvivor sets the survivor, null if there is none.
func (m *model) setSurvivor(ctx context.Context, s membership.Snapshot) diag.Diagnostics {
	m.Survivor = types.ObjectNull(attribute.TypesOf(survivorAttributes))
	id, left := s.Survivor()
	if !left {
		return nil
	}
	of, _ := s.Member(id)
	a := memberOf(s, of, 0)
	var diags diag.Diagnostics
	m.Survivor, diags = types.ObjectValueFrom(ctx, attribute.TypesOf(survivorAttributes), survivorModel{
		ID: a.ID, Name: a.Name, Role: a.Role, Version: a.Version, DBSize: a.DBSize, RaftTerm: a.RaftTerm, RaftIndex: a.RaftIndex, RaftAppliedIndex: a.RaftAppliedIndex,
	})
	return diags
}

// alarmModel is one element of alarms.
type alarmModel struct {
	MemberID types.String `tfsdk:"member_id"`
	Alarm    types.String `tfsdk:"alarm"`
}

// fromError sets what is known if no member returned a member list: only the
// responses of the endpoints.
func (m *model) fromError(ctx context.Context, err error) diag.Diagnostics {
	m.ClusterID, m.Leader, m.Term = types.StringNull(), types.StringNull(), types.Int64Null()
	m.Voters, m.Quorum, m.FailureTolerance = types.Int64Null(), types.Int64Null(), types.Int64Null()
	m.Reachable, m.Healthy = types.BoolValue(false), types.BoolValue(false)
	m.Survivor = types.ObjectNull(attribute.TypesOf(survivorAttributes))
	return m.lists(ctx, []memberModel{}, []string{}, []alarmModel{}, []string{text.ClusterUnreachable(err)})
}

// fromLook sets the attributes from an observation.
func (m *model) fromLook(ctx context.Context, l look) diag.Diagnostics {
	s := l.now
	leader, term, led := s.MajorityLeader()
	m.ClusterID, m.Reachable, m.Healthy = hex(s.ClusterID), types.BoolValue(true), types.BoolValue(s.Healthy())
	m.Leader, m.Term = hex(leader), types.Int64Null()
	if led {
		m.Term = number(term)
	}
	m.Voters, m.Quorum = types.Int64Value(int64(len(s.Voters()))), types.Int64Value(int64(s.Quorum()))
	m.FailureTolerance = types.Int64Value(int64(s.FailureTolerance()))

	members := make([]memberModel, 0, len(s.Members))
	voters := []string{}
	for _, member := range s.ByName() {
		if !member.Learner {
			voters = append(voters, member.ClientURLs...)
		}
		members = append(members, memberOf(s, member, leader))
	}
	alarms := []alarmModel{}
	for _, a := range s.Alarms() {
		alarms = append(alarms, alarmModel{MemberID: hex(a.Member), Alarm: types.StringValue(a.Kind)})
	}
	advice := []string{}
	for _, w := range s.Advise(l.before, l.seen) {
		advice = append(advice, text.Advice(w, s))
	}
	diags := m.setSurvivor(ctx, s)
	return append(diags, m.lists(ctx, members, voters, alarms, advice)...)
}

// lists sets the lists, none of which is nil.
func (m *model) lists(ctx context.Context, members []memberModel, voters []string, alarms []alarmModel, advice []string) diag.Diagnostics {
	var diags diag.Diagnostics
	for _, l := range []struct {
		to       *types.List
		elements attr.Type
		values   any
	}{
		{&m.Members, memberObject.Type(), members}, {&m.VoterEndpoints, types.StringType, voters},
		{&m.Alarms, alarmObject.Type(), alarms}, {&m.Advice, types.StringType, advice},
	} {
		list, d := types.ListValueFrom(ctx, l.elements, l.values)
		diags.Append(d...)
		*l.to = list
	}
	return diags
}

// memberOf returns the observation of one member. Values that only the member
// itself can report are null if it did not respond.
func memberOf(s membership.Snapshot, member membership.Member, leader membership.MemberID) memberModel {
	out := memberModel{
		ID: hex(member.ID), Name: types.StringValue(member.Name), Role: types.StringValue("voter"),
		Leader: types.BoolValue(member.ID == leader), Alive: types.BoolValue(s.Alive(member.ID)),
		Answer:   types.StringValue(text.MemberAnswer(s, member.ID)),
		PeerURLs: append([]string{}, member.PeerURLs...), ClientURLs: append([]string{}, member.ClientURLs...), // never nil
	}
	if member.Learner {
		out.Role = types.StringValue("learner")
	}
	a := s.Answer(member.ID)
	if a.Endpoint != "" {
		out.Endpoint = types.StringValue(a.Endpoint)
	}
	if a.State != membership.Answered {
		return out
	}
	out.Version, out.DBSize, out.RaftTerm = types.StringValue(a.Version), types.Int64Value(a.DBSize), number(a.Term)
	out.RaftIndex, out.RaftAppliedIndex = number(a.Index), number(a.Applied)
	if lag, ok := s.Lag(member.ID); ok {
		out.Lag = number(lag)
	}
	return out
}

// number returns a raft index or term as a value; it never exceeds 63 bits.
func number(n uint64) types.Int64 {
	return types.Int64Value(int64(n)) //nolint:gosec // see above
}
