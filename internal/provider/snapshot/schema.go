// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package snapshot

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/booldefault"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/attribute"
)

const description = `A backup: a snapshot of the cluster's data, in a file on the machine that runs Terraform.

The snapshot is taken when the resource is created, and again when ` + "`triggers` or `path`" + ` change. It comes from a learner if one has caught up, else from a follower,
and from the leader only if there is no other member. It contains every write that was acknowledged before the apply began.

The file appears whole or not at all. It is written under another name in the same directory, compared with the SHA-256 that the server appends to the data, and renamed.
An interrupted apply leaves no file. What a killed one leaves is removed by the next apply. Only the owner can read the file (mode 0600), whatever the umask is.

!> **Warning** The file contains everything that the cluster stores: every value, and the users with the hashes of their passwords. Copy it to another place, encrypted. The state contains none of it.

**What happens to the file**

| the file | plan |
|---|---|
| is as the resource made it | empty |
| has changed, and be it one bit | takes a new snapshot in its place, with a warning |
| is missing | empty; with ` + "`require_file`" + ` takes a new snapshot |
| was there before the resource, or before ` + "`path`" + ` changed | refused; with ` + "`overwrite`" + ` replaces it |
| is the file of another ` + "`etcd_snapshot`" + ` in the configuration | refused |
| is a directory, or is in a directory that does not exist | refused |

Every refresh reads the whole file, one or two seconds for each gigabyte, because data that decays on a disk changes neither size nor time. A refresh and a destroy do not ask the cluster.

**Without a quorum** a snapshot needs ` + "`member`" + `: then that member's own data is saved, with a warning. ` + "`survivor`" + ` of ` + "[`data \"etcd_cluster\"`](../data-sources/cluster.md)" + `
is the member to name. A learner that is left alone gives no member list (no version of etcd lets it): save its data with ` + "`etcdctl snapshot save`" + ` at its own URL.`

// Schema implements [resource.Resource].
func (r *snapshotResource) Schema(ctx context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = schema.Schema{MarkdownDescription: description, Attributes: map[string]schema.Attribute{
		"path": schema.StringAttribute{
			Required: true, Validators: []validator.String{stringvalidator.LengthAtLeast(1)},
			MarkdownDescription: "Path of the file. Its directory must exist. A relative path begins at the working directory of Terraform: prefer `\"${path.root}/etcd.db\"`. " +
				"A change takes a new snapshot at the new path. The file at the old path is kept unless `delete_file` is `true`.",
		},
		"triggers": schema.MapAttribute{
			ElementType: types.StringType, Optional: true,
			MarkdownDescription: "Any texts. A change takes a new snapshot, which replaces the file. Default: none, one snapshot for as long as the file stays as it is.",
		},
		"member": schema.StringAttribute{
			Optional: true, Validators: []validator.String{attribute.Name()},
			MarkdownDescription: "Name or ID of the member whose data is saved. It is saved also without a quorum, with a warning: it may miss acknowledged writes. " +
				"A change takes effect with the next snapshot. Default: any member that has caught up, and a quorum is required.",
		},
		"endpoints": schema.ListAttribute{
			ElementType: types.StringType, Optional: true, Validators: []validator.List{listvalidator.SizeAtLeast(1), attribute.Endpoints()},
			MarkdownDescription: "Client URLs to begin with. A change takes effect with the next snapshot. Default: the provider's `endpoints`.",
		},
		"overwrite":    option("Whether a file that the resource did not make may be replaced, when the resource is created or `path` changes. A symbolic link is replaced, not followed."),
		"require_file": option("Whether a missing file is drift, so that the next apply takes a new snapshot. Leave it `false` in a pipeline that runs on a new disk each time."),
		"delete_file":  option("Whether a destroy deletes the file, and a change of `path` the previous one. A file that has changed since it was made is kept, with a warning."),
		"timeouts": attribute.Timeouts(ctx, timeouts.Opts{
			Create: true, Update: true,
			CreateDescription: "Timeout for the first snapshot. Default: `" + attribute.DurationText(defaultTimeout) + "`.",
			UpdateDescription: "Timeout for a further snapshot. Default: `" + attribute.DurationText(defaultTimeout) + "`.",
		}),
		"sha256":      computedText("SHA-256 of the file as a whole, in hexadecimal, as `sha256sum` prints it. (The hash that the server appends is that of the data alone. It is checked when the snapshot is taken.)"),
		"size":        number("Size of the file in bytes. It includes the 32 bytes of the hash that the server appends."),
		"revision":    number("Revision of the last change in the snapshot, as `etcdutl snapshot status` prints it."),
		"total_keys":  number("Number of keys in the snapshot, as `etcdutl snapshot status` (3.6 and later) prints it."),
		"version":     computedText("Version of etcd that the member ran, such as `3.6.16`. Restore with `etcdutl` of the same minor version."),
		"cluster_id":  computedText("ID of the cluster in hexadecimal."),
		"member_id":   computedText("ID of the member whose data it is, in hexadecimal."),
		"member_name": computedText("Name of the member whose data it is."),
	}}
}

func option(describe string) schema.Attribute {
	return schema.BoolAttribute{Optional: true, Computed: true, Default: booldefault.StaticBool(false), MarkdownDescription: describe + " Default: `false`."}
}

func computedText(describe string) schema.Attribute {
	return schema.StringAttribute{Computed: true, MarkdownDescription: describe}
}

func number(describe string) schema.Attribute {
	return schema.Int64Attribute{Computed: true, MarkdownDescription: describe}
}
