// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package heartbeat

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-validators/setvalidator"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/claim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/attribute"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/backend"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/report"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

// heartbeats implements data "etcd_heartbeats".
type heartbeats struct{ backend *backend.Backend }

// NewDataSource returns the data source etcd_heartbeats.
func NewDataSource() datasource.DataSource { return &heartbeats{} }

var (
	_ datasource.DataSourceWithConfigure      = (*heartbeats)(nil)
	_ datasource.DataSourceWithValidateConfig = (*heartbeats)(nil)
)

// dataModel is the data source as Terraform holds it.
type dataModel struct {
	Prefix     types.String `tfsdk:"prefix"`
	Expected   types.Set    `tfsdk:"expected"`
	Watch      types.String `tfsdk:"watch"`
	API        types.String `tfsdk:"api"`
	Alive      types.Map    `tfsdk:"alive"`
	Missing    types.Set    `tfsdk:"missing"`
	Unexpected types.Set    `tfsdk:"unexpected"`
	Events     types.List   `tfsdk:"events"`
}

var (
	aliveType = types.ObjectType{AttrTypes: map[string]attr.Type{"value": types.StringType, "ttl_left": types.Int64Type}}
	eventType = types.ObjectType{AttrTypes: map[string]attr.Type{"kind": types.StringType, "name": types.StringType, "value": types.StringType}}
)

// Metadata implements [datasource.DataSource].
func (d *heartbeats) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_heartbeats"
}

// Schema implements [datasource.DataSource].
func (d *heartbeats) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "Who is alive under a prefix: who beats there (`/running/NAME`, a key with a time to live), who of those that are expected does not, and, with `watch`, what happened meanwhile. " +
			"It reads, and changes nothing.\n\n" +
			"Made for `check` blocks, where a server that misses its beat turns into a warning at plan and apply, and for preconditions, where it stops the change.",
		Attributes: map[string]schema.Attribute{
			"prefix": schema.StringAttribute{
				Optional: true, Computed: true,
				MarkdownDescription: "Key under which they beat. Default: `" + defaultPrefix + "`. What is further down than one name is none of theirs.",
			},
			"expected": schema.SetAttribute{ElementType: types.StringType, Optional: true, Validators: []validator.Set{setvalidator.NoNullValues()}, MarkdownDescription: "Names of those who should be alive. Default: none, and nothing is `missing` or `unexpected`."},
			"watch": schema.StringAttribute{
				Optional: true, Validators: []validator.String{attribute.Duration()},
				MarkdownDescription: "How long to watch before `alive` is read, such as `10s`. Longer than the interval of the beats shows every owner's; longer than their time to live shows who dies. Every refresh takes that long. Default: no watch.",
			},
			"api": schema.StringAttribute{
				Optional: true, Computed: true,
				MarkdownDescription: "`v3`, or `v2` for TTL keys on servers up to 3.5 with `--enable-v2`. Default: `" + apiV3 + "`. The two do not see each other's keys.",
			},
			"alive": schema.MapNestedAttribute{
				Computed:            true,
				MarkdownDescription: "Who is alive, by name, at the end of the watch.",
				NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
					"value":    schema.StringAttribute{Computed: true, MarkdownDescription: "What the key holds."},
					"ttl_left": schema.Int64Attribute{Computed: true, MarkdownDescription: "Seconds that the key has to live without another beat. Null for a key without a time to live, which never misses one."},
				}},
			},
			"missing":    schema.SetAttribute{ElementType: types.StringType, Computed: true, MarkdownDescription: "Those of `expected` that are not alive."},
			"unexpected": schema.SetAttribute{ElementType: types.StringType, Computed: true, MarkdownDescription: "Those alive that are not in `expected`; none where `expected` is not given."},
			"events": schema.ListNestedAttribute{
				Computed:            true,
				MarkdownDescription: "What was seen during `watch`, in order; empty without it.",
				NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
					"kind": schema.StringAttribute{
						Computed: true,
						MarkdownDescription: "`started` (the key was created), `beat` (written again), `stopped` (deleted before its time was over, as on a proper end or a takeover) " +
							"or `missed` (its time was over). A lease that someone revokes by hand looks like a missed beat.",
					},
					"name":  schema.StringAttribute{Computed: true, MarkdownDescription: "Whose."},
					"value": schema.StringAttribute{Computed: true, MarkdownDescription: "What the key held."},
				}},
			},
		},
	}
}

