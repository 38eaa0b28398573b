// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package clusterdata

import (
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

// model is the data source in Terraform's form.
type model struct {
	Endpoints        types.List     `tfsdk:"endpoints"`
	ClusterID        types.String   `tfsdk:"cluster_id"`
	Reachable        bool           `tfsdk:"reachable"`
	Healthy          bool           `tfsdk:"healthy"`
	Leader           types.String   `tfsdk:"leader"`
	Term             types.Int64    `tfsdk:"term"`
	Voters           types.Int64    `tfsdk:"voters"`
	Quorum           types.Int64    `tfsdk:"quorum"`
	FailureTolerance types.Int64    `tfsdk:"failure_tolerance"`
	VoterEndpoints   []string       `tfsdk:"voter_endpoints"`
	Members          []memberModel  `tfsdk:"members"`
	Alarms           []alarmModel   `tfsdk:"alarms"`
	Survivor         *survivorModel `tfsdk:"survivor"`
	Advice           []string       `tfsdk:"advice"`
}

// memberModel is one element of members.
type memberModel struct {
	survivorModel
	Leader     bool         `tfsdk:"leader"`
	Alive      bool         `tfsdk:"alive"`
	Answer     string       `tfsdk:"answer"`
	Endpoint   types.String `tfsdk:"endpoint"`
	PeerURLs   []string     `tfsdk:"peer_urls"`
	ClientURLs []string     `tfsdk:"client_urls"`
	Lag        types.Int64  `tfsdk:"lag"`
}

// survivorModel is the member to save after the quorum is lost.
type survivorModel struct {
	ID               types.String `tfsdk:"id"`
	Name             string       `tfsdk:"name"`
	Role             string       `tfsdk:"role"`
	Version          types.String `tfsdk:"version"`
	DBSize           types.Int64  `tfsdk:"db_size"`
	RaftTerm         types.Int64  `tfsdk:"raft_term"`
	RaftIndex        types.Int64  `tfsdk:"raft_index"`
	RaftAppliedIndex types.Int64  `tfsdk:"raft_applied_index"`
}

// alarmModel is one element of alarms.
type alarmModel struct {
	MemberID types.String `tfsdk:"member_id"`
	Alarm    string       `tfsdk:"alarm"`
}

// fromError returns what is known if no member returned a member list: only the
// responses of the endpoints. No list is nil, because it would be null.
func fromError(err error) model {
	return model{VoterEndpoints: []string{}, Members: []memberModel{}, Alarms: []alarmModel{}, Advice: []string{"The cluster could not be read: " + text.Answered(err) + "."}}
}

// fromLook returns the attributes of an observation.
func fromLook(l look) model {
	s := l.now
	leader, term, led := s.MajorityLeader()
	m := model{
		ClusterID: hex(s.ClusterID), Reachable: true, Healthy: s.Healthy(), Leader: hex(leader),
		Voters: types.Int64Value(int64(len(s.Voters()))), Quorum: types.Int64Value(int64(s.Quorum())), FailureTolerance: types.Int64Value(int64(s.FailureTolerance())),
		VoterEndpoints: []string{}, Members: []memberModel{}, Alarms: []alarmModel{}, Advice: []string{},
	}
	if led {
		m.Term = number(term)
	}
	survivor, left := s.Survivor()
	for _, member := range s.ByName() {
		out := memberOf(s, member, leader)
		if !member.Learner {
			m.VoterEndpoints = append(m.VoterEndpoints, member.ClientURLs...)
		}
		if left && member.ID == survivor {
			m.Survivor = &out.survivorModel
		}
		m.Members = append(m.Members, out)
	}
	for _, a := range s.Alarms() {
		m.Alarms = append(m.Alarms, alarmModel{MemberID: hex(a.Member), Alarm: a.Kind})
	}
	for _, w := range s.Advise(l.before, l.seen, l.authenticated) {
		m.Advice = append(m.Advice, text.Advice(w, s))
	}
	return m
}

// memberOf returns the observation of one member. Values that only the member
// itself can report are null if it did not respond.
func memberOf(s membership.Snapshot, member membership.Member, leader membership.MemberID) memberModel {
	out := memberModel{
		survivorModel: survivorModel{ID: hex(member.ID), Name: member.Name, Role: "voter"},
		Leader:        member.ID == leader, Alive: s.Alive(member.ID), Answer: text.MemberAnswer(s, member.ID),
		PeerURLs: append([]string{}, member.PeerURLs...), ClientURLs: append([]string{}, member.ClientURLs...), // never nil
	}
	if member.Learner {
		out.Role = "learner"
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
	if lag, _, ok := s.Lag(member.ID); ok {
		out.Lag = number(lag)
	}
	return out
}

// number returns a raft index or term as a value; it never exceeds 63 bits.
func number(n uint64) types.Int64 {
	return types.Int64Value(int64(n)) //nolint:gosec // see above
}
