// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package initialcluster

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/attribute"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/bootstrap"
)

// defaultWindow is long enough for machines that are created in one apply, and
// no longer: within it, a machine without data whose peers are all silent cannot
// be told from a new one.
const defaultWindow = "30m"

const description = "Describes the initial members of a cluster whose addresses are known in advance (static bootstrap)."

// Schema implements [resource.Resource].
func (r *clusterResource) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: description,
		Attributes: map[string]schema.Attribute{
			"members": schema.MapAttribute{
				ElementType: types.SetType{ElemType: types.StringType},
				Required:    true,
				MarkdownDescription: "Peer URLs of the initial members by name, each the `name` and the `peer_urls` of an `etcd_member_config`: `{ a = [\"https://10.0.1.10:2380\"] }`. Prefer 3 or 5. A " +
					"change is refused before the cluster has responded, and has no effect afterwards.",
			},
			"cluster_token": schema.StringAttribute{
				Optional: true,
				Computed: true,
				MarkdownDescription: "Token that distinguishes this cluster from others with the same members. Empty after an import. A change is refused before the cluster has responded, and has no " +
					"effect afterwards. Default: 32 random hexadecimal digits. Allowed: letters, digits, `-`, `_` and `.`.",
			},
			"bootstrap_window": schema.StringAttribute{
				Optional: true,
				Computed: true,
				Default:  stringdefault.StaticString(defaultWindow),
				MarkdownDescription: "Time after the creation of its `etcd_member_config` in which the first initial member by name can form the cluster. It is fixed in `environment` when that " +
					"configuration is created: a change affects only configurations that are created afterwards. Default: `" + defaultWindow + "`.",
				Validators: []validator.String{attribute.Duration()},
			},
			"initial_cluster": schema.StringAttribute{
				Computed:            true,
				MarkdownDescription: "The members in the format of `ETCD_INITIAL_CLUSTER`. Null after an import.",
			},
			"cluster_id": schema.StringAttribute{
				Computed:            true,
				MarkdownDescription: "ID of the cluster that the initial members form, in hexadecimal, computed as etcd does.",
			},
			"member_ids": schema.MapAttribute{
				ElementType:         types.StringType,
				Computed:            true,
				MarkdownDescription: "IDs of the initial members by name, in hexadecimal, computed as etcd does. Null after an import.",
			},
			"complete": schema.BoolAttribute{
				Computed:            true,
				MarkdownDescription: "Whether the cluster has responded at the provider's `endpoints`, as of the last refresh. Once `true` it stays `true`, and the cluster is not asked again.",
			},
			"restore":   restoreAttribute(),
			"bootstrap": bootstrap.ComputedAttribute(),
		},
	}
}
