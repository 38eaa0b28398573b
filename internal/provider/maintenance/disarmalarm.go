// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package maintenance

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/action"
	"github.com/hashicorp/terraform-plugin-framework/action/schema"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/report"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

// disarmAlarm is the action etcd_disarm_alarm.
type disarmAlarm struct{ configured }

var (
	_ action.ActionWithConfigure      = (*disarmAlarm)(nil)
	_ action.ActionWithValidateConfig = (*disarmAlarm)(nil)
	_ action.ActionWithModifyPlan     = (*disarmAlarm)(nil)
)

// NewDisarmAlarm returns the action etcd_disarm_alarm.
func NewDisarmAlarm() action.Action { return &disarmAlarm{configured{name: "disarm_alarm"}} }

const disarmLimit = time.Minute

type disarmModel struct {
	Alarm     types.String `tfsdk:"alarm"`
	Confirmed types.Bool   `tfsdk:"confirmed"`
	Endpoints types.List   `tfsdk:"endpoints"`
	Timeout   types.String `tfsdk:"timeout"`
}

// Schema implements [action.Action].
func (*disarmAlarm) Schema(_ context.Context, _ action.SchemaRequest, resp *action.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "Disarms an alarm after its cause is fixed.",
		Attributes: map[string]schema.Attribute{
			"alarm": schema.StringAttribute{Required: true, MarkdownDescription: "Alarm to disarm. Allowed: `NOSPACE`, `CORRUPT`."},
			"confirmed": schema.BoolAttribute{
				Optional: true,
				MarkdownDescription: "Whether you have fixed the cause, if the members do not report it: there is free space again (members before 3.6 do not report their quota), or the member whose " +
					"data differed was replaced. Default: `false`.",
			},
			"endpoints": endpointsAttribute(),
			"timeout":   timeoutAttribute("Timeout of the action", disarmLimit),
		},
	}
}

// ValidateConfig implements [action.ActionWithValidateConfig].
func (*disarmAlarm) ValidateConfig(ctx context.Context, req action.ValidateConfigRequest, resp *action.ValidateConfigResponse) {
	var m disarmModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	switch kind := m.Alarm.ValueString(); {
	case resp.Diagnostics.HasError() || m.Alarm.IsUnknown():
	case kind != membership.AlarmNoSpace && kind != membership.AlarmCorrupt:
		report.ErrorAt(&resp.Diagnostics, path.Root("alarm"), text.AlarmKind(kind))
	}
}

// ModifyPlan implements [action.ActionWithModifyPlan]. It warns what to do first.
func (*disarmAlarm) ModifyPlan(ctx context.Context, req action.ModifyPlanRequest, resp *action.ModifyPlanResponse) {
	var m disarmModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if !resp.Diagnostics.HasError() && !m.Alarm.IsUnknown() {
		report.Warn(&resp.Diagnostics, text.DisarmPlanned(m.Alarm.ValueString()))
	}
}

// Invoke implements [action.Action].
func (a *disarmAlarm) Invoke(ctx context.Context, req action.InvokeRequest, resp *action.InvokeResponse) {
	var m disarmModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	kind := m.Alarm.ValueString()
	doing := "disarm the alarm " + kind
	c := a.at(doing, m.Endpoints, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, within(m.Timeout, disarmLimit))
	defer cancel()
	if err := c.Disarm(ctx, kind, m.Confirmed.ValueBool(), telling(resp)); err != nil {
		report.Error(&resp.Diagnostics, text.Maintenance(doing, err))
	}
}
