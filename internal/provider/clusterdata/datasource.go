// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package clusterdata implements the data source etcd_cluster: the observable
// state of a cluster.
package clusterdata

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/path"
	element "github.com/hashicorp/terraform-plugin-framework/resource/schema"
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

const description = "Reads the members of a cluster, their health, the leader, and what to do about any problem."

// Schema implements [datasource.DataSource].
func (d *clusterData) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: description,
		Attributes: map[string]schema.Attribute{
			"endpoints":  attribute.OptionalEndpoints("Client URLs of the cluster. One that responds is enough to find all members. Default: the provider's `endpoints`."),
			"cluster_id": attribute.ComputedText("ID of the cluster in hexadecimal. Null if no member responds."),
			"reachable":  attribute.ComputedFlag("Whether any endpoint returned a member list. If `false`, `members` is empty, and `advice` contains the response of each endpoint."),
			"healthy": attribute.ComputedFlag("`true` if a quorum agrees on the leader and the member list, every member responds, no alarm is raised, and no endpoint belongs to another cluster. `false` if any " +
				"of this could not be verified."),
			"leader":            attribute.ComputedText("ID of the leader on which a quorum of the voting members agrees, in hexadecimal. Null if there is none."),
			"term":              attribute.ComputedNumber("Raft term of the leader. Null without a leader."),
			"voters":            attribute.ComputedNumber("Number of voting members."),
			"quorum":            attribute.ComputedNumber("Number of voting members that must be alive."),
			"failure_tolerance": attribute.ComputedNumber("Number of further voting members that can fail before the cluster stops. For three healthy members it is 1, and 0 once one of them is unreachable."),
			"voter_endpoints":   attribute.ComputedList("Client URLs that the voting members advertise, reachable or not. Use them as the endpoints of clients. Learners do not serve ordinary requests and are left out."),
			"members":           attribute.ComputedObjects("Members in order of name. Members that have never started have no name and are at the end. Attributes that only the member itself can report are null if it did not respond.", memberAttributes()),
			"alarms": attribute.ComputedObjects("Alarms that are raised.", map[string]element.Attribute{
				"member_id": attribute.ComputedText("ID of the member that raised it, in hexadecimal."),
				"alarm":     attribute.ComputedText("`NOSPACE` or `CORRUPT`."),
			}),
			"survivor": element.SingleNestedAttribute{
				Computed: true,
				MarkdownDescription: "Member to save after the quorum is lost, with `member = data.etcd_cluster.<NAME>.survivor.name` of an `etcd_snapshot`. It is the member with the highest applied " +
					"index among those that respond. Null while the cluster has, or may have, a quorum, and if no voting member returns a member list.",
				Attributes: survivorAttributes(),
			},
			"advice": attribute.ComputedList("Problems and what to do about them, the most urgent first: a lost quorum and the member to save, members that do not respond or respond as another one, a learner " +
				"that makes no progress, alarms, no failure tolerance, an even number of voting members, certificates that expire within 30 days, mixed versions, known defects of the versions that respond and the release that has them " +
				"fixed. If the provider has a `username`, known bypasses of permissions too. Empty without problems. The wording can change between versions of the provider."),
		},
	}
}

// survivorAttributes are the attributes of survivor, which every element of members has too.
func survivorAttributes() map[string]element.Attribute {
	return map[string]element.Attribute{
		"id":                 attribute.ComputedText("ID in hexadecimal, as etcdctl prints it."),
		"name":               attribute.ComputedText("Name. Empty until the member has started for the first time."),
		"role":               attribute.ComputedText("`voter` or `learner`."),
		"version":            attribute.ComputedText("Version of etcd that the member runs."),
		"db_size":            attribute.ComputedNumber("Size of the database file in bytes."),
		"raft_term":          attribute.ComputedNumber("Raft term of the member. It does not show how much data the member has."),
		"raft_index":         attribute.ComputedNumber("Raft index up to which the member knows entries to be committed."),
		"raft_applied_index": attribute.ComputedNumber("Raft index up to which the member has applied entries. A snapshot contains these."),
	}
}

// memberAttributes are the attributes of an element of members.
func memberAttributes() map[string]element.Attribute {
	all := survivorAttributes()
	all["leader"] = attribute.ComputedFlag("Whether the member is the `leader` of the cluster.")
	all["alive"] = attribute.ComputedFlag("Whether the member itself responded as this member of this cluster and, if it votes, served a linearizable read. Without a quorum it is `false` for every voting " +
		"member. See `answer` for those whose process runs.")
	all["answer"] = attribute.ComputedText("What the endpoint of the member responded, as a sentence.")
	all["endpoint"] = attribute.ComputedText("Client URL at which the member was asked. Null if it has none yet.")
	all["peer_urls"] = attribute.ComputedList("Peer URLs.")
	all["client_urls"] = attribute.ComputedList("Client URLs that the member advertises. Empty until it has started for the first time.")
	all["certificate_expires_at"] = attribute.ComputedText("End of the validity of the certificate that the member presented at its client URL, in UTC (RFC 3339). Null over `http`.")
	all["lag"] = attribute.ComputedNumber("Number of entries that the leader had committed and the member had not applied. A few are normal under load, because the two are not asked at the same moment.")
	return all
}