// Configure implements [datasource.DataSourceWithConfigure].
func (d *heartbeats) Configure(_ context.Context, req datasource.ConfigureRequest, resp *datasource.ConfigureResponse) {
	d.backend = backend.From(req.ProviderData, &resp.Diagnostics)
}

// ValidateConfig implements [datasource.DataSourceWithValidateConfig].
func (d *heartbeats) ValidateConfig(ctx context.Context, req datasource.ValidateConfigRequest, resp *datasource.ValidateConfigResponse) {
	var m dataModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if !resp.Diagnostics.HasError() {
		checkPlace(m.Prefix, m.API, &resp.Diagnostics)
	}
}

// Read implements [datasource.DataSource].
func (d *heartbeats) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var m dataModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	var expected []string
	if !m.Expected.IsNull() {
		resp.Diagnostics.Append(m.Expected.ElementsAs(ctx, &expected, false)...)
	}
	if resp.Diagnostics.HasError() {
		return
	}
	switch {
	case d.backend.Unknown:
		report.Error(&resp.Diagnostics, text.EndpointsUnknown)
		return
	case len(d.backend.Settings.Endpoints) == 0:
		report.Error(&resp.Diagnostics, text.NoEndpoints)
		return
	}
	m.Prefix, m.API = orDefault(m.Prefix, defaultPrefix), orDefault(m.API, apiV3)
	// Validated already; nothing is watched for no time.
	watch, _ := time.ParseDuration(m.Watch.ValueString())
	alive, events, err := look(ctx, d.backend.Claims(m.API.ValueString() == apiV2), m.Prefix.ValueString(), watch)
	if err != nil {
		report.Error(&resp.Diagnostics, text.HeartbeatFailed("see who beats under "+m.Prefix.ValueString(), "read", m.Prefix.ValueString(), err))
		return
	}
	m.fill(alive, events, expected)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

// maxEvents is how many events are kept, all of them in the state.
const maxEvents = 10_000

// look watches for a while and returns what it saw, and who is alive at the
// end.
func look(ctx context.Context, store claim.Store, prefix string, watch time.Duration) (alive []claim.Entry, events []claim.Event, err error) {
	alive, revision, err := store.List(ctx, prefix)
	if err != nil || watch <= 0 {
		return alive, nil, err
	}
	watching, cancel := context.WithTimeout(ctx, watch)
	defer cancel()
	more := false
	err = store.Watch(watching, prefix, revision, func(e claim.Event) {
		if more = len(events) == maxEvents; more {
			cancel()
			return
		}
		events = append(events, e)
	})
	switch {
	case err != nil:
		return nil, nil, err
	case ctx.Err() != nil:
		return nil, nil, ctx.Err()
	case more:
		return nil, nil, fmt.Errorf("more than %d events under %s within %v; watch for a shorter time, or a prefix of its own", maxEvents, prefix, watch)
	}
	alive, _, err = store.List(ctx, prefix)
	return alive, events, err
}

// fill turns what was seen into the model.
func (m *dataModel) fill(alive []claim.Entry, events []claim.Event, expected []string) {
	living := map[string]attr.Value{}
	missing, unexpected := []attr.Value{}, []attr.Value{}
	for _, e := range alive {
		left := types.Int64Value(int64(e.Left / time.Second))
		if e.Forever {
			left = types.Int64Null()
		}
		living[e.Name()] = types.ObjectValueMust(aliveType.AttrTypes, map[string]attr.Value{"value": types.StringValue(e.Value), "ttl_left": left})
		if !m.Expected.IsNull() && !slices.Contains(expected, e.Name()) {
			unexpected = append(unexpected, types.StringValue(e.Name()))
		}
	}
	for _, name := range expected {
		if _, ok := living[name]; !ok {
			missing = append(missing, types.StringValue(name))
		}
	}
	seen := []attr.Value{}
	for _, e := range events {
		seen = append(seen, types.ObjectValueMust(eventType.AttrTypes, map[string]attr.Value{
			"kind": types.StringValue(string(e.Kind)), "name": types.StringValue(e.Name), "value": types.StringValue(e.Value),
		}))
	}
	m.Alive = types.MapValueMust(aliveType, living)
	m.Missing, m.Unexpected = types.SetValueMust(types.StringType, missing), types.SetValueMust(types.StringType, unexpected)
	m.Events = types.ListValueMust(eventType, seen)
}
