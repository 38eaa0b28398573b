// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package provider implements the provider: its configuration, and the list of
// its resources, data sources, actions and functions.
package provider

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/terraform-plugin-framework/action"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/ephemeral"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/list"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/attribute"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/backend"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/clusterdata"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/clustermember"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/discoverytoken"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/functions"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/heartbeat"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/maintenance"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/snapshot"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
)

// Provider is the etcd provider.
type Provider struct {
	version string
	pool    *connection.Pool
	run     *backend.Run
	table   atomic.Pointer[backend.Table]
	// said are the warnings that this process has already reported.
	said sync.Map
}

// New returns a provider of the given version. The caller closes the connection pool.
func New(version string, pool *connection.Pool, run *backend.Run) *Provider {
	return &Provider{version: version, pool: pool, run: run}
}

// Metadata implements provider.Provider.
func (p *Provider) Metadata(_ context.Context, _ provider.MetadataRequest, resp *provider.MetadataResponse) {
	resp.TypeName, resp.Version = "etcd", p.version
}

// read reads a configuration, which may hold unknown values.
func (p *Provider) read(ctx context.Context, config tfsdk.Config, files bool, diags *diag.Diagnostics) (*reader, *backend.Backend) {
	r := &reader{getenv: p.run.Getenv, now: p.run.Clock.Now(), files: files}
	m := attribute.Read[model](ctx, config, diags)
	if diags.HasError() {
		return r, nil
	}
	b := &backend.Backend{Settings: r.settings(m), Lost: r.clusterLost(), InUse: r.urlsInUse(), Run: p.run, Pool: p.pool}
	diags.Append(r.diags...)
	return r, b
}

// ValidateConfig implements provider.ProviderWithValidateConfig. It checks
// everything except files.
func (p *Provider) ValidateConfig(ctx context.Context, req provider.ValidateConfigRequest, resp *provider.ValidateConfigResponse) {
	p.read(ctx, req.Config, false, &resp.Diagnostics)
}

