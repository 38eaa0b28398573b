// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discoverytoken

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/discovery"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/attribute"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/bootstrap"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/report"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

// ValidateConfig implements [resource.ResourceWithValidateConfig]. A later call
// checks the values that are not known yet.
func (r *tokenResource) ValidateConfig(ctx context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse) {
	config := attribute.Read[model](ctx, req.Config, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	validateSize(config, &resp.Diagnostics)
	validateProtocol(config, &resp.Diagnostics)
	attribute.Refuse("prefix", config.Prefix, discovery.PrefixProblem, text.DiscoveryPrefixInvalid, &resp.Diagnostics)
	attribute.Refuse("service_url", config.ServiceURL, discovery.ServiceURLProblem, text.DiscoveryServiceURLInvalid, &resp.Diagnostics)
	validateAdvertised(ctx, config, &resp.Diagnostics)
	validateAccess(ctx, config, &resp.Diagnostics)
}

// validateAccess refuses values that cannot be a path or a user on a machine.
func validateAccess(ctx context.Context, config model, diags *diag.Diagnostics) {
	if !attribute.IsGiven(config.MachineAccess) {
		return
	}
	var access accessModel
	diags.Append(config.MachineAccess.As(ctx, &access, basetypes.ObjectAsOptions{})...)
	refuse := func(name string, t text.Message) {
		report.ErrorAt(diags, path.Root("machine_access").AtName(name), t)
	}
	for _, file := range []struct {
		name  string
		value types.String
	}{{"ca_cert", access.CACert}, {"cert", access.Cert}, {"key", access.Key}} {
		if p := file.value.ValueString(); attribute.IsGiven(file.value) && (!strings.HasPrefix(p, "/") || !isPrintable(p)) {
			refuse(file.name, text.MachinePathInvalid(file.name))
		}
	}
	user := access.Username.ValueString()
	switch {
	case !attribute.IsGiven(access.Username):
	case strings.Contains(user, ":"):
		refuse("username", text.MachineUserPassword)
	case user == "" || !isPrintable(user):
		refuse("username", text.MachineUserInvalid(user))
	}
}

// isPrintable reports whether a text consists of printable ASCII characters.
func isPrintable(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' })
}

func validateSize(config model, diags *diag.Diagnostics) {
	if size := config.Size.ValueInt64(); attribute.IsGiven(config.Size) && (size < 1 || size > discovery.MaxSize) {
		report.ErrorOn(diags, "size", text.DiscoverySizeInvalid(size, discovery.MaxSize))
	}
}

// validateProtocol refuses an unknown protocol, and arguments that the protocol
// does not use.
func validateProtocol(config model, diags *diag.Diagnostics) {
	if config.Protocol.IsUnknown() {
		return
	}
	protocol := bootstrap.ProtocolV3
	if !config.Protocol.IsNull() {
		protocol = config.Protocol.ValueString()
	}
	unused := map[string]attr.Value{}
	switch protocol {
	case bootstrap.ProtocolV3:
		unused["service_url"] = config.ServiceURL
	case bootstrap.ProtocolV2:
		unused["service_url"], unused["machine_access"] = config.ServiceURL, config.MachineAccess
	case bootstrap.ProtocolService:
		unused["prefix"] = config.Prefix
		unused["advertised_endpoints"], unused["machine_access"] = config.AdvertisedEndpoints, config.MachineAccess
	default:
		report.ErrorOn(diags, "protocol", text.DiscoveryProtocolUnknown(protocol))
	}
	for _, name := range slices.Sorted(maps.Keys(unused)) {
		if !unused[name].IsNull() {
			report.ErrorOn(diags, name, text.DiscoveryArgumentUnused(name, protocol))
		}
	}
}

func validateAdvertised(ctx context.Context, config model, diags *diag.Diagnostics) {
	if !attribute.IsGiven(config.AdvertisedEndpoints) {
		return
	}
	var endpoints []types.String
	diags.Append(config.AdvertisedEndpoints.ElementsAs(ctx, &endpoints, false)...)
	if len(endpoints) == 0 {
		report.ErrorOn(diags, "advertised_endpoints", text.DiscoveryAdvertisedEmpty)
	}
	for _, endpoint := range endpoints {
		if endpoint.IsUnknown() {
			continue
		}
		var invalid *connection.EndpointError
		if _, err := connection.ParseEndpoint(endpoint.ValueString(), false); errors.As(err, &invalid) {
			report.ErrorOn(diags, "advertised_endpoints", text.DiscoveryAdvertisedInvalid(invalid.Endpoint, invalid.Reason))
		}
	}
}
