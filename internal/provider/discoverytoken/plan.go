// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discoverytoken

import (
	"context"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/discovery"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/attribute"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/bootstrap"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/private"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/report"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

// ModifyPlan implements [resource.ResourceWithModifyPlan]. What it plans follows
// from configuration and state alone. It asks the registry only whether a change
// may be made at all, see [tokenResource.mayChange].
func (r *tokenResource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	// Delete has to know whether it is a part of a replacement: the pure
	// removal is the one that is planned without a plan.
	private.Keep(ctx, resp.Private, flagRemoval, req.Plan.Raw.IsNull(), &resp.Diagnostics)
	if req.Plan.Raw.IsNull() {
		return
	}
	var config, plan model
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	if resp.Diagnostics.HasError() {
		return
	}
	proposed := plan
	plan.fromDefaults(config)

	var prior *model
	switch {
	case req.State.Raw.IsNull():
	case req.Plan.Raw.Equal(req.State.Raw):
		prior = &proposed
	default:
		prior = new(model)
		resp.Diagnostics.Append(req.State.Get(ctx, prior)...)
		if resp.Diagnostics.HasError() {
			return
		}
	}
	if prior == nil {
		r.modifyCreate(ctx, &plan, config, req, resp)
	} else {
		r.modifyUpdate(ctx, &plan, config, prior, req, resp)
	}
	if !resp.Diagnostics.HasError() && !plan.equal(&proposed) {
		resp.Diagnostics.Append(resp.Plan.Set(ctx, &plan)...)
	}
}

// modifyCreate plans a token without prior state: a new one, or, if a record of
// it was left, the second half of a replacement.
func (r *tokenResource) modifyCreate(ctx context.Context, plan *model, config model, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	was := private.Kept[*record](ctx, req.Private, keyRecord, &resp.Diagnostics)
	if was != nil && !r.mayChange(ctx, "replace", *was, &resp.Diagnostics) {
		return
	}
	plan.planCreate(ctx, config)
	if was != nil {
		plan.Bootstrap = bootstrap.Retrying(plan.Bootstrap)
	}
	bootstrap.AdviseSize(plan.size(), &resp.Diagnostics)
	plan.advise(&resp.Diagnostics)
	r.warnOfService(plan, &resp.Diagnostics)
}

// warnOfService warns, once in a process, of a service over http. On loopback
// nothing leaves this machine.
func (r *tokenResource) warnOfService(plan *model, diags *diag.Diagnostics) {
	base := plan.ServiceURL.ValueString()
	if plan.is(bootstrap.ProtocolService) && strings.HasPrefix(base, "http:") && !membership.IsLoopback(base) &&
		r.backend != nil && r.backend.FirstTime("service over http: "+base) {
		report.Warn(diags, text.PlainService(base))
	}
}

// modifyUpdate plans for a token that is in the state.
func (r *tokenResource) modifyUpdate(ctx context.Context, plan *model, config model, prior *model, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	was := recordOf(ctx, prior, leastSize(ctx, req.Private, prior, &resp.Diagnostics), &resp.Diagnostics)
	private.Keep(ctx, resp.Private, keyRecord, was, &resp.Diagnostics)
	unwritten := private.Kept[bool](ctx, req.Private, flagUnwritten, &resp.Diagnostics)
	replace := plan.planUpdate(ctx, config, *prior, unwritten)
	resp.RequiresReplace = append(resp.RequiresReplace, replace...)
	if len(replace) > 0 || resp.Diagnostics.HasError() {
		return // what is to be said about a replacement is said to its second half
	}
	// Machines that wait on the token are built again with other access to it.
	if !was.Complete && !unwritten && plan.Environment.IsUnknown() && r.mayChange(ctx, "change", was, &resp.Diagnostics) {
		plan.Bootstrap = bootstrap.Retrying(plan.Bootstrap)
	}
	if unwritten {
		report.Warn(&resp.Diagnostics, text.DiscoveryUnwritten(was.Token))
	}
}

// fromDefaults fills in what the configuration leaves open.
func (m *model) fromDefaults(config model) {
	m.Size, m.Founders = wantedSize(config), config.Founders
	switch {
	case m.Protocol.IsUnknown():
		m.Prefix, m.ServiceURL = unknownUnlessGiven(config.Prefix), unknownUnlessGiven(config.ServiceURL)
	case m.is(bootstrap.ProtocolService):
		m.Prefix, m.ServiceURL = types.StringNull(), config.ServiceURL
		if config.ServiceURL.IsNull() {
			m.ServiceURL = types.StringValue(discovery.PublicService)
		}
	default:
		m.ServiceURL = types.StringNull()
	}
}

func unknownUnlessGiven(v types.String) types.String {
	if v.IsNull() {
		return types.StringUnknown()
	}
	return v
}

// wantedSize is the size that the configuration asks for, unknown while it
// cannot be told.
func wantedSize(config model) types.Number {
	if !config.Size.IsNull() {
		return config.Size
	}
	if names, ok := founderNames(config.Founders); ok {
		return number(len(names))
	}
	return types.NumberUnknown()
}

// planCreate fills in what is known of a token before it is made: everything
// but its name (unless given) and what the machines need, which depends on
// where the registry is.
func (m *model) planCreate(ctx context.Context, config model) {
	m.ID, m.Token = config.Token, config.Token
	if config.Token.IsNull() {
		m.ID, m.Token = types.StringUnknown(), types.StringUnknown()
	}
	m.URL = types.StringUnknown()
	if m.is(bootstrap.ProtocolV3) {
		m.URL = types.StringNull()
	}
	m.Environment = types.MapUnknown(types.StringType)
	m.Members = types.ListValueMust(memberObject.Type(), []attr.Value{})
	m.Complete = types.BoolValue(false)
	m.setBootstrap(ctx)
}

// planUpdate plans for a token that exists: nothing for what has been decided
// by a bootstrap that is complete, a new token for one that is not. It returns
// the arguments that ask for a new token.
func (m *model) planUpdate(ctx context.Context, config, prior model, unwritten bool) path.Paths {
	wanted := *m
	if config.Token.IsNull() {
		wanted.Token = prior.Token
	}
	if replace := wanted.differences(prior); len(replace) > 0 && !prior.Complete.ValueBool() {
		*m = wanted
		m.planCreate(ctx, config)
		return replace
	}

	timeouts, founders, advertised, access := m.Timeouts, m.Founders, m.AdvertisedEndpoints, m.MachineAccess
	*m = prior
	m.Timeouts, m.AdvertisedEndpoints, m.MachineAccess = timeouts, advertised, access
	m.takeMissing(config)
	if !prior.Complete.ValueBool() && adoptsFounders(prior.Founders, founders) {
		m.Founders = founders
		m.setBootstrap(ctx)
	}
	if !advertised.Equal(prior.AdvertisedEndpoints) || !access.Equal(prior.MachineAccess) {
		if m.is(bootstrap.ProtocolV2) {
			m.URL = types.StringUnknown()
		}
		m.Environment = types.MapUnknown(types.StringType)
		m.setBootstrap(ctx)
	}
	if unwritten {
		// The plan needs a difference to become an update.
		m.Members = types.ListUnknown(memberObject.Type())
	}
	return nil
}

// takeMissing takes over what is configured and not in the state. Terraform
// accepts a plan that keeps a prior value instead of the configured one, but
// not one that keeps nothing. The bootstrap stays as it is.
func (m *model) takeMissing(config model) {
	if m.Founders.IsNull() {
		m.Founders = config.Founders
	}
	if m.Size.IsNull() {
		m.Size = config.Size
	}
	for to, from := range map[*types.String]types.String{
		&m.Protocol: config.Protocol, &m.ServiceURL: config.ServiceURL, &m.Prefix: config.Prefix, &m.Token: config.Token,
	} {
		if to.IsNull() {
			*to = from
		}
	}
}

// differences returns the arguments whose change asks for a new token.
func (m *model) differences(prior model) path.Paths {
	var paths path.Paths
	changed := func(name string, now, before attr.Value) {
		if !now.Equal(before) {
			paths = append(paths, path.Root(name))
		}
	}
	changed("size", m.Size, prior.Size)
	changed("protocol", m.Protocol, prior.Protocol)
	changed("prefix", m.Prefix, prior.Prefix)
	if !discovery.SameServiceURL(m.ServiceURL.ValueString(), prior.ServiceURL.ValueString()) || m.ServiceURL.IsUnknown() {
		changed("service_url", m.ServiceURL, prior.ServiceURL)
	}
	changed("token", m.Token, prior.Token)
	if !adoptsFounders(prior.Founders, m.Founders) {
		changed("founders", m.Founders, prior.Founders)
	}
	return paths
}

// adoptsFounders tells whether names are only given to founders that had been
// a number so far, as after an import. Whether that number is the same shows
// in the size.
func adoptsFounders(before, now types.Set) bool {
	return before.IsNull() && !now.IsNull() && !now.IsUnknown()
}

// advise says what is worth knowing before a token is made.
func (m *model) advise(diags *diag.Diagnostics) {
	switch {
	case m.is(bootstrap.ProtocolService) && m.ServiceURL.ValueString() == discovery.PublicService:
		report.Warn(diags, text.DiscoveryPublicService(discovery.PublicService))
	case m.is(bootstrap.ProtocolV2), m.is(bootstrap.ProtocolService):
		report.Warn(diags, text.DiscoveryOldProtocol(m.Protocol.ValueString()))
	case m.is(bootstrap.ProtocolV3) && attribute.IsGiven(m.Prefix) && m.Prefix.ValueString() != discovery.DefaultPrefix:
		report.Warn(diags, text.DiscoveryPrefixUnusual(m.Prefix.ValueString()))
	}
}
