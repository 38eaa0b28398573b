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

// ModifyPlan implements [resource.ResourceWithModifyPlan]. The plan depends on
// configuration and state alone. It reads the discovery cluster only to check
// whether a change is allowed, see [tokenResource.mayChange].
func (r *tokenResource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	// Delete needs to know whether it is part of a replacement. A plain removal
	// is planned without a planned value.
	k := private.Kept[kept](ctx, req.Private, keptKey, &resp.Diagnostics)
	k.Removal = req.Plan.Raw.IsNull()
	private.Keep(ctx, resp.Private, keptKey, k, &resp.Diagnostics)
	if req.Plan.Raw.IsNull() {
		return
	}
	config := attribute.Read[model](ctx, req.Config, &resp.Diagnostics)
	plan := attribute.Read[model](ctx, req.Plan, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	plan.fromDefaults(config)
	if req.State.Raw.IsNull() {
		r.modifyCreate(ctx, &plan, k, resp)
	} else {
		prior := attribute.Read[model](ctx, req.State, &resp.Diagnostics)
		r.modifyUpdate(ctx, &plan, config, &prior, k, resp)
	}
	if !resp.Diagnostics.HasError() {
		resp.Diagnostics.Append(resp.Plan.Set(ctx, &plan)...)
	}
}

// modifyCreate plans a token without prior state: a new token or, if a record
// of the old token was stored, the second half of a replacement.
func (r *tokenResource) modifyCreate(ctx context.Context, plan *model, k kept, resp *resource.ModifyPlanResponse) {
	if k.Record != nil && !r.mayChange(ctx, "replace", *k.Record, &resp.Diagnostics) {
		return
	}
	plan.planCreate()
	bootstrap.AdviseSize(plan.size(), &resp.Diagnostics)
	plan.advise(&resp.Diagnostics)
	// Traffic to a loopback address does not leave this machine.
	base := plan.ServiceURL.ValueString()
	if plan.is(discovery.ByService) && strings.HasPrefix(base, "http:") && !membership.IsLoopback(base) &&
		r.Backend != nil && r.Backend.FirstTime("service over http: "+base) {
		report.Warn(&resp.Diagnostics, text.New("The discovery service is asked over http",
			"service_url is %q. Any host between this machine and the service can replace the discovery URL that the service returns, "+
				"and so name the members of the new cluster. Use an https URL.", base))
	}
}

// modifyUpdate plans for a token in the state.
func (r *tokenResource) modifyUpdate(ctx context.Context, plan *model, config model, prior *model, k kept, resp *resource.ModifyPlanResponse) {
	was := recordOf(ctx, prior, k.least(prior), &resp.Diagnostics)
	k.Record = &was
	private.Keep(ctx, resp.Private, keptKey, k, &resp.Diagnostics)
	replace := plan.planUpdate(config, *prior, k.Unwritten)
	resp.RequiresReplace = append(resp.RequiresReplace, replace...)
	if len(replace) > 0 || resp.Diagnostics.HasError() {
		return // the second half of a replacement reports its problems
	}
	// A change of access recreates machines whose user data has the environment.
	if !was.Complete && !k.Unwritten && plan.Environment.IsUnknown() {
		r.mayChange(ctx, "change", was, &resp.Diagnostics)
	}
	if k.Unwritten {
		report.Warn(&resp.Diagnostics, text.New("The token was not written last time",
			"The discovery cluster answers now and has no token %.8s. This plan writes it, under the same name.", was.Token))
	}
}

// fromDefaults sets the values that the configuration does not give.
func (m *model) fromDefaults(config model) {
	switch {
	case m.Protocol.IsUnknown():
		m.Prefix, m.ServiceURL = unknownUnlessGiven(config.Prefix), unknownUnlessGiven(config.ServiceURL)
	case m.is(discovery.ByService):
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

// planCreate sets the known values of a token before it is created: all except
// its name and the values for machines, which depend on the
// location of the discovery cluster.
func (m *model) planCreate() {
	m.ID, m.Token = types.StringUnknown(), types.StringUnknown()
	m.URL = types.StringUnknown()
	if m.is(discovery.V3) {
		m.URL = types.StringNull()
	}
	m.Environment = types.MapUnknown(types.StringType)
	m.Members = types.ListValueMust(memberObject.Type(), []attr.Value{})
	m.Complete = types.BoolValue(false)
	m.setBootstrap()
}

// planUpdate plans for an existing token: no change of the arguments that a
// complete bootstrap has decided, and a new token if the bootstrap is not
// complete. It returns the arguments that require a new token.
func (m *model) planUpdate(config, prior model, unwritten bool) path.Paths {
	wanted := *m
	wanted.Token = prior.Token
	if replace := wanted.differences(prior); len(replace) > 0 && !prior.Complete.ValueBool() {
		*m = wanted
		m.planCreate()
		return replace
	}

	advertised, access := m.AdvertisedEndpoints, m.MachineAccess
	*m = prior
	m.AdvertisedEndpoints, m.MachineAccess = advertised, access
	// Terraform accepts a plan that keeps a prior value instead of the configured value, but
	// not a plan that keeps a null value. The bootstrap does not change.
	if m.ServiceURL.IsNull() {
		m.ServiceURL = config.ServiceURL
	}
	if m.Prefix.IsNull() {
		m.Prefix = config.Prefix
	}
	if !advertised.Equal(prior.AdvertisedEndpoints) || !access.Equal(prior.MachineAccess) {
		if m.is(discovery.V2) {
			m.URL = types.StringUnknown()
		}
		m.Environment = types.MapUnknown(types.StringType)
		m.setBootstrap()
	}
	if unwritten {
		// The plan becomes an update only if it has a difference.
		m.Members = types.ListUnknown(memberObject.Type())
	}
	return nil
}

// differences returns the changed arguments that require a new token.
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
	return paths
}

// advise warns about facts to consider before a token is created.
func (m *model) advise(diags *diag.Diagnostics) {
	const old = "3.7 ignores ETCD_DISCOVERY, and each member forms a cluster of its own. "
	switch {
	case m.is(discovery.ByService) && m.ServiceURL.ValueString() == discovery.PublicService:
		report.Warn(diags, text.New("The public discovery service is no longer maintained",
			"%s may not answer (etcd-io/etcd#21915). It deletes tokens after some days, and everyone who knows a token can register. "+
				"Its members must be etcd 3.6 or older: "+old+"Prefer protocol = \"v3\" with an etcd of yours as the discovery cluster.", discovery.PublicService))
	case m.is(discovery.V2), m.is(discovery.ByService):
		report.Warn(diags, text.New("For members up to etcd 3.6",
			"With protocol = %q the members must be etcd 3.6 or older: "+old+"\"v3\" is for members of every version.", m.Protocol.ValueString()))
	case m.is(discovery.V3) && attribute.IsGiven(m.Prefix) && m.Prefix.ValueString() != discovery.DefaultPrefix:
		report.Warn(diags, text.New("Members look for the token elsewhere",
			"With protocol \"v3\" etcd looks for tokens under /_etcd/registry only. prefix = %q works where the machines reach the discovery cluster through an "+
				"etcd gRPC proxy that adds a namespace. Without one, leave prefix out.", m.Prefix.ValueString()))
	}
}
