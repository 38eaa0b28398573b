// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package provider is the provider itself: its configuration, and what it
// serves.
package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/backend"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/discoverytoken"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/member"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/memberconfig"
)

// Provider is the etcd provider.
type Provider struct{ version string }

var _ provider.Provider = (*Provider)(nil)

// New returns what makes a provider of the given version.
func New(version string) func() provider.Provider {
	return func() provider.Provider { return &Provider{version: version} }
}

// Metadata implements provider.Provider.
func (p *Provider) Metadata(_ context.Context, _ provider.MetadataRequest, resp *provider.MetadataResponse) {
	resp.TypeName, resp.Version = "etcd", p.version
}

// Schema implements provider.Provider.
func (p *Provider) Schema(_ context.Context, _ provider.SchemaRequest, resp *provider.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "Carries an etcd cluster through its whole life, next to the machines it runs on.",
		Attributes: map[string]schema.Attribute{
			"endpoints": schema.ListAttribute{
				ElementType: types.StringType, Optional: true,
				MarkdownDescription: "Client URLs of the cluster.",
			},
		},
	}
}

// Configure implements provider.Provider. It dials nothing.
func (p *Provider) Configure(ctx context.Context, req provider.ConfigureRequest, resp *provider.ConfigureResponse) {
	var m struct {
		Endpoints types.List `tfsdk:"endpoints"`
	}
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	b := &backend.Backend{Pool: &connection.Pool{}}
	b.Settings.MetadataPrefix = connection.DefaultMetadataPrefix
	var endpoints []types.String
	b.Unknown = m.Endpoints.IsUnknown()
	if !m.Endpoints.IsNull() && !m.Endpoints.IsUnknown() {
		resp.Diagnostics.Append(m.Endpoints.ElementsAs(ctx, &endpoints, false)...)
	}
	for _, e := range endpoints {
		n, err := connection.ParseEndpoint(e.ValueString(), false)
		switch {
		case e.IsUnknown():
			b.Unknown = true
		case err != nil:
			resp.Diagnostics.AddError("Invalid endpoint", err.Error())
		default:
			b.Settings.Endpoints = append(b.Settings.Endpoints, n)
		}
	}
	resp.ResourceData, resp.DataSourceData = b, b
}

// Resources implements provider.Provider.
func (p *Provider) Resources(context.Context) []func() resource.Resource {
	return []func() resource.Resource{
		discoverytoken.NewResource, memberconfig.NewResource, member.NewResource, member.NewLearnerResource,
	}
}

// DataSources implements provider.Provider.
func (p *Provider) DataSources(context.Context) []func() datasource.DataSource { return nil }
