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

// defaultWindow is long enough for machines that are created in one apply.
const defaultWindow = "1h"

const description = `A static bootstrap: the founders of a new etcd cluster are told of each other. It needs no registry, so it is for the first cluster there is,
and for those whose addresses are known beforehand. It fits members of every version.

Nothing is made anywhere: the resource keeps what the founders are started with, a token that no other cluster has, and the IDs that follow from both.

!> **Warning** Start every machine through the join script (` + "`join_script_base64gzip`" + `) of its ` + "`etcd_member_config`" + `. With ` + "`environment`" + ` alone etcd itself decides how it starts: a member
whose data was lost starts empty under its old identity if no peer answers, and acknowledged writes can be lost.

**One member starts first.** The initial member that comes first by name forms the cluster, and the others start once they see it. It does so within
` + "`bootstrap_window`" + ` of the creation of its configuration, and only while nobody is there at the URLs of its peers. After that no initial member starts as a new one before a peer tells it that the cluster is being
formed. If the cluster has not formed by then, ` + "`terraform plan`" + ` says so, and with which commands the bootstrap begins again.

**Restore a backup.** With ` + "`restore`" + ` each initial member restores a snapshot before its first start. An interrupted restore starts over. A member that has data never restores again.
[Backup and restore](../guides/backup-and-restore.md) has the steps. With ` + "`replaces_cluster`" + ` the restored cluster replaces one that has lost its quorum: one plan replaces every member of that cluster, with its
configuration and its machine, and changes nothing in the old cluster. [Disaster recovery](../guides/disaster-recovery.md) has the steps.

**It serves one bootstrap and is never replaced.** Once a cluster with this ` + "`cluster_id`" + ` has answered, the resource is ` + "`complete`" + ` permanently. Then a change
of ` + "`members` or `cluster_token`" + ` has no effect, and every further member joins through its ` + "`etcd_member`" + `. So ` + "`members`" + ` can be written with the same
` + "`for`" + ` as everything else, and grow and shrink with it. Before the cluster has answered, such a change is refused, and so is ` + "`-replace`" + `: a cluster that is
unreachable looks the same as one that never formed. If it never formed, or is gone for good, run ` + "`terraform destroy -refresh=false`" + ` and then ` + "`terraform apply`" + `.

A creation is refused while another cluster answers at the provider's ` + "`endpoints`" + `. Such a cluster is imported by its ID, for example after the state was lost.
How it was bootstrapped cannot be read back: ` + "`members`" + ` are then the voting members at the time of the import, ` + "`cluster_token`" + ` is empty, and ` + "`initial_cluster` and `member_ids`" + `
are null. The next plan is empty, whatever the two arguments are. With the ` + "`members` and the `cluster_token`" + ` that the cluster was made with, a creation finds it again, too.`

// Schema implements [resource.Resource].
func (r *clusterResource) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: description,
		Attributes: map[string]schema.Attribute{
			"members": schema.MapAttribute{
				ElementType: types.SetType{ElemType: types.StringType},
				Required:    true,
				MarkdownDescription: "Peer URLs of the founders by name, each the `name` and the `peer_urls` of an `etcd_member_config`: `{ a = [\"https://10.0.1.10:2380\"] }`. Prefer 3 or 5. " +
					"A change is refused before the cluster has answered, and has no effect afterwards.",
			},
			"cluster_token": schema.StringAttribute{
				Optional: true,
				Computed: true,
				MarkdownDescription: "What tells this cluster from others with the same members. Default: 32 random hexadecimal digits. " +
					"Letters, digits, `-`, `_` and `.` only. Empty after an import. A change is treated as one of `members`.",
			},
			"bootstrap_window": schema.StringAttribute{
				Optional: true,
				Computed: true,
				Default:  stringdefault.StaticString(defaultWindow),
				MarkdownDescription: "How long after the creation of its `etcd_member_config` the first initial member by name may form the cluster. Default: `" + defaultWindow + "`. " +
					"The window is fixed in `environment` when that configuration is created; a change here has effect on configurations that are created afterwards only.",
				Validators: []validator.String{attribute.Duration()},
			},
			"initial_cluster": schema.StringAttribute{
				Computed:            true,
				MarkdownDescription: "The members in the format of `ETCD_INITIAL_CLUSTER`. Null after an import.",
			},
			"cluster_id": schema.StringAttribute{
				Computed:            true,
				MarkdownDescription: "ID of the cluster that the founders form, in hexadecimal, computed as etcd does.",
			},
			"member_ids": schema.MapAttribute{
				ElementType:         types.StringType,
				Computed:            true,
				MarkdownDescription: "IDs of the founders by name, in hexadecimal, computed as etcd does. Null after an import.",
			},
			"complete": schema.BoolAttribute{
				Computed: true,
				MarkdownDescription: "Whether the cluster has answered at the provider's `endpoints`, as of the last refresh. " +
					"Once true it stays true, and the cluster is not asked again.",
			},
			"restore":   restoreAttribute(),
			"bootstrap": bootstrap.ComputedAttribute(),
		},
	}
}
