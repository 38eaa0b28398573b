// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/attribute"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
)

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
}

// The environment variables are those of etcdctl, except the last one.
const (
	envEndpoints      = "ETCDCTL_ENDPOINTS"
	envUser           = "ETCDCTL_USER"
	envPassword       = "ETCDCTL_PASSWORD"
	envCACert         = "ETCDCTL_CACERT"
	envCert           = "ETCDCTL_CERT"
	envKey            = "ETCDCTL_KEY"
	envInsecure       = "ETCDCTL_INSECURE_SKIP_TLS_VERIFY"
	envDialTimeout    = "ETCDCTL_DIAL_TIMEOUT"
	envCommandTimeout = "ETCDCTL_COMMAND_TIMEOUT"
	envClusterLost    = "ETCD_CLUSTER_LOST"
	envURLsInUse      = "ETCD_PEER_URLS_IN_USE"
)

func attributes() map[string]schema.Attribute {
	text := func(description string) schema.StringAttribute {
		return schema.StringAttribute{Optional: true, MarkdownDescription: description}
	}
	secret := func(description string) schema.StringAttribute {
		return schema.StringAttribute{Optional: true, Sensitive: true, MarkdownDescription: description}
	}
	const orPath = ", or its path. The file must exist at plan."
	return map[string]schema.Attribute{
		"endpoints": schema.ListAttribute{
			ElementType: types.StringType, Optional: true,
			MarkdownDescription: "Client URLs of the cluster, such as `[\"https://10.0.1.10:2379\"]`. Without a scheme they are `https` if TLS is configured, else `http`. Without a port it is 2379. " +
				"With a password, the provider asks only members whose host (over `http`: whose URL) is here, in `address_map` or in an argument of a resource. If one of them is `https`, no password and no token is sent to an `http` URL that is not in the list. Default: none. Environment: `ETCDCTL_ENDPOINTS` (comma " +
				"separated).",
		},
		"username": text("User name for etcd's authentication. Membership needs a user with the `root` role. A client certificate is sent too if it is set. Environment: `ETCDCTL_USER` " +
			"(`user` or `user:password`)."),
		"password": secret("Password of `username`. Environment: `ETCDCTL_PASSWORD`, or `ETCDCTL_USER` (`user:password`)."),
		"ca_cert":  text("CA certificates that verify the servers' certificates: the text of a PEM file" + orPath + " Default: those of the system. Environment: `ETCDCTL_CACERT`."),
		"cert":     text("Client certificate: the text of a PEM file" + orPath + " Environment: `ETCDCTL_CERT`."),
		"key":      secret("Private key of the client certificate: the text of a PEM file" + orPath + " Environment: `ETCDCTL_KEY`."),
		"insecure_skip_tls_verify": schema.BoolAttribute{
			Optional: true,
			MarkdownDescription: "Whether to skip the verification of the servers' certificates. Any host between this machine and the cluster can then read the password and control the cluster. The " +
				"provider warns. Default: `false`. Environment: `ETCDCTL_INSECURE_SKIP_TLS_VERIFY`.",
		},
		"dial_timeout": text("Timeout for establishing one connection. Default: `" + attribute.DurationText(connection.DefaultDialTimeout) + "`. Environment: `ETCDCTL_DIAL_TIMEOUT`."),
		"request_timeout": text("Timeout for one request to one endpoint. Membership changes use at most `" + attribute.DurationText(reconfigure.ChangeLimit) +
			"`. Default: `" + attribute.DurationText(connection.DefaultRequestTimeout) + "`. Environment: `ETCDCTL_COMMAND_TIMEOUT`."),
		"address_map": schema.MapAttribute{
			ElementType: types.StringType, Optional: true,
			MarkdownDescription: "Map from the client URL that a member advertises to the URL at which Terraform reaches it, one for each member, for clusters behind a bastion or a load balancer. " +
				"TLS is still verified against the host of the advertised URL.",
		},
	}
}
