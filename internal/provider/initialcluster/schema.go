// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package initialcluster

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/bootstrap"
)

const description = `A static bootstrap: the founders of a new etcd cluster are told of each other. It needs no registry, so it is for the first cluster there is,
and for those whose addresses are known beforehand. It fits members of every version.

Nothing is made anywhere: the resource keeps what the founders are started with, a token that no other cluster has, and the IDs that follow from both.

**It serves one bootstrap.** Before the cluster has formed, a change of ` + "`members` or `cluster_token`" + ` replaces it, and with it the founders, none of which
has formed a cluster. Once a cluster with this ` + "`cluster_id`" + ` has answered it is ` + "`formed`" + `, for good: both arguments can change without
any effect, and every further member joins through its ` + "`etcd_member`" + `. So ` + "`members`" + ` can be written with the same ` + "`for`" + ` as everything else, and
grow and shrink with it.

**There is no import**, and none is needed: a cluster that exists has no more founders, and ` + "`etcd_member_config`" + ` without ` + "`bootstrap`" + ` configures those
who join it. Where a state was lost, the same ` + "`members` and `cluster_token`" + ` find the cluster again when the resource is created.`

// Schema implements [resource.Resource].
func (r *clusterResource) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: description,
		Attributes: map[string]schema.Attribute{
			"members": schema.MapAttribute{
				ElementType: types.SetType{ElemType: types.StringType},
				Required:    true,
				MarkdownDescription: "Peer URLs of the founders by name, each the `name` and the `peer_urls` of an `etcd_member_config`: `{ a = [\"https://10.0.1.10:2380\"] }`. Prefer 3 or 5. " +
					"A change before the cluster has formed replaces this resource and the founders; afterwards it does nothing.",
			},
			"cluster_token": schema.StringAttribute{
				Optional: true,
				Computed: true,
				MarkdownDescription: "What tells this cluster from others with the same members: 32 random hexadecimal digits, unless it is given here. " +
					"Letters, digits, `-`, `_` and `.` only. A change has the effect of one of `members`.",
			},
			"initial_cluster": schema.StringAttribute{
				Computed:            true,
				MarkdownDescription: "The members as `ETCD_INITIAL_CLUSTER` wants them.",
			},
			"cluster_id": schema.StringAttribute{
				Computed:            true,
				MarkdownDescription: "ID of the cluster that the founders form, in hexadecimal, computed as etcd does.",
			},
			"member_ids": schema.MapAttribute{
				ElementType:         types.StringType,
				Computed:            true,
				MarkdownDescription: "IDs of the founders by name, in hexadecimal, computed as etcd does.",
			},
			"formed": schema.BoolAttribute{
				Computed: true,
				MarkdownDescription: "Whether the cluster has answered at the provider's `endpoints`, as of the last refresh. " +
					"Once true it stays true, and the cluster is not asked again.",
			},
			"bootstrap": bootstrap.ComputedAttribute(),
		},
	}
}
