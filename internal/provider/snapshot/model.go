// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package snapshot

import (
	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
)

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

	SHA256     types.String `tfsdk:"sha256"`
	Size       types.Int64  `tfsdk:"size"`
	Revision   types.Int64  `tfsdk:"revision"`
	Version    types.String `tfsdk:"version"`
	ClusterID  types.String `tfsdk:"cluster_id"`
	MemberID   types.String `tfsdk:"member_id"`
	MemberName types.String `tfsdk:"member_name"`
}

// setUnknown plans a new snapshot.
func (m *model) setUnknown() {
	text, number := types.StringUnknown(), types.Int64Unknown()
	m.SHA256, m.Version, m.ClusterID, m.MemberID, m.MemberName = text, text, text, text, text
	m.Size, m.Revision = number, number
}

// keep plans the existing snapshot.
func (m *model) keep(state model) {
	m.SHA256, m.Version, m.ClusterID, m.MemberID, m.MemberName = state.SHA256, state.Version, state.ClusterID, state.MemberID, state.MemberName
	m.Size, m.Revision = state.Size, state.Revision
}

// setFile sets the attributes of the file.
func (m *model) setFile(sum string, size int64) {
	m.SHA256, m.Size = types.StringValue(sum), types.Int64Value(size)
}

// backup returns what the resource's file holds.
func (m *model) backup() *membership.Backup {
	cluster, _ := membership.ParseClusterID(m.ClusterID.ValueString())
	return &membership.Backup{Cluster: cluster, Most: m.Revision.ValueInt64()}
}

// fromSaved sets the attributes of the saved snapshot.
func (m *model) fromSaved(s reconfigure.Saved) {
	m.setFile(s.SHA256, s.Size)
	of, _ := s.Snapshot.Member(s.Member)
	m.Revision = types.Int64Value(s.Backup.Most)
	m.Version, m.ClusterID = types.StringValue(s.Snapshot.Answer(s.Member).Version), types.StringValue(s.Snapshot.ClusterID.String())
	m.MemberID, m.MemberName = types.StringValue(s.Member.String()), types.StringValue(of.Name)
}
