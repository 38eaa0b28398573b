// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package clusterdata

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/attribute"
)

const description = `What can be seen of a cluster from here: who its members are, who of them is alive, who leads, and what should be done about it.

All members are asked at once, each directly at the client URLs that it advertises, and so are the endpoints. A member that does not answer costs one
` + "`request_timeout`" + ` of the provider, however many there are.

**It reports, and does not fail**, whatever it finds: a plan must be possible while a member, or the whole cluster, is down. Use it in ` + "`check`" + ` blocks and
conditions. Only a configuration that leads nowhere is an error: no endpoints, or ones that are no URLs; a wrong password, a certificate that is refused or not
trusted; endpoints that are known after apply only (then give the data source ` + "`depends_on`" + `, so that it is read during the apply).

Like every data source it is read while the plan is made, unless something it depends on is about to change.`

// Schema implements [datasource.DataSource].
func (d *clusterData) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: description,
		Attributes: map[string]schema.Attribute{
			"endpoints": schema.ListAttribute{
				ElementType: types.StringType, Optional: true, Validators: []validator.List{listvalidator.SizeAtLeast(1), attribute.Endpoints()},
				MarkdownDescription: "Client URLs to begin with. Default: the provider's `endpoints`. One that answers is enough to find all members.",
			},
			"cluster_id": schema.StringAttribute{Computed: true, MarkdownDescription: "ID of the cluster in hexadecimal. Null if nobody answers."},
			"reachable":  schema.BoolAttribute{Computed: true, MarkdownDescription: "Whether anybody gave a member list. If not, `members` is empty, and `advice` says what each endpoint answered."},
			"healthy": schema.BoolAttribute{
				Computed: true,
				MarkdownDescription: "Whether all was seen to be well: a leader that a quorum names, a member list that a quorum confirms, every member alive, no alarm, and no endpoint of another cluster. " +
					"What could not be seen is not well.",
			},
			"leader": schema.StringAttribute{Computed: true, MarkdownDescription: "ID of the leader that a quorum of the voters names, in hexadecimal. Null if there is none."},
			"term":   schema.Int64Attribute{Computed: true, MarkdownDescription: "Raft term in which it leads. Null without a leader."},
			"voters": schema.Int64Attribute{Computed: true, MarkdownDescription: "Number of members that have a vote."},
			"quorum": schema.Int64Attribute{Computed: true, MarkdownDescription: "How many of the voters must be alive."},
			"failure_tolerance": schema.Int64Attribute{
				Computed:            true,
				MarkdownDescription: "How many of the voters that are seen alive now may fail before the cluster stops: 1 of three that are well, 0 once one of them is down.",
			},
			"voter_endpoints": schema.ListAttribute{
				ElementType: types.StringType, Computed: true,
				MarkdownDescription: "Client URLs that the voters advertise, alive or not: the endpoints for clients. Learners serve no ordinary calls and are left out.",
			},
			"members": schema.ListNestedAttribute{
				Computed:            true,
				MarkdownDescription: "The members, in order of name; those that never started, and have none, at the end. What only a member itself can say is null if it did not answer.",
				NestedObject:        memberObject,
			},
			"alarms": schema.ListNestedAttribute{
				Computed:            true,
				MarkdownDescription: "Alarms that are raised.",
				NestedObject:        alarmObject,
			},
			"survivor": schema.SingleNestedAttribute{
				Computed: true,
				MarkdownDescription: "The member to save once the quorum is lost, with `member = data.etcd_cluster.<NAME>.survivor.name` of an `etcd_snapshot`: of the members that answer, voters and learners, " +
					"the one with the most data, which is the highest applied index. Null while a quorum holds or may hold, and if no voter gives a member list.",
				Attributes: survivorAttributes,
			},
			"advice": schema.ListAttribute{
				ElementType: types.StringType, Computed: true,
				MarkdownDescription: "What should be known or done, in sentences, the most urgent first: a lost quorum and the member to save then, members that do not answer or answer as another, a learner that stands still, " +
					"alarms, no tolerance, an even number of voters, mixed versions, a release with a known bug. Empty if there is nothing to say. The wording may change between versions of the provider.",
			},
		},
	}
}

