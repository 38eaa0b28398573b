// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package rollout implements the resource etcd_rollout, which passes on a
// change that would recreate every machine to one member at a time.
package rollout

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework-validators/mapvalidator"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/log"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/backend"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/report"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

// Resource is etcd_rollout.
type Resource struct{ backend *backend.Backend }

var (
	_ resource.ResourceWithConfigure   = (*Resource)(nil)
	_ resource.ResourceWithModifyPlan  = (*Resource)(nil)
	_ resource.ResourceWithImportState = (*Resource)(nil)
)

// NewResource returns the resource.
func NewResource() resource.Resource { return &Resource{} }

// model is the resource's state. Healthy and Reason are the result of the last
// refresh. A plan must give the same result when it is applied, so it uses
// these values and not the present health.
type model struct {
	Desired         types.Map    `tfsdk:"desired"`
	Effective       types.Map    `tfsdk:"effective"`
	Pending         types.List   `tfsdk:"pending"`
	Healthy         types.Bool   `tfsdk:"healthy"`
	Reason          types.String `tfsdk:"reason"`
	UnhealthyMember types.String `tfsdk:"unhealthy_member"`
}

// Metadata implements resource.Resource.
func (r *Resource) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_rollout"
}

// Configure implements resource.ResourceWithConfigure.
func (r *Resource) Configure(_ context.Context, req resource.ConfigureRequest, resp *resource.ConfigureResponse) {
	r.backend = backend.From(req.ProviderData, &resp.Diagnostics)
}

// Schema implements resource.Resource.
func (r *Resource) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "Rolls out a change that recreates machines, such as a new image or version, one member at a time.",
		Attributes: map[string]schema.Attribute{
			"desired": schema.MapAttribute{
				ElementType: types.StringType, Required: true, Validators: []validator.Map{mapvalidator.NoNullValues()},
				MarkdownDescription: "Value that each member is to have, by the name of the member: any text, such as an image, a version or a hash. Each apply passes a change on to one member.",
			},
			"effective": schema.MapAttribute{
				ElementType: types.StringType, Computed: true,
				MarkdownDescription: "Value that each member has after the apply. Use `effective[name]` in `triggers_replace` of the [`etcd_member_config`](member_config.md) and in the machine. An " +
					"import sets it.",
			},
			"pending": schema.ListAttribute{
				ElementType: types.StringType, Computed: true,
				MarkdownDescription: "Names of the members that do not have their desired value yet, in the order in which they follow.",
			},
			"healthy": schema.BoolAttribute{
				Computed:            true,
				MarkdownDescription: "Whether every member was healthy at the last refresh.",
			},
			"reason": schema.StringAttribute{
				Computed:            true,
				MarkdownDescription: "What was not healthy at the last refresh. Null if everything was.",
			},
			"unhealthy_member": schema.StringAttribute{
				Computed: true,
				MarkdownDescription: "Name of the only member that was not healthy at the last refresh. Null if all were healthy, or more than one was not. This member is updated first, so that you can " +
					"roll forward from an image that does not boot.",
			},
		},
	}
}

// ModifyPlan implements resource.ResourceWithModifyPlan. It decides which
// member is updated, from the configuration and the prior state alone.
func (r *Resource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if req.Plan.Raw.IsNull() {
		return
	}
	if isReplaced(ctx, req, resp) {
		report.Error(&resp.Diagnostics, text.RolloutReplaced)
		return
	}
	var plan, state model
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	exists := !req.State.Raw.IsNull()
	if exists {
		resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	}
	if resp.Diagnostics.HasError() {
		return
	}
	desired, known := values(plan.Desired)
	var effective map[string]string
	if exists {
		effective, _ = values(state.Effective)
	}
	if !known {
		if exists || len(r.taken(ctx, names(plan.Desired))) > 0 {
			report.Error(&resp.Diagnostics, text.RolloutUnknown)
		}
		return
	}
	if taken := r.taken(ctx, names(plan.Desired).without(effective)); len(taken) > 0 {
		report.Error(&resp.Diagnostics, text.RolloutTakes(taken, effective, desired))
		return
	}
	out := membership.PlanRollout(effective, desired, state.Healthy.ValueBool(), state.UnhealthyMember.ValueString())
	resp.Diagnostics.Append(plan.take(ctx, out)...)
	plan.Healthy, plan.Reason, plan.UnhealthyMember = state.Healthy, state.Reason, state.UnhealthyMember
	if !exists {
		plan.setHealth(text.RolloutNotLooked, "")
	}
	log.Debug(ctx, log.Membership, "rollout decided", "next", out.Advanced, "pending", out.Pending, "healthy", state.Healthy.ValueBool(), "reason", state.Reason.ValueString())
	if t, say := text.Rollout(out, desired, state.Reason.ValueString()); say && exists {
		report.Warn(&resp.Diagnostics, t)
	}
	// When the plan is applied the member is already removed: too late to refuse.
	if exists && out.Reason != membership.RolloutDone && !r.isApplying() {
		resp.Diagnostics.Append(r.checkUpgrade(ctx, effective, desired)...)
	}
	resp.Diagnostics.Append(resp.Plan.Set(ctx, &plan)...)
}

