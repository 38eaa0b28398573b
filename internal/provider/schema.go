// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/attribute"
)

// model is the provider block.
type model struct {
	Endpoints             types.List   `tfsdk:"endpoints"`
	Username              types.String `tfsdk:"username"`
	Password              types.String `tfsdk:"password"`
	CACert                types.String `tfsdk:"ca_cert"`
	Cert                  types.String `tfsdk:"cert"`
	Key                   types.String `tfsdk:"key"`
	CACertPEM             types.String `tfsdk:"ca_cert_pem"`
	CertPEM               types.String `tfsdk:"cert_pem"`
	KeyPEM                types.String `tfsdk:"key_pem"`
	InsecureSkipTLSVerify types.Bool   `tfsdk:"insecure_skip_tls_verify"`
	DialTimeout           types.String `tfsdk:"dial_timeout"`
	RequestTimeout        types.String `tfsdk:"request_timeout"`
	AddressMap            types.Map    `tfsdk:"address_map"`
	TrustedHosts          types.List   `tfsdk:"trusted_hosts"`
	MetadataPrefix        types.String `tfsdk:"metadata_prefix"`
	ForceDestroy          types.Bool   `tfsdk:"force_destroy"`
}

// The environment variables are those of etcdctl, but for the last one.
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
	envForceDestroy   = "ETCD_FORCE_DESTROY"
)

func attributes() map[string]schema.Attribute {
	text := func(description string) schema.StringAttribute {
		return schema.StringAttribute{Optional: true, MarkdownDescription: description}
	}
	secret := func(description string) schema.StringAttribute {
		return schema.StringAttribute{Optional: true, Sensitive: true, MarkdownDescription: description}
	}
	const readAtPlan = " The file must be there at plan; use the `_pem` argument for what is made in the same apply."
	return map[string]schema.Attribute{
		"endpoints": schema.ListAttribute{
			ElementType: types.StringType, Optional: true,
			MarkdownDescription: "Client URLs of the cluster, such as `[\"https://10.0.1.10:2379\"]`. Without a scheme they are `https` if TLS is configured, else `http`; " +
				"without a port, 2379. Default: none, and nothing is assumed. If one of them is `https`, no password and no token goes to an `http` URL that is not itself in the list. Environment: `ETCDCTL_ENDPOINTS` (comma separated).",
		},
		"username": text("User name for etcd's own authentication; membership needs a user with the `root` role. It goes together with a client certificate if both are given. " +
			"Environment: `ETCDCTL_USER` (`user` or `user:password`)."),
		"password": secret("Password of `username`. Environment: `ETCDCTL_PASSWORD`, or `ETCDCTL_USER` (`user:password`)."),
		"ca_cert": text("Path of the CA certificates, in PEM, that the servers' certificates are verified with. Default: those that this system trusts." + readAtPlan +
			" Environment: `ETCDCTL_CACERT`."),
		"cert":        text("Path of the client certificate, in PEM." + readAtPlan + " Environment: `ETCDCTL_CERT`."),
		"key":         text("Path of the client certificate's private key, in PEM." + readAtPlan + " Environment: `ETCDCTL_KEY`."),
		"ca_cert_pem": text("The CA certificates themselves, in PEM, instead of `ca_cert`."),
		"cert_pem":    text("The client certificate itself, in PEM, instead of `cert`."),
		"key_pem":     secret("The private key itself, in PEM, instead of `key`."),
		"insecure_skip_tls_verify": schema.BoolAttribute{
			Optional: true,
			MarkdownDescription: "Do not verify the servers' certificates: any host between this machine and the cluster can then read the password and take over the cluster. The provider warns. Default: `false`. " +
				"Environment: `ETCDCTL_INSECURE_SKIP_TLS_VERIFY`.",
		},
		"dial_timeout":    text("How long one connection may take to be made. Default: `" + attribute.DurationText(connection.DefaultDialTimeout) + "`. Environment: `ETCDCTL_DIAL_TIMEOUT`."),
		"request_timeout": text("How long one endpoint may take to answer one request. Default: `" + attribute.DurationText(connection.DefaultRequestTimeout) + "`. Environment: `ETCDCTL_COMMAND_TIMEOUT`."),
		"address_map": schema.MapAttribute{
			ElementType: types.StringType, Optional: true,
			MarkdownDescription: "For clusters behind a bastion or a load balancer: advertised client URL → URL that can be dialled from here, one for each member. " +
				"TLS is still verified against the host of the advertised URL.",
		},
		"trusted_hosts": schema.ListAttribute{
			ElementType: types.StringType, Optional: true,
			MarkdownDescription: "Hosts that may get the credentials, besides those in `endpoints` and `address_map`: host names, IP addresses and CIDRs, such as " +
				"`[\"etcd4.example.com\", \"10.0.1.0/24\"]`. Names are compared, not resolved. A member that advertises another host is not asked if a password is set; " +
				"with a client certificate alone, it is asked if `ca_cert` verifies it. A resource that manages a member trusts the hosts in its own `peer_urls`, `client_urls` and " +
				"`endpoints`, for its own requests.",
		},
		"metadata_prefix": text("Prefix of the keys in the cluster under which the provider keeps its ownership records and locks: `<prefix><cluster ID>/…`. Only the provider's user may write there, see [Permissions](guides/network-and-security.md#permissions). Default: `" + connection.DefaultMetadataPrefix + "`."),
		"force_destroy": schema.BoolAttribute{
			Optional: true,
			MarkdownDescription: "Whether members that no cluster can remove are forgotten when they are destroyed: the same as `force_destroy` of every `etcd_member` and `etcd_learner`. " +
				"Use it to clean up after a cluster that is gone for good: `ETCD_FORCE_DESTROY=true terraform destroy -refresh=false`. A cluster that can decide is not affected. Default: `false`. " +
				"Environment: `ETCD_FORCE_DESTROY` (`true` or `1`).",
		},
	}
}