// Configure implements provider.Provider. It does not connect to a server: at plan
// the machines may not exist yet.
func (p *Provider) Configure(ctx context.Context, req provider.ConfigureRequest, resp *provider.ConfigureResponse) {
	r, b := p.read(ctx, req.Config, true, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	for _, w := range r.warnings {
		if _, said := p.said.LoadOrStore(w, true); !said {
			resp.Diagnostics.AddWarning(w.Summary, w.Detail)
		}
	}
	b.Unknown, b.Settings.Clock = r.unknown, p.pool.Clock(p.run.Clock)
	p.table.Store(&b.Table)
	resp.ResourceData, resp.DataSourceData, resp.EphemeralResourceData = b, b, b
	resp.ListResourceData, resp.ActionData = b, b
}

// Resources implements provider.Provider.
func (p *Provider) Resources(context.Context) []func() resource.Resource {
	return []func() resource.Resource{
		discoverytoken.NewResource, cluster.NewResource, clustermember.NewResource, clustermember.NewLearnerResource, snapshot.NewResource,
	}
}

// DataSources implements provider.Provider.
func (p *Provider) DataSources(context.Context) []func() datasource.DataSource {
	return []func() datasource.DataSource{clusterdata.NewDataSource, discoverytoken.NewDataSource, heartbeat.NewDataSource}
}

// EphemeralResources implements provider.ProviderWithEphemeralResources.
func (p *Provider) EphemeralResources(context.Context) []func() ephemeral.EphemeralResource {
	return []func() ephemeral.EphemeralResource{heartbeat.NewEphemeral}
}

// ListResources implements provider.ProviderWithListResources.
func (p *Provider) ListResources(context.Context) []func() list.ListResource {
	return []func() list.ListResource{cluster.NewList, clustermember.NewList, clustermember.NewLearnerList}
}

// Actions implements provider.ProviderWithActions.
func (p *Provider) Actions(context.Context) []func() action.Action {
	return []func() action.Action{maintenance.NewDefragment}
}

// Functions implements provider.ProviderWithFunctions.
func (p *Provider) Functions(context.Context) []func() function.Function { return functions.All() }

// model is the provider block.
type model struct {
	Endpoints             types.List   `tfsdk:"endpoints"`
	Username              types.String `tfsdk:"username"`
	Password              types.String `tfsdk:"password"`
	CACert                types.String `tfsdk:"ca_cert"`
	Cert                  types.String `tfsdk:"cert"`
	Key                   types.String `tfsdk:"key"`
	InsecureSkipTLSVerify types.Bool   `tfsdk:"insecure_skip_tls_verify"`
	DialTimeout           types.String `tfsdk:"dial_timeout"`
	RequestTimeout        types.String `tfsdk:"request_timeout"`
	AddressMap            types.Map    `tfsdk:"address_map"`
	MetricsURL            types.String `tfsdk:"metrics_url"`
}

// Environment variables: those of etcdctl, and what is stated for one run.
const (
	envUser        = "ETCDCTL_USER"
	envPassword    = "ETCDCTL_PASSWORD"
	envInsecure    = "ETCDCTL_INSECURE_SKIP_TLS_VERIFY"
	envClusterLost = "ETCD_CLUSTER_LOST"
	envURLsInUse   = "ETCD_PEER_URLS_IN_USE"
)

// Schema implements provider.Provider.
func (p *Provider) Schema(_ context.Context, _ provider.SchemaRequest, resp *provider.SchemaResponse) {
	secret := func(description string) schema.StringAttribute {
		return schema.StringAttribute{Optional: true, Sensitive: true, MarkdownDescription: description}
	}
	const orPath = ", or its path. The file must exist at plan."
	resp.Schema = schema.Schema{MarkdownDescription: "Manages the membership of etcd clusters, together with the machines that they run on.", Attributes: map[string]schema.Attribute{
		"endpoints": schema.ListAttribute{
			ElementType: types.StringType, Optional: true,
			MarkdownDescription: "Client URLs of the cluster, such as `[\"https://10.0.1.10:2379\"]`. Without a scheme they are `https` if TLS is configured, else `http`. Without a port it is 2379. " +
				"With a password, the provider asks only members whose host (over `http`: whose URL) is here, in `address_map` or in an argument of a resource. If one of them is `https`, no password and no token is sent to an `http` URL that is not in the list. Default: none. Environment: `ETCDCTL_ENDPOINTS` (comma " +
				"separated).",
		},
		"username": attribute.OptionalText("User name for etcd's authentication. Membership needs a user with the `root` role. A client certificate is sent too if it is set. Environment: `ETCDCTL_USER` " +
			"(`user` or `user:password`)."),
		"password": secret("Password of `username`. Environment: `ETCDCTL_PASSWORD`, or `ETCDCTL_USER` (`user:password`)."),
		"ca_cert":  attribute.OptionalText("CA certificates that verify the servers' certificates: the text of a PEM file" + orPath + " Default: those of the system. Environment: `ETCDCTL_CACERT`."),
		"cert":     attribute.OptionalText("Client certificate: the text of a PEM file" + orPath + " Environment: `ETCDCTL_CERT`."),
		"key":      secret("Private key of the client certificate: the text of a PEM file" + orPath + " Environment: `ETCDCTL_KEY`."),
		"insecure_skip_tls_verify": attribute.OptionalFlag("Whether to skip the verification of the servers' certificates. Any host between this machine and the cluster can then read the password and control the cluster. The " +
			"provider warns. Default: `false`. Environment: `ETCDCTL_INSECURE_SKIP_TLS_VERIFY`."),
		"dial_timeout": attribute.OptionalText("Timeout for establishing one connection. Default: `" + attribute.DurationText(connection.DefaultDialTimeout) + "`. Environment: `ETCDCTL_DIAL_TIMEOUT`."),
		"request_timeout": attribute.OptionalText("Timeout for one request to one endpoint. Membership changes use at most `" + attribute.DurationText(reconfigure.ChangeLimit) +
			"`. Default: `" + attribute.DurationText(connection.DefaultRequestTimeout) + "`. Environment: `ETCDCTL_COMMAND_TIMEOUT`."),
		"address_map": attribute.OptionalMap("Map from the client URL that a member advertises to the URL at which Terraform reaches it, one for each member, for clusters behind a bastion or a load balancer. " +
			"TLS is still verified against the host of the advertised URL."),
		"metrics_url": attribute.OptionalText("URL at which every member serves `/metrics`, if it is not its client URL: the value of `ETCD_LISTEN_METRICS_URLS` or `ETCD_LISTEN_CLIENT_HTTP_URLS`, such as `http://0.0.0.0:2381`. " +
			"The host of the member takes the place of `0.0.0.0`. The provider sends it no password, and the client certificate only over `https`. What the leader sees of the other members is read there. " +
			"Over `http` anyone on the network can forge it. Default: the client URL of the member."),
	}}
}