var errUnknown = errors.New("the provider's configuration is not known yet")

// view observes the cluster at the provider's endpoints, if that is possible.
func (r *Resource) view(ctx context.Context) (*backend.Cluster, membership.Snapshot, error) {
	if r.backend == nil || r.backend.Unknown {
		return nil, membership.Snapshot{}, errUnknown
	}
	c, err := r.backend.Cluster(nil)
	if err != nil {
		return nil, membership.Snapshot{}, err
	}
	snap, err := c.View(ctx, 0)
	return c, snap, err
}

func (r *Resource) isApplying() bool { return r.backend != nil && r.backend.Applying.Load() }

// checkUpgrade refuses, or warns about, version changes of etcd that the
// cluster would not accept. It returns nil if the cluster cannot be observed,
// because then no member is updated either.
func (r *Resource) checkUpgrade(ctx context.Context, effective, desired map[string]string) (diags diag.Diagnostics) {
	_, snap, err := r.view(ctx)
	if err != nil {
		return nil
	}
	step, code := membership.CheckUpgrade(snap, effective, desired)
	if code == membership.UpgradeFine {
		return nil
	}
	t := text.Upgrade(step, code, snap)
	if code.Refused() {
		report.ErrorAt(&diags, path.Root("desired"), t)
	} else {
		report.Warn(&diags, t)
	}
	return diags
}

// values returns the texts of a map. known is false if any of them is unknown.
func values(m types.Map) (out map[string]string, known bool) {
	if m.IsUnknown() {
		return nil, false
	}
	out = map[string]string{}
	for name, v := range m.Elements() {
		words, ok := v.(types.String)
		if !ok || words.IsUnknown() {
			return nil, false
		}
		out[name] = words.ValueString()
	}
	return out, true
}

func (m *model) take(ctx context.Context, out membership.Rollout) (diags diag.Diagnostics) {
	effective, d := types.MapValueFrom(ctx, types.StringType, out.Effective)
	diags.Append(d...)
	if out.Pending == nil {
		out.Pending = []string{}
	}
	waiting, d := types.ListValueFrom(ctx, types.StringType, out.Pending)
	diags.Append(d...)
	m.Effective, m.Pending = effective, waiting
	return diags
}

func (m *model) setHealth(reason, unhealthy string) {
	m.Healthy, m.Reason, m.UnhealthyMember = types.BoolValue(reason == ""), types.StringNull(), types.StringNull()
	if reason != "" {
		m.Reason = types.StringValue(reason)
	}
	if unhealthy != "" {
		m.UnhealthyMember = types.StringValue(unhealthy)
	}
}

// Create implements resource.Resource. Every member starts with its desired value.
func (r *Resource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var m model
	r.backend.Applying.Store(true)
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	desired, _ := values(m.Desired)
	resp.Diagnostics.Append(m.take(ctx, membership.PlanRollout(nil, desired, false, ""))...)
	m.setHealth(text.RolloutNotLooked, "")
	if !resp.Diagnostics.HasError() {
		resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
	}
}

// Read implements resource.Resource. It stores the health of the members for
// the plan.
func (r *Resource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var m model
	resp.Diagnostics.Append(req.State.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() || r.backend.Unknown {
		return
	}
	m.setHealth(r.look(ctx, m))
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

// look returns the reason why the cluster is not healthy, "" if it is, and the
// name of the unhealthy member if there is only one.
func (r *Resource) look(ctx context.Context, m model) (reason, unhealthy string) {
	c, snap, err := r.view(ctx)
	if err != nil {
		return text.RolloutCannotLook(err), ""
	}
	effective, _ := values(m.Effective)
	names := slices.Sorted(maps.Keys(effective))
	var open []membership.Turn
	if snap.Linearizable { // without a quorum the turns cannot be read
		if open, err = c.OpenTurns(ctx, snap); err != nil {
			return text.RolloutCannotLook(err), ""
		}
	}
	found := membership.UnhealthyMembers(snap, names, open)
	return text.RolloutReason(found, snap), membership.OnlyUnhealthy(snap, found)
}

// Update implements resource.Resource. It never fails, because in graph order
// the member to be replaced has already been removed when it is called.
func (r *Resource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	r.backend.Applying.Store(true)
	var m model
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	if !resp.Diagnostics.HasError() {
		resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
	}
}

// Delete implements resource.Resource. It only removes the resource from the state.
func (r *Resource) Delete(context.Context, resource.DeleteRequest, *resource.DeleteResponse) {}
