// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discoverytoken

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"

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
	validateProtocol(config, &resp.Diagnostics)
}

// inPrefix refuses a prefix that is not an absolute key.
var inPrefix = attribute.Fits("must be an absolute key", discovery.PrefixProblem, text.DiscoveryPrefixInvalid)

// machinePath refuses a value that cannot be the path of a file on a machine.
func machinePath() validator.String {
	return attribute.Checked("must be an absolute path of printable ASCII characters", func(argument, value string) *text.Message {
		if strings.HasPrefix(value, "/") && isPrintable(value) {
			return nil
		}
		return new(text.MachinePathInvalid(argument))
	})
}

// machineUser refuses a value that cannot be a user without a password.
func machineUser() validator.String {
	return attribute.Checked("must be a user name without a password", func(_, value string) *text.Message {
		switch {
		case strings.Contains(value, ":"):
			return &text.MachineUserPassword
		case value == "" || !isPrintable(value):
			return new(text.MachineUserInvalid(value))
		}
		return nil
	})
}

// isPrintable reports whether a text consists of printable ASCII characters.
func isPrintable(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' })
}

// validateProtocol refuses arguments that the protocol does not use.
func validateProtocol(config model, diags *diag.Diagnostics) {
	if config.Protocol.IsUnknown() {
		return
	}
	protocol := cmp.Or(config.Protocol.ValueString(), bootstrap.ProtocolV3)
	unused := map[string]attr.Value{}
	switch protocol {
	case bootstrap.ProtocolV3:
		unused["service_url"] = config.ServiceURL
	case bootstrap.ProtocolV2:
		unused["service_url"], unused["machine_access"] = config.ServiceURL, config.MachineAccess
	case bootstrap.ProtocolService:
		unused["prefix"] = config.Prefix
		unused["advertised_endpoints"], unused["machine_access"] = config.AdvertisedEndpoints, config.MachineAccess
	}
	for _, name := range slices.Sorted(maps.Keys(unused)) {
		if !unused[name].IsNull() {
			report.ErrorOn(diags, name, text.DiscoveryArgumentUnused(name, protocol))
		}
	}
}
