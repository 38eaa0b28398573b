// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discoverytoken

import (
	"cmp"
	"context"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/discovery"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/attribute"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/backend"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/report"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

// tokenData implements data "etcd_discovery_token".
type tokenData struct{ backend.DataSource }

// NewDataSource returns the data source etcd_discovery_token.
func NewDataSource() datasource.DataSource {
	return &tokenData{backend.DataSource{Type: "_discovery_token"}}
}

// Schema implements [datasource.DataSource].
func (d *tokenData) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	withoutURL := stringvalidator.ConflictsWith(path.MatchRoot("url")) // it follows from the URL
	resp.Schema = schema.Schema{
		MarkdownDescription: "Reads a discovery token from a discovery cluster, including tokens that Terraform did not create.",
		Attributes: map[string]schema.Attribute{
			"token": schema.StringAttribute{
				Optional: true, Computed: true, Sensitive: true, Validators: []validator.String{
					stringvalidator.ExactlyOneOf(path.MatchRoot("url")), attribute.Fits("must be a token", discovery.TokenProblem, "Invalid discovery token",
						"token = %.8q %s. Every member puts the token into a key of the discovery cluster, so it may hold letters, digits, \"-\", \"_\" and \".\" only."),
				},
				MarkdownDescription: "Token, in the discovery cluster at the provider's `endpoints`. Set this or `url`.",
			},
			"url": schema.StringAttribute{
				Optional: true, Computed: true, Sensitive: true, Validators: []validator.String{readableURL},
				MarkdownDescription: "Discovery URL, as members with `--discovery` take it: of the v2 API (`http://HOST:2379/v2/keys/_etcd/registry/TOKEN`) or of a discovery service " +
					"(`https://HOST/TOKEN`). The provider connects to the host in it, and verifies it with `ca_cert` of the provider. The host receives user name, password and client " +
					"certificate only if its scheme, host and port are those of one of the provider's `endpoints`. Set this or `token`.",
			},
			"protocol": attribute.DefaultText("Protocol of the token: `v3` or `v2` with `token`, `v2` or `service` with `url`. With `url` it follows from the URL. Default: `v3`.",
				stringvalidator.OneOf(discovery.V3, discovery.V2), withoutURL),
			"prefix": attribute.DefaultText("Key under which the discovery cluster stores its tokens. Only with `token`. Null with a discovery service. Default: `"+discovery.DefaultPrefix+"`.",
				inPrefix, withoutURL),
			"id":       tokenSchema.Attributes["id"],
			"size":     attribute.ComputedNumber("Number of initial members."),
			"complete": attribute.ComputedFlag("Whether all initial members have registered. The discovery cluster rejects every further registration then."),
			"members":  tokenSchema.Attributes["members"],
		},
	}
}

// readableURL refuses a URL that a member could not take, without showing the token in it.
var readableURL = attribute.Checked("must be a discovery URL", func(_, value string) *text.Message {
	if _, err := discovery.ParseURL(value); err != nil {
		return new(text.New("Invalid discovery URL", "url %v. It is what members take as --discovery, such as \"http://10.0.0.1:2379/v2/keys/_etcd/registry/TOKEN\".", err))
	}
	return nil
})

// Read implements [datasource.DataSource]. Every failure is an error, because
// there is no prior state to keep.
func (d *tokenData) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	m := attribute.Read[common](ctx, req.Config, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	registry := d.registry(&m, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	status, err := registry.Status(ctx, m.Token.ValueString())
	if err != nil {
		report.Error(&resp.Diagnostics, failure(reading, discovery.Location{Token: m.Token.ValueString(), Prefix: m.Prefix.ValueString()}, err))
		return
	}
	m.ID = m.Token
	m.fromStatus(ctx, status, &resp.Diagnostics)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

// registry returns the token's discovery cluster, and sets the attributes that
// the URL or the defaults determine.
func (d *tokenData) registry(m *common, diags *diag.Diagnostics) discovery.Registry {
	settings := d.Backend.Settings
	var at discovery.Location
	switch {
	case !m.URL.IsNull():
		at, _ = discovery.ParseURL(m.URL.ValueString()) // validated already
		settings = settings.Public(at.Base)
		if at.Protocol == discovery.V2 {
			settings.Endpoints = []string{at.Base}
		}
	case d.Backend.Unknown:
		report.Error(diags, text.EndpointsUnknown)
		return nil
	case len(settings.Endpoints) == 0:
		report.Error(diags, noEndpoints)
		return nil
	default:
		at = discovery.Location{
			Protocol: cmp.Or(m.Protocol.ValueString(), discovery.V3), Base: settings.Endpoints[0],
			Prefix: cmp.Or(m.Prefix.ValueString(), discovery.DefaultPrefix), Token: m.Token.ValueString(),
		}
		if at.Protocol == discovery.V2 {
			m.URL = types.StringValue(at.URL())
		}
	}
	m.Token, m.Protocol = types.StringValue(at.Token), types.StringValue(at.Protocol)
	if at.Protocol != discovery.ByService {
		m.Prefix = types.StringValue(at.Prefix)
	}
	return discovery.Open(settings, d.Backend.Pool, at)
}
