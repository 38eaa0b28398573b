// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package heartbeat

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-validators/setvalidator"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	element "github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/claim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/attribute"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/backend"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/report"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

// heartbeats implements data "etcd_heartbeats".
type heartbeats struct{ backend.DataSource }

// NewDataSource returns the data source etcd_heartbeats.
func NewDataSource() datasource.DataSource {
	return &heartbeats{backend.DataSource{Type: "_heartbeats"}}
}

// dataModel is the data source in Terraform's form.
type dataModel struct {
	Prefix     types.String      `tfsdk:"prefix"`
	Expected   types.Set         `tfsdk:"expected"`
	Watch      types.String      `tfsdk:"watch"`
	API        types.String      `tfsdk:"api"`
	Alive      map[string]living `tfsdk:"alive"`
	Missing    []string          `tfsdk:"missing"`
	Unexpected []string          `tfsdk:"unexpected"`
	Events     []event           `tfsdk:"events"`
}

// living is one element of alive.
type living struct {
	Value   string `tfsdk:"value"`
	TTLLeft *int64 `tfsdk:"ttl_left"`
}

// event is one element of events.
type event struct {
	Kind  string `tfsdk:"kind"`
	Name  string `tfsdk:"name"`
	Value string `tfsdk:"value"`
}

// Schema implements [datasource.DataSource].
func (d *heartbeats) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "Lists the processes with a live heartbeat key below a prefix, and which of the expected ones are missing.",
		Attributes: map[string]schema.Attribute{
			"prefix":   attribute.DefaultText("Key prefix of the heartbeats. Only direct children count. Default: `"+defaultPrefix+"`.", inPrefix),
			"expected": attribute.OptionalSet("Names of the processes that should be alive. Default: none. `missing` and `unexpected` are empty then.", setvalidator.NoNullValues()),
			"watch": attribute.OptionalText("Time to watch before `alive` is read, such as `10s`. Use more than the interval of the heartbeats to see every owner, or more than their time to live to see those "+
				"that expire. Every refresh blocks for this time. Default: no watch.", attribute.Duration),
			"api": attribute.DefaultText("API of the keys: `v3` for leases, `v2` for TTL keys on servers up to 3.5 with `--enable-v2`. Each API sees only its own keys. Default: `"+apiV3+"`.", inAPI),
			"alive": schema.MapNestedAttribute{
				Computed:            true,
				MarkdownDescription: "Owners of live heartbeats by name, at the end of the watch.",
				NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
					"value":    attribute.ComputedText("Value of the key."),
					"ttl_left": attribute.ComputedNumber("Seconds until the key expires without another heartbeat. Null for a key without a time to live, which never expires."),
				}},
			},
			"missing":    attribute.ComputedSet("Names in `expected` that are not alive."),
			"unexpected": attribute.ComputedSet("Names that are alive and not in `expected`. Empty without `expected`."),
			"events": attribute.ComputedObjects("Events during `watch`, in order. Empty without `watch`.", map[string]element.Attribute{
				"kind": attribute.ComputedText("`started` (the key was created), `beat` (written again), `stopped` (deleted before its time to live was over, as at a regular end or a takeover) or `missed` " +
					"(expired). A lease that is revoked by hand looks like a missed heartbeat."),
				"name":  attribute.ComputedText("Name of the owner of the heartbeat."),
				"value": attribute.ComputedText("Value that the key had."),
			}),
		},
	}
}

// Read implements [datasource.DataSource].
func (d *heartbeats) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	m := attribute.Read[dataModel](ctx, req.Config, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	switch {
	case d.Backend.Unknown:
		report.Error(&resp.Diagnostics, text.EndpointsUnknown)
		return
	case len(d.Backend.Settings.Endpoints) == 0:
		report.Error(&resp.Diagnostics, text.NoEndpoints)
		return
	}
	m.Prefix, m.API = orDefault(m.Prefix, defaultPrefix), orDefault(m.API, apiV3)
	// Already validated; without a duration, Read does not watch.
	watch, _ := time.ParseDuration(m.Watch.ValueString())
	alive, events, err := look(ctx, d.Backend.Claims(m.API.ValueString() == apiV2), m.Prefix.ValueString(), watch)
	if err != nil {
		report.Error(&resp.Diagnostics, text.Failed("see who beats under "+m.Prefix.ValueString(), "read", m.Prefix.ValueString(), err))
		return
	}
	m.fill(alive, events)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

// maxEvents is the maximum number of events, which are all stored in the state.
const maxEvents = 10_000

// look watches for a while and returns the events, and the live entries at the
// end.
func look(ctx context.Context, store claim.Store, prefix string, watch time.Duration) (alive []claim.Entry, events []claim.Event, err error) {
	alive, revision, err := store.List(ctx, prefix)
	if err != nil || watch <= 0 {
		return alive, nil, err
	}
	watching, cancel := context.WithTimeout(ctx, watch)
	defer cancel()
	err = store.Watch(watching, prefix, revision, func(e claim.Event) {
		events = append(events, e)
		if len(events) > maxEvents {
			cancel()
		}
	})
	switch {
	case err != nil:
		return nil, nil, err
	case ctx.Err() != nil:
		return nil, nil, ctx.Err()
	case len(events) > maxEvents:
		return nil, nil, fmt.Errorf("more than %d events under %s within %v; watch for a shorter time, or a prefix of its own", maxEvents, prefix, watch)
	}
	alive, _, err = store.List(ctx, prefix)
	return alive, events, err
}

// fill sets the attributes of the model, none of which is nil.
func (m *dataModel) fill(alive []claim.Entry, events []claim.Event) {
	expected := attribute.Texts(m.Expected)
	m.Alive, m.Missing, m.Unexpected, m.Events = map[string]living{}, []string{}, []string{}, []event{}
	for _, e := range alive {
		it := living{Value: e.Value}
		if !e.Forever {
			it.TTLLeft = new(int64(e.Left / time.Second))
		}
		m.Alive[e.Name()] = it
		if !m.Expected.IsNull() && !slices.Contains(expected, e.Name()) {
			m.Unexpected = append(m.Unexpected, e.Name())
		}
	}
	for _, name := range expected {
		if _, ok := m.Alive[name]; !ok {
			m.Missing = append(m.Missing, name)
		}
	}
	for _, e := range events {
		m.Events = append(m.Events, event{string(e.Kind), e.Name, e.Value})
	}
}
