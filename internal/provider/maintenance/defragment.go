// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package maintenance implements the action etcd_defragment. It needs Terraform 1.14.
package maintenance

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-validators/setvalidator"
	"github.com/hashicorp/terraform-plugin-framework/action"
	"github.com/hashicorp/terraform-plugin-framework/action/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/attribute"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/backend"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/report"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

// Defragment is the action etcd_defragment.
type Defragment struct{ backend *backend.Backend }

// NewDefragment returns the action etcd_defragment.
func NewDefragment() action.Action { return &Defragment{} }

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

// Metadata implements [action.Action].
func (d *Defragment) Metadata(_ context.Context, req action.MetadataRequest, resp *action.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_defragment"
}

// Configure implements [action.ActionWithConfigure].
func (d *Defragment) Configure(_ context.Context, req action.ConfigureRequest, resp *action.ConfigureResponse) {
	d.backend = backend.From(req.ProviderData, &resp.Diagnostics)
}

// Schema implements [action.Action].
func (*Defragment) Schema(_ context.Context, _ action.SchemaRequest, resp *action.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "Defragments the databases of the members, one member at a time, so that the file system gets free space back.",
		Attributes: map[string]schema.Attribute{
			"members": attribute.OptionalSet("Names or IDs of the members to defragment. Learners cannot be defragmented. Default: all voting members.",
				setvalidator.SizeAtLeast(1), setvalidator.ValueStringsAre(attribute.Name)),
			"allow_interruption": attribute.OptionalFlag("Whether to defragment a cluster of one or two voting members, which stops for that time. If `false`, the action fails for such a cluster. Default: `false`."),
			"endpoints":          attribute.OptionalEndpoints("Client URLs of the cluster. Default: the provider's `endpoints`."),
			"timeout": attribute.OptionalText("Timeout for one member, and for the wait before each member until the lock on membership changes is free and all other members are healthy, such as `90s`. Default: `"+
				attribute.DurationText(defragmentLimit)+"`.", attribute.Duration),
		},
	}
}

// Invoke implements [action.Action].
func (d *Defragment) Invoke(ctx context.Context, req action.InvokeRequest, resp *action.InvokeResponse) {
	m := attribute.Read[defragmentModel](ctx, req.Config, &resp.Diagnostics)
	c := d.backend.Open(defragmenting, attribute.Texts(m.Endpoints), &resp.Diagnostics)
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
	limit, err := time.ParseDuration(m.Timeout.ValueString())
	if err != nil { // validated already, so there is none
		limit = defragmentLimit
	}
	err = c.Defragment(ctx, reconfigure.DefragmentRequest{Members: ids, Interrupt: m.Interrupt.ValueBool(), Limit: limit}, func(s reconfigure.Step) {
		resp.SendProgress(action.InvokeProgressEvent{Message: text.Progress(s)})
	})
	if err != nil {
		report.Error(&resp.Diagnostics, text.Maintenance(defragmenting, err))
	}
}
