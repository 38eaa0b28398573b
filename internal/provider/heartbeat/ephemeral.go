// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package heartbeat publishes the heartbeat of a Terraform run with the ephemeral
// resource etcd_heartbeat, and reads heartbeats with the data source etcd_heartbeats.
package heartbeat

import (
	"context"
	"errors"
	"path"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/ephemeral"
	"github.com/hashicorp/terraform-plugin-framework/ephemeral/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/claim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/discovery"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/attribute"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/backend"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/private"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/report"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

const (
	// defaultPrefix is the prefix that programs of the v2 era use for heartbeats.
	defaultPrefix = "/running"
	defaultTTL    = "30s"
	apiV2         = "v2"
	apiV3         = "v3"
)

// leastTTL is close to the shortest lease that etcd grants: one and a half
// times its election timeout.
const leastTTL = 2 * time.Second

// inPrefix and inAPI validate the arguments that both share.
var (
	inPrefix = attribute.Fits("must be an absolute key", discovery.PrefixProblem,
		"Invalid prefix of heartbeats", "prefix = %q %s. It is an absolute key without a slash at its end, such as /running.")
	inName = attribute.Fits("must be a part of a key", nameProblem,
		"Invalid name of a heartbeat", "name = %q %s. It becomes the last part of a key, such as /running/web1.")
	inAPI = stringvalidator.OneOf(apiV3, apiV2)
)

func nameProblem(name string) string {
	switch {
	case name == "":
		return "is empty"
	case strings.Contains(name, "/"):
		return "contains a slash"
	case strings.HasPrefix(name, "_"):
		return "begins with an underscore, which hides a key on the v2 API"
	default:
		return ""
	}
}

func orDefault(v types.String, standard string) types.String {
	if v.IsNull() {
		return types.StringValue(standard)
	}
	return v
}

// ephemeralHeartbeat implements ephemeral "etcd_heartbeat".
type ephemeralHeartbeat struct{ backend *backend.Backend }

// NewEphemeral returns the ephemeral resource etcd_heartbeat.
func NewEphemeral() ephemeral.EphemeralResource { return &ephemeralHeartbeat{} }

// model is the ephemeral resource in Terraform's form.
type model struct {
	Prefix   types.String `tfsdk:"prefix"`
	Name     types.String `tfsdk:"name"`
	Value    types.String `tfsdk:"value"`
	TTL      types.String `tfsdk:"ttl"`
	Interval types.String `tfsdk:"interval"`
	Takeover types.Bool   `tfsdk:"takeover"`
	API      types.String `tfsdk:"api"`
	Key      types.String `tfsdk:"key"`
}

// Metadata implements [ephemeral.EphemeralResource].
func (h *ephemeralHeartbeat) Metadata(_ context.Context, req ephemeral.MetadataRequest, resp *ephemeral.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_heartbeat"
}

// Schema implements [ephemeral.EphemeralResource].
func (h *ephemeralHeartbeat) Schema(_ context.Context, _ ephemeral.SchemaRequest, resp *ephemeral.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "Publishes a heartbeat while Terraform runs: a key with a time to live, which is deleted at the end.",
		Attributes: map[string]schema.Attribute{
			"name":     attribute.RequiredText("Name of the owner: the last part of the key, such as `web1`.", inName),
			"prefix":   attribute.DefaultText("Key above the name. Default: `"+defaultPrefix+"`.", inPrefix),
			"value":    attribute.DefaultText("Value of the key. It identifies this owner, so no other owner can use it. Default: a random UUID.", stringvalidator.LengthAtLeast(1)),
			"ttl":      attribute.DefaultText("Time to live of the key without another heartbeat, in whole seconds and at least `2s`. Default: `"+defaultTTL+"`.", attribute.Duration),
			"interval": attribute.DefaultText("Time between two heartbeats, at most half of `ttl`. Default: a third of `ttl`.", attribute.Duration),
			"takeover": attribute.OptionalFlag("Whether to take the name from its owner: the key of the owner is deleted, then this heartbeat starts. A plan does this too. If `false`, a name that is in use is an " +
				"error, which contains the value of the owner and its remaining time to live. Default: `false`."),
			"api": attribute.DefaultText("API of the key: `v3` for a lease, `v2` for a TTL key on servers up to 3.5 with `--enable-v2`. Each API sees only its own keys. TTL keys depend on the clocks of the "+
				"members, which must agree to much less than `ttl`. Leases do not. Default: `"+apiV3+"`.", inAPI),
			"key": attribute.ComputedText("The whole key."),
		},
	}
}

// Configure implements [ephemeral.EphemeralResourceWithConfigure].
func (h *ephemeralHeartbeat) Configure(_ context.Context, req ephemeral.ConfigureRequest, resp *ephemeral.ConfigureResponse) {
	h.backend = backend.From(req.ProviderData, &resp.Diagnostics)
}

