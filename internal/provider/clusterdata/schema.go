// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package clusterdata

import (
	"context"
	"maps"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	element "github.com/hashicorp/terraform-plugin-framework/resource/schema"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/attribute"
)

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
	maps.Copy(all, map[string]element.Attribute{
		"leader": attribute.ComputedFlag("Whether the member is the `leader` of the cluster."),
		"alive": attribute.ComputedFlag("Whether the member itself responded as this member of this cluster and, if it votes, served a linearizable read. Without a quorum it is `false` for every voting " +
			"member. See `answer` for those whose process runs."),
		"answer":                 attribute.ComputedText("What the endpoint of the member responded, as a sentence."),
		"endpoint":               attribute.ComputedText("Client URL at which the member was asked. Null if it has none yet."),
		"peer_urls":              attribute.ComputedList("Peer URLs."),
		"client_urls":            attribute.ComputedList("Client URLs that the member advertises. Empty until it has started for the first time."),
		"certificate_expires_at": attribute.ComputedText("End of the validity of the certificate that the member presented at its client URL, in UTC (RFC 3339). Null over `http`."),
		"lag":                    attribute.ComputedNumber("Number of entries that the leader had committed and the member had not applied. A few are normal under load, because the two are not asked at the same moment."),
	})
	return all
}
