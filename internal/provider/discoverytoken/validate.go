// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discoverytoken

import (
	"context"
	"strconv"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	text "github.com/terraform-provider-etcd/terraform-provider-etcd/internal/diag"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/discovery"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/bootstrap"
)

// ValidateConfig implements [resource.ResourceWithValidateConfig]. Inputs that
// are not known yet are left to a later call.
func (r *tokenResource) ValidateConfig(ctx context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse) {
	var config model
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	if resp.Diagnostics.HasError() {
		return
	}
	validateFounders(ctx, config, &resp.Diagnostics)
	validateProtocol(config, &resp.Diagnostics)
	if isGiven(config.Token) {
		if problem := discovery.TokenProblem(config.Token.ValueString()); problem != "" {
			at(&resp.Diagnostics, "token", text.DiscoveryTokenInvalid(config.Token.ValueString(), string(problem)))
		}
	}
	if isGiven(config.Prefix) {
		prefix := config.Prefix.ValueString()
		if problem := discovery.PrefixProblem(prefix); problem != "" {
			at(&resp.Diagnostics, "prefix", text.DiscoveryPrefixInvalid(prefix, string(problem)))
		}
	}
}

func validateFounders(ctx context.Context, config model, diags *diag.Diagnostics) {
	size := config.size()
	if isGiven(config.Size) && (size < 1 || size > discovery.MaxSize) {
		at(diags, "size", text.DiscoverySizeInvalid(config.Size.ValueBigFloat().Text('f', -1), discovery.MaxSize))
	}
	if config.Size.IsNull() && config.Founders.IsNull() {
		fault(diags, text.DiscoverySizeMissing())
	}
	names, ok := founderNames(ctx, config.Founders)
	if !ok {
		return
	}
	for _, name := range names {
		if problem := discovery.FounderProblem(name); problem != "" {
			at(diags, "founders", text.DiscoveryFounderInvalid(name, string(problem)))
		}
	}
	switch {
	case len(names) == 0:
		at(diags, "founders", text.DiscoveryFoundersEmpty())
	case isGiven(config.Size) && len(names) != size:
		at(diags, "size", text.DiscoverySizeDisagrees(size, names))
	case len(names) > discovery.MaxSize:
		at(diags, "founders", text.DiscoverySizeInvalid(strconv.Itoa(len(names)), discovery.MaxSize))
	}
}

func validateProtocol(config model, diags *diag.Diagnostics) {
	if config.Protocol.IsUnknown() {
		return
	}
	protocol := bootstrap.ProtocolV3
	if !config.Protocol.IsNull() {
		protocol = config.Protocol.ValueString()
	}
	if protocol != bootstrap.ProtocolV3 {
		at(diags, "protocol", text.DiscoveryProtocolUnavailable(protocol))
		return
	}
	if !config.ServiceURL.IsNull() {
		at(diags, "service_url", text.DiscoveryServiceURLUnused(protocol))
	}
}

// given is what the values of one argument have in common.
type given interface {
	IsNull() bool
	IsUnknown() bool
}

func isGiven(v given) bool { return !v.IsNull() && !v.IsUnknown() }

func at(diags *diag.Diagnostics, attribute string, t text.Text) {
	diags.AddAttributeError(path.Root(attribute), t.Summary, t.Detail)
}