// alarmObject is one element of alarms.
var alarmObject = schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
	"member_id": schema.StringAttribute{Computed: true, MarkdownDescription: "ID of the member that raised it, in hexadecimal."},
	"alarm":     schema.StringAttribute{Computed: true, MarkdownDescription: "`NOSPACE` or `CORRUPT`."},
}}

// survivorAttributes are those of survivor.
var survivorAttributes = map[string]schema.Attribute{
	"id":                 schema.StringAttribute{Computed: true, MarkdownDescription: "ID in hexadecimal."},
	"name":               schema.StringAttribute{Computed: true, MarkdownDescription: "Name."},
	"role":               schema.StringAttribute{Computed: true, MarkdownDescription: "`voter` or `learner`."},
	"version":            schema.StringAttribute{Computed: true, MarkdownDescription: "Version of etcd that it runs."},
	"db_size":            schema.Int64Attribute{Computed: true, MarkdownDescription: "Size of its database file in bytes."},
	"raft_term":          schema.Int64Attribute{Computed: true, MarkdownDescription: "Raft term that it is in. It does not tell how much data it has."},
	"raft_index":         schema.Int64Attribute{Computed: true, MarkdownDescription: "Raft index up to which it knows entries to be committed."},
	"raft_applied_index": schema.Int64Attribute{Computed: true, MarkdownDescription: "Raft index up to which it has applied entries. A snapshot contains these."},
}

// memberObject is one element of members.
var memberObject = schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
	"id":     schema.StringAttribute{Computed: true, MarkdownDescription: "ID in hexadecimal, as etcdctl prints it."},
	"name":   schema.StringAttribute{Computed: true, MarkdownDescription: "Name; empty until the member has started for the first time."},
	"role":   schema.StringAttribute{Computed: true, MarkdownDescription: "`voter` or `learner`."},
	"leader": schema.BoolAttribute{Computed: true, MarkdownDescription: "Whether it is the `leader` of the cluster."},
	"alive": schema.BoolAttribute{
		Computed:            true,
		MarkdownDescription: "Whether it answered itself just now, as this member of this cluster, and, as a voter, served a linearizable read. Without a quorum no voter does; `answer` tells who runs.",
	},
	"answer":             schema.StringAttribute{Computed: true, MarkdownDescription: "What its endpoint said, in a sentence."},
	"endpoint":           schema.StringAttribute{Computed: true, MarkdownDescription: "Client URL at which it was asked. Null if it has none yet."},
	"version":            schema.StringAttribute{Computed: true, MarkdownDescription: "Version of etcd that it runs."},
	"peer_urls":          schema.ListAttribute{ElementType: types.StringType, Computed: true, MarkdownDescription: "Peer URLs."},
	"client_urls":        schema.ListAttribute{ElementType: types.StringType, Computed: true, MarkdownDescription: "Client URLs that it advertises; empty until it has started for the first time."},
	"db_size":            schema.Int64Attribute{Computed: true, MarkdownDescription: "Size of its database file in bytes."},
	"raft_term":          schema.Int64Attribute{Computed: true, MarkdownDescription: "Raft term that it is in."},
	"raft_index":         schema.Int64Attribute{Computed: true, MarkdownDescription: "Raft index up to which it knows entries to be committed."},
	"raft_applied_index": schema.Int64Attribute{Computed: true, MarkdownDescription: "Raft index up to which it has applied entries."},
	"lag": schema.Int64Attribute{
		Computed:            true,
		MarkdownDescription: "Entries that the leader had committed and it had not applied. A few are normal under load: the two are not asked at the very same moment.",
	},
}}
