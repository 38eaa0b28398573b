// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discoverytoken

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/discovery"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/bootstrap"
)

const description = `A discovery token: the founders of a new etcd cluster find each other through it, so that none of them has to know the others' addresses beforehand.

The registry that holds the token is another etcd: the one at the ` + "`endpoints`" + ` of this resource's provider. It is asked
to make the token once, when the resource is created, and never during a refresh.

**A token serves one bootstrap.** As long as it is incomplete, a change of ` + "`founders`, `size`, `protocol`, `prefix` or `token`" + ` makes a new one.
Once every founder has registered it is ` + "`complete`" + ` and spent: those arguments can change without any effect, more members join through
their ` + "`etcd_member`" + `, and the plan stays empty even when the registry is gone.

With protocol ` + "`v3`" + ` any etcd can be the registry, but **the members must be etcd 3.6 or later**: older ones ignore the variables and form
a cluster of one each.`

// Schema implements [resource.Resource].
func (r *tokenResource) Schema(ctx context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: description,
		Attributes: map[string]schema.Attribute{
			"founders": schema.SetAttribute{
				ElementType: types.StringType,
				Optional:    true,
				// Computed so that they can stay when they are taken out of the
				// configuration of a complete token.
				Computed: true,
				MarkdownDescription: "Names of the members that form the cluster together, each the `name` of an `etcd_member_config`. Everyone else joins later. " +
					"Give this or `size`. A change makes a new token while this one is incomplete, and does nothing afterwards.",
			},
			"size": schema.NumberAttribute{
				Optional: true,
				Computed: true,
				MarkdownDescription: "Number of members that form the cluster together, from 1 to 99; follows from `founders` where that is given. Prefer 3 or 5. " +
					"A change makes a new token while this one is incomplete, and does nothing afterwards.",
			},
			"protocol": schema.StringAttribute{
				Optional: true,
				Computed: true,
				Default:  stringdefault.StaticString(bootstrap.ProtocolV3),
				MarkdownDescription: "How members speak to the registry. `v3` (default): the key space of any etcd, for members of 3.6 or later. " +
					"`v2` (URL in the v2 API of an etcd up to 3.5, for members up to 3.6) and `service` (a public-style discovery service, for members up to 3.6) are reserved and refused for now.",
			},
			"service_url": schema.StringAttribute{
				Optional:            true,
				Computed:            true,
				MarkdownDescription: "URL of the discovery service. Only with `protocol = \"service\"`.",
			},
			"prefix": schema.StringAttribute{
				Optional: true,
				Computed: true,
				Default:  stringdefault.StaticString(discovery.DefaultPrefix),
				MarkdownDescription: "Key under which the registry holds its tokens. Members with `v3` look under `/_etcd/registry` (default) only, " +
					"unless they reach the registry through a gRPC proxy that adds a namespace.",
			},
			"token": schema.StringAttribute{
				Optional: true,
				Computed: true,
				MarkdownDescription: "The token: 32 random hexadecimal digits, unless one is given here. One that exists already is never taken over; import it instead. " +
					"Letters, digits, `-`, `_` and `.` only. Whoever knows the token and reaches the registry can register as a founder.",
			},
			"advertised_endpoints": schema.ListAttribute{
				ElementType: types.StringType,
				Optional:    true,
				MarkdownDescription: "Client URLs of the registry as the machines reach it, where that differs from the provider's `endpoints`. " +
					"They go into `environment` and `bootstrap`.",
			},
			"id": schema.StringAttribute{
				Computed:            true,
				MarkdownDescription: "The same as `token`.",
			},
			"url": schema.StringAttribute{
				Computed:            true,
				MarkdownDescription: "Discovery URL for `--discovery`. Null with `v3`, where members are given a token and endpoints.",
			},
			"environment": schema.MapAttribute{
				ElementType: types.StringType,
				Computed:    true,
				MarkdownDescription: "Variables that a founder needs to find the others: `ETCD_DISCOVERY_TOKEN` and `ETCD_DISCOVERY_ENDPOINTS`. Where the registry asks for TLS or a " +
					"password, add `ETCD_DISCOVERY_CACERT`, `ETCD_DISCOVERY_CERT`, `ETCD_DISCOVERY_KEY` (paths on the machine), `ETCD_DISCOVERY_USER` and `ETCD_DISCOVERY_PASSWORD`; " +
					"they are not in the state.",
			},
			"members": schema.ListNestedAttribute{
				Computed:            true,
				MarkdownDescription: "The founders that have registered, in order of registration; never more than `size`.",
				NestedObject: schema.NestedAttributeObject{
					Attributes: map[string]schema.Attribute{
						"id":   schema.StringAttribute{Computed: true, MarkdownDescription: "ID of the member in the cluster that it founds, in hexadecimal."},
						"name": schema.StringAttribute{Computed: true, MarkdownDescription: "Name of the member."},
						"peer_urls": schema.ListAttribute{
							ElementType:         types.StringType,
							Computed:            true,
							MarkdownDescription: "Peer URLs that the member advertises.",
						},
					},
				},
			},
			"complete": schema.BoolAttribute{
				Computed: true,
				MarkdownDescription: "Whether all founders have registered, as of the last refresh. Once true it stays true, and the registry is not asked again: " +
					"the token is spent, and whether the registry still has it makes no difference.",
			},
			"bootstrap": bootstrap.ComputedAttribute(),
			"timeouts":  timeouts.Attributes(ctx, timeouts.Opts{Create: true, Read: true, Update: true, Delete: true}),
		},
	}
}

// memberTypes are the attribute types of one element of members.
func memberTypes() map[string]attr.Type {
	return map[string]attr.Type{
		"id":        types.StringType,
		"name":      types.StringType,
		"peer_urls": types.ListType{ElemType: types.StringType},
	}
}