// ValidateConfig implements [ephemeral.EphemeralResourceWithValidateConfig].
func (h *ephemeralHeartbeat) ValidateConfig(ctx context.Context, req ephemeral.ValidateConfigRequest, resp *ephemeral.ValidateConfigResponse) {
	m := attribute.Read[model](ctx, req.Config, &resp.Diagnostics)
	if resp.Diagnostics.HasError() || m.TTL.IsUnknown() {
		return
	}
	raw := orDefault(m.TTL, defaultTTL).ValueString()
	ttl, err := time.ParseDuration(raw)
	switch {
	case err != nil || ttl <= 0: // the validator reports it
		return
	case ttl < leastTTL:
		report.ErrorOn(&resp.Diagnostics, "ttl", text.New("Time to live too short",
			"ttl = %q is less than %s, the least that etcd keeps a claim for. Several beats must fit into it.", raw, leastTTL))
		return
	}
	if interval, err := time.ParseDuration(m.Interval.ValueString()); err == nil && interval > ttl/2 {
		report.ErrorOn(&resp.Diagnostics, "interval", text.New("Interval too long",
			"interval = %q is more than half of ttl (%s): one beat that comes late would be one too many. Leave interval out to have a third of ttl.", m.Interval.ValueString(), raw))
	}
}

// complete sets the defaults and returns the options of the claim.
func (m *model) complete(b *backend.Backend) claim.Options {
	m.Prefix, m.API, m.TTL = orDefault(m.Prefix, defaultPrefix), orDefault(m.API, apiV3), orDefault(m.TTL, defaultTTL)
	m.Value = orDefault(m.Value, b.Run.UUID())
	m.Key = types.StringValue(m.Prefix.ValueString() + "/" + m.Name.ValueString())
	// Both were validated.
	ttl, _ := time.ParseDuration(m.TTL.ValueString())
	m.Interval = orDefault(m.Interval, (ttl / 3).String())
	interval, _ := time.ParseDuration(m.Interval.ValueString())
	return claim.Options{
		Key: m.Key.ValueString(), Value: m.Value.ValueString(), TTL: ttl, Interval: interval, TakeOver: m.Takeover.ValueBool(),
		AtExit: b.Pool.BeforeClose,
	}
}

// kept is the data that Close needs.
type kept struct {
	ID  string `json:"id"`
	Key string `json:"key"`
}

const keptKey = "claim"

// Open implements [ephemeral.EphemeralResource]. If the provider's
// configuration is not known yet, Open sets the values as they will be, but
// does not start a claim.
func (h *ephemeralHeartbeat) Open(ctx context.Context, req ephemeral.OpenRequest, resp *ephemeral.OpenResponse) {
	m := attribute.Read[model](ctx, req.Config, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	options := m.complete(h.backend)
	now := kept{ID: h.backend.Run.UUID(), Key: options.Key}
	if !h.backend.Unknown {
		if len(h.backend.Settings.Endpoints) == 0 {
			report.Error(&resp.Diagnostics, text.NoEndpoints)
			return
		}
		c, err := claim.Start(ctx, h.backend.Claims(m.API.ValueString() == apiV2), h.backend.Settings.Time(), options)
		if err != nil {
			report.Error(&resp.Diagnostics, notStarted(m, err))
			return
		}
		h.backend.Held.Set(now.ID, c)
	}
	resp.Diagnostics.Append(resp.Result.Set(ctx, &m)...)
	private.Keep(ctx, resp.Private, keptKey, now, &resp.Diagnostics)
}

// notStarted is the error for a claim that did not start.
func notStarted(m model, err error) text.Message {
	held, isHeld := errors.AsType[*claim.HeldError](err)
	switch {
	case !isHeld:
		return text.Failed("start the heartbeat of "+m.Name.ValueString(), "readwrite", m.Prefix.ValueString(), err)
	case held.Entry.Forever:
		return text.New("Another owner beats as "+m.Name.ValueString(),
			"%[1]s holds %[2]q, without a time to live: its owner does not let it expire. Choose another name; "+
				"or, if that value is stale, delete the key (etcdctl del %[1]s), or set takeover = true.", held.Entry.Key, held.Entry.Value)
	}
	return text.New("Another owner beats as "+m.Name.ValueString(),
		"%s holds %q for another %s, unless it is renewed. If its owner is gone, as after a run that was killed, try again when that time is over. "+
			"To take the name from an owner that is alive, set takeover = true, which takes effect in a plan too. Otherwise choose another name.",
		held.Entry.Key, held.Entry.Value, held.Entry.Left)
}

// closeTimeout limits the release of a claim, which expires by itself.
const closeTimeout = 5 * time.Second

// Close implements [ephemeral.EphemeralResourceWithClose].
func (h *ephemeralHeartbeat) Close(ctx context.Context, req ephemeral.CloseRequest, resp *ephemeral.CloseResponse) {
	was := private.Kept[kept](ctx, req.Private, keptKey, &resp.Diagnostics)
	c, held := h.backend.Held.Get(was.ID)
	if !held {
		return // there is no claim
	}
	h.backend.Held.Delete(was.ID)
	ctx, cancel := context.WithTimeout(ctx, closeTimeout)
	defer cancel()
	err := c.Stop(ctx)
	name := path.Base(was.Key)
	lost, isLost := errors.AsType[*claim.LostError](err)
	switch {
	case isLost:
		report.Error(&resp.Diagnostics, text.New("The heartbeat of "+name+" was lost",
			"%v. From then on this run did not hold the name, and another owner may have done the same work. The keys of other owners were not changed.", lost))
	case err != nil:
		report.Warn(&resp.Diagnostics, text.New("The heartbeat of "+name+" was left to expire",
			"%s could not be deleted; it goes when its time to live is over, and those who watch it see a missed beat rather than a stop.%s", was.Key, text.Answers(err)))
	}
}
