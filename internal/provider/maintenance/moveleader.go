// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package maintenance

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/action"
	"github.com/hashicorp/terraform-plugin-framework/action/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/attribute"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/report"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

// MoveLeader is the action etcd_move_leader.
type MoveLeader struct{ configured }

var _ action.ActionWithConfigure = (*MoveLeader)(nil)

// NewMoveLeader returns the action etcd_move_leader.
func NewMoveLeader() action.Action { return &MoveLeader{configured{name: "move_leader"}} }

const (
	moving    = "move leadership"
	moveLimit = time.Minute
)

type moveModel struct {
	To        types.String `tfsdk:"to"`
	Endpoints types.List   `tfsdk:"endpoints"`
	Timeout   types.String `tfsdk:"timeout"`
}

// Schema implements [action.Action].
func (*MoveLeader) Schema(_ context.Context, _ action.SchemaRequest, resp *action.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "Moves leadership to another voting member, and waits until a quorum agrees on it.",
		Attributes: map[string]schema.Attribute{
			"to":        schema.StringAttribute{Optional: true, Validators: []validator.String{attribute.Name()}, MarkdownDescription: "Name or ID of the member that is to lead. Default: the most advanced voting member that does not lead. Leadership then moves each time."},
			"endpoints": endpointsAttribute(),
			"timeout":   timeoutAttribute("Timeout of the action", moveLimit),
		},
	}
}

// Invoke implements [action.Action].
func (a *MoveLeader) Invoke(ctx context.Context, req action.InvokeRequest, resp *action.InvokeResponse) {
	var m moveModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	c := a.at(moving, m.Endpoints, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, within(m.Timeout, moveLimit))
	defer cancel()
	to := c.FindMember(ctx, moving, "to", m.To.ValueString(), &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	if _, err := c.MoveLeader(ctx, to, telling(resp)); err != nil {
		report.Error(&resp.Diagnostics, text.Maintenance(moving, err))
	}
}
