// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package maintenance

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-validators/setvalidator"
	"github.com/hashicorp/terraform-plugin-framework/action"
	"github.com/hashicorp/terraform-plugin-framework/action/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/attribute"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/report"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

// Defragment is the action etcd_defragment.
type Defragment struct{ configured }

var _ action.ActionWithConfigure = (*Defragment)(nil)

// NewDefragment returns the action etcd_defragment.
func NewDefragment() action.Action { return &Defragment{configured{name: "defragment"}} }

const (
	defragmenting   = "defragment the members"
	defragmentLimit = 10 * time.Minute
)

type defragmentModel struct {
	Members   types.Set    `tfsdk:"members"`
	Interrupt types.Bool   `tfsdk:"allow_interruption"`
	Endpoints types.List   `tfsdk:"endpoints"`
	Timeout   types.String `tfsdk:"timeout"`
}

// Schema implements [action.Action].
func (*Defragment) Schema(_ context.Context, _ action.SchemaRequest, resp *action.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "Defragments the databases of the members, one member at a time, so that the file system gets free space back.",
		Attributes: map[string]schema.Attribute{
			"members": schema.SetAttribute{
				ElementType: types.StringType, Optional: true, Validators: []validator.Set{setvalidator.SizeAtLeast(1), setvalidator.ValueStringsAre(attribute.Name())},
				MarkdownDescription: "Names or IDs of the members to defragment. Learners cannot be defragmented. Default: all voting members.",
			},
			"allow_interruption": schema.BoolAttribute{
				Optional:            true,
				MarkdownDescription: "Whether to defragment a cluster of one or two voting members, which stops for that time. If `false`, the action fails for such a cluster. Default: `false`.",
			},
			"endpoints": endpointsAttribute(),
			"timeout":   timeoutAttribute("Timeout for one member, and for the wait before each member until the lock on membership changes is free and all other members are healthy", defragmentLimit),
		},
	}
}

// Invoke implements [action.Action].
func (d *Defragment) Invoke(ctx context.Context, req action.InvokeRequest, resp *action.InvokeResponse) {
	m := attribute.Read[defragmentModel](ctx, req.Config, &resp.Diagnostics)
	c := d.at(defragmenting, m.Endpoints, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	var ids []membership.MemberID
	for _, name := range attribute.Texts(m.Members) {
		ids = append(ids, c.FindMember(ctx, defragmenting, "members", name, &resp.Diagnostics))
		if resp.Diagnostics.HasError() {
			return
		}
	}
	err := c.Defragment(ctx, reconfigure.DefragmentRequest{
		Members: ids, Interrupt: m.Interrupt.ValueBool(), Limit: within(m.Timeout, defragmentLimit),
	}, telling(resp))
	if err != nil {
		report.Error(&resp.Diagnostics, text.Maintenance(defragmenting, err))
	}
}
