// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package maintenance

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/action"
	"github.com/hashicorp/terraform-plugin-framework/action/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/attribute"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/report"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

// Snapshot is the action etcd_snapshot.
type Snapshot struct{ configured }

var (
	_ action.ActionWithConfigure  = (*Snapshot)(nil)
	_ action.ActionWithModifyPlan = (*Snapshot)(nil)
)

// NewSnapshot returns the action etcd_snapshot.
func NewSnapshot() action.Action { return &Snapshot{configured{name: "snapshot"}} }

const (
	saving        = "save a snapshot"
	snapshotLimit = 30 * time.Minute
)

type snapshotModel struct {
	Path      types.String `tfsdk:"path"`
	Overwrite types.Bool   `tfsdk:"overwrite"`
	Member    types.String `tfsdk:"member"`
	Endpoints types.List   `tfsdk:"endpoints"`
	Timeout   types.String `tfsdk:"timeout"`
}

// Schema implements [action.Action].
func (*Snapshot) Schema(_ context.Context, _ action.SchemaRequest, resp *action.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "Saves a snapshot of the cluster's data to a file on the machine that runs Terraform.",
		Attributes: map[string]schema.Attribute{
			"path":      schema.StringAttribute{Required: true, Validators: []validator.String{stringvalidator.LengthAtLeast(1)}, MarkdownDescription: "Path of the file. Its directory must exist at plan."},
			"overwrite": schema.BoolAttribute{Optional: true, MarkdownDescription: "Whether an existing file can be replaced. If `false`, an existing file is an error at plan. Default: `false`."},
			"member": schema.StringAttribute{
				Optional: true, Validators: []validator.String{attribute.Name()},
				MarkdownDescription: "Name or ID of the member whose data is saved, also without a quorum, with a warning. Default: a learner that has caught up, else a follower, else the leader. A " +
					"quorum is required then.",
			},
			"endpoints": endpointsAttribute(),
			"timeout":   timeoutAttribute("Timeout of the action", snapshotLimit),
		},
	}
}

// ModifyPlan implements [action.ActionWithModifyPlan].
func (*Snapshot) ModifyPlan(ctx context.Context, req action.ModifyPlanRequest, resp *action.ModifyPlanResponse) {
	var m snapshotModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() || m.Path.IsUnknown() {
		return
	}
	err := reconfigure.Free(ctx, reconfigure.SaveRequest{Path: m.Path.ValueString(), Overwrite: m.Overwrite.IsUnknown() || m.Overwrite.ValueBool()})
	if err != nil {
		report.Error(&resp.Diagnostics, text.Maintenance(saving, err))
	}
}

// Invoke implements [action.Action].
func (s *Snapshot) Invoke(ctx context.Context, req action.InvokeRequest, resp *action.InvokeResponse) {
	var m snapshotModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	c := s.at(saving, m.Endpoints, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	limit := within(m.Timeout, snapshotLimit)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	from := c.FindMember(ctx, saving, "member", m.Member.ValueString(), &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	r := reconfigure.SaveRequest{Path: m.Path.ValueString(), Overwrite: m.Overwrite.ValueBool(), Limit: limit, From: from}
	saved, err := c.Save(ctx, r, telling(resp))
	if err != nil {
		report.Error(&resp.Diagnostics, text.Maintenance(saving, err))
		return
	}
	for _, w := range saved.Warnings {
		report.Warn(&resp.Diagnostics, text.SnapshotStale(w, saved.Member, saved.Snapshot))
	}
	say(resp, text.SnapshotSaved(r.Path, saved))
}
