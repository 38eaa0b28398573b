// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package snapshot

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/attribute"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
)

const description = "Saves a snapshot of the cluster's data to a file on the machine that runs Terraform."

// Schema implements [resource.Resource].
func (r *snapshotResource) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = schema.Schema{MarkdownDescription: description, Attributes: map[string]schema.Attribute{
		"path": attribute.RequiredText("Path of the file. Its directory must exist. A relative path begins at the working directory of Terraform: prefer `\"${path.root}/etcd.db\"`. A change takes a new "+
			"snapshot at the new path, and keeps the file at the old path unless `delete_file` is `true`.", stringvalidator.LengthAtLeast(1)),
		"triggers": schema.MapAttribute{
			ElementType: types.StringType, Optional: true,
			MarkdownDescription: "Any texts. A change takes a new snapshot, which replaces the file. Default: none, one snapshot that is kept while the file is unchanged.",
		},
		"member": attribute.OptionalText("Name or ID of the member whose data is saved, also without a quorum. A warning says then that it may miss acknowledged writes. A change takes effect with the next "+
			"snapshot. Default: any member that has caught up. A quorum is required then.", attribute.Name()),
		"endpoints":    attribute.OptionalEndpoints("Client URLs of the cluster. A change takes effect with the next snapshot. Default: the provider's `endpoints`."),
		"overwrite":    attribute.DefaultFlag("Whether a file that the resource did not create can be replaced, when the resource is created or `path` changes. A symbolic link is replaced, not followed."),
		"require_file": attribute.DefaultFlag("Whether a missing file is drift, so that the next apply takes a new snapshot. Keep it `false` in a pipeline that runs on a new disk each time."),
		"delete_file":  attribute.DefaultFlag("Whether a destroy deletes the file, and a change of `path` deletes the previous one. A file that has changed since it was created is kept, with a warning."),
		"timeouts": attribute.Timeouts(map[string]string{
			"create": "Timeout for the first snapshot. Default: `" + attribute.DurationText(defaultTimeout) + "`.",
			"update": "Timeout for a further snapshot. Default: `" + attribute.DurationText(defaultTimeout) + "`.",
		}),
		"sha256":      attribute.ComputedText("SHA-256 of the whole file in hexadecimal, as `sha256sum` prints it. The hash that the server appends is that of the data alone. It is checked when the snapshot is taken."),
		"size":        attribute.ComputedNumber("Size of the file in bytes. It includes the 32 bytes of the hash that the server appends."),
		"revision":    attribute.ComputedNumber("Revision of the member right after the transfer. If something was written during the transfer, the snapshot may end at an earlier revision. `etcdutl snapshot status` prints it."),
		"version":     attribute.ComputedText("Version of etcd that the member ran, such as `3.6.16`. Restore with `etcdutl` of the same minor version or a later one."),
		"cluster_id":  attribute.ComputedText("ID of the cluster in hexadecimal."),
		"member_id":   attribute.ComputedText("ID of the member whose data it is, in hexadecimal."),
		"taken_at":    attribute.ComputedText("Time at which the snapshot was taken, by the clock of the machine that runs Terraform. Each snapshot has another one."),
		"member_name": attribute.ComputedText("Name of the member whose data it is."),
	}}
}

// model is the resource in Terraform's form.
type model struct {
	Path        types.String   `tfsdk:"path"`
	Triggers    types.Map      `tfsdk:"triggers"`
	Member      types.String   `tfsdk:"member"`
	Endpoints   types.List     `tfsdk:"endpoints"`
	Overwrite   types.Bool     `tfsdk:"overwrite"`
	RequireFile types.Bool     `tfsdk:"require_file"`
	DeleteFile  types.Bool     `tfsdk:"delete_file"`
	Timeouts    timeouts.Value `tfsdk:"timeouts"`
	file
}

// file describes the snapshot in the file.
type file struct {
	SHA256     types.String `tfsdk:"sha256"`
	Size       types.Int64  `tfsdk:"size"`
	Revision   types.Int64  `tfsdk:"revision"`
	Version    types.String `tfsdk:"version"`
	ClusterID  types.String `tfsdk:"cluster_id"`
	MemberID   types.String `tfsdk:"member_id"`
	MemberName types.String `tfsdk:"member_name"`
	TakenAt    types.String `tfsdk:"taken_at"`
}

// unknownFile is the file of a snapshot that is planned.
func unknownFile() file {
	text, number := types.StringUnknown(), types.Int64Unknown()
	return file{text, number, number, text, text, text, text, text}
}

// backup returns what the resource's file holds.
func (m *model) backup() *membership.Backup {
	cluster, _ := membership.ParseClusterID(m.ClusterID.ValueString())
	return &membership.Backup{Cluster: cluster, Most: m.Revision.ValueInt64()}
}

// fileOf describes a snapshot that was saved.
func fileOf(s reconfigure.Saved, at time.Time) file {
	of, _ := s.Snapshot.Member(s.Member)
	return file{
		SHA256: types.StringValue(s.SHA256), Size: types.Int64Value(s.Size), Revision: types.Int64Value(s.Backup.Most),
		Version: types.StringValue(s.Snapshot.Answer(s.Member).Version), ClusterID: types.StringValue(s.Snapshot.ClusterID.String()),
		MemberID: types.StringValue(s.Member.String()), MemberName: types.StringValue(of.Name),
		TakenAt: types.StringValue(at.UTC().Format(time.RFC3339Nano)),
	}
}
