// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package clusterdata implements the data source etcd_cluster: the observable
// state of a cluster.
package clusterdata

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/attribute"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/backend"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/report"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

// pause is the time between the two observations that distinguish a stalled
// learner from a learner that makes progress.
const pause = time.Second

// clusterData implements data "etcd_cluster".
type clusterData struct{ backend.DataSource }

// NewDataSource returns the data source etcd_cluster.
func NewDataSource() datasource.DataSource { return &clusterData{backend.DataSource{Type: "_cluster"}} }

// Read implements [datasource.DataSource]. It reports whatever it observes.
// Only a configuration without a usable cluster is an error.
func (d *clusterData) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var endpoints types.List
	resp.Diagnostics.Append(req.Config.GetAttribute(ctx, path.Root("endpoints"), &endpoints)...)
	if d.Backend.Unknown {
		report.Error(&resp.Diagnostics, text.EndpointsUnknown)
		return
	}
	c := d.Backend.Open("read the cluster", attribute.Texts(endpoints), &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	l, err := observe(ctx, c)
	var m model
	switch {
	case ctx.Err() != nil:
		resp.Diagnostics.AddError("Interrupted", ctx.Err().Error())
	case cluster.Hopeless(err):
		report.Error(&resp.Diagnostics, text.New("Cannot read the cluster",
			"The endpoints that respond refuse the credentials of the provider, or have a certificate that it does not trust.%s", text.Answers(err)))
	case err != nil:
		m = fromError(err)
	default:
		c.WarnUntrusted(l.now, &resp.Diagnostics)
		m = fromLook(l)
	}
	if m.Endpoints = endpoints; !resp.Diagnostics.HasError() {
		resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
	}
}

// look is an observation, with what helps to interpret it.
type look struct {
	now membership.Snapshot
	// before is an earlier observation, kept if a learner lags.
	before membership.Snapshot
	// seen are the connections of one member to the others, requested if a
	// member does not respond to Terraform.
	seen map[membership.MemberID]bool
	// authenticated is true if the cluster is known to have authentication.
	authenticated bool
	at            time.Time
}

// observe observes all members at the same time. It observes them again after a
// pause if a learner lags, to see whether the learner makes progress.
func observe(ctx context.Context, c *backend.Cluster) (look, error) {
	l := look{authenticated: c.HasUser(), at: c.Clock.Now()}
	var err error
	if l.now, err = c.CachedSnapshot(ctx, 0); err != nil {
		return l, err
	}
	if len(l.now.Lagging()) > 0 && c.Clock.Sleep(ctx, pause) == nil {
		again, err := c.Cluster.Observe(ctx, l.now.ClusterID)
		if err == nil {
			l.before, l.now = l.now, again
		}
	}
	if witness, down := l.now.Witness(), l.now.Down(); witness != 0 && len(down) > 0 {
		// On an error, the advice is that for a member that is down.
		l.seen, _ = c.Cluster.Peers(ctx, witness, down)
	}
	return l, ctx.Err()
}

// hex returns an ID as a value, null for 0.
func hex[ID interface {
	~uint64
	String() string
}](id ID) types.String {
	if id == 0 {
		return types.StringNull()
	}
	return types.StringValue(id.String())
}

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

	CertificateExpiresAt types.String `tfsdk:"certificate_expires_at"`
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
	for _, w := range s.Advise(l.before, l.seen, l.authenticated, l.at) {
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
	out.Endpoint = attribute.TextOf(a.Endpoint)
	if a.State != membership.Answered {
		return out
	}
	out.Version, out.DBSize, out.RaftTerm = types.StringValue(a.Version), types.Int64Value(a.DBSize), number(a.Term)
	out.RaftIndex, out.RaftAppliedIndex = number(a.Index), number(a.Applied)
	if !a.CertificateEnd.IsZero() {
		out.CertificateExpiresAt = types.StringValue(a.CertificateEnd.Format(time.RFC3339))
	}
	if lag, _, ok := s.Lag(member.ID); ok {
		out.Lag = number(lag)
	}
	return out
}

// number returns a raft index or term as a value; it never exceeds 63 bits.
func number(n uint64) types.Int64 {
	return types.Int64Value(int64(n)) //nolint:gosec // see above
}
