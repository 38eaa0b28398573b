// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discoverytoken

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/discovery"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/log"
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
	base := plan.ServiceURL.ValueString()
	// Traffic to a loopback address does not leave this machine.
	leaves := strings.HasPrefix(base, "http:") && !membership.IsLoopback(base)
	if leaves && r.Backend.FirstTime("service over http: "+base) {
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
	if replace := m.differences(prior); len(replace) > 0 && !prior.Complete.ValueBool() {
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

// A token may be replaced, or the values for its machines changed, only if its
// cluster is known not to have formed. Only the discovery cluster or service
// has that information: the state may be out of date. If it does not respond,
// that proves nothing.

// record describes the token in the state. The first plan of a resource stores
// it in the private data for the second plan of a replacement, which has no
// prior state. A taint does not store a record, nor does the creation at apply:
// both look like a first creation.
type record struct {
	discovery.Location
	Complete bool     `json:"complete"`
	Least    int      `json:"least"`
	Members  []string `json:"members"`
}

// recordOf describes the token of a state. least is the result of [kept.least].
func recordOf(ctx context.Context, m *model, least int, diags *diag.Diagnostics) record {
	var members []memberModel
	diags.Append(m.Members.ElementsAs(ctx, &members, true)...)
	r := record{Location: m.location(), Complete: m.Complete.ValueBool(), Least: least}
	for _, member := range members {
		r.Members = append(r.Members, member.Name)
	}
	return r
}

// mayChange asks the discovery cluster whether a plan may change the token in that way:
// only if its cluster is known not to have formed. doing is "replace" or "change".
func (r *tokenResource) mayChange(ctx context.Context, doing string, was record, diags *diag.Diagnostics) bool {
	isService := was.Protocol == discovery.ByService
	var status discovery.Status
	var err error
	switch {
	case was.Complete: // its discovery cluster may be gone
	case !isService && r.Backend.Unknown:
		report.Error(diags, mayHaveFormed(doing, "The configuration of the provider depends on values that are known after apply only, so the discovery cluster cannot be asked."))
		return false
	case !isService && len(r.Backend.Settings.Endpoints) == 0:
		report.Error(diags, mayHaveFormed(doing, noEndpoints.Detail))
		return false
	default:
		status, err = discovery.Open(r.Backend.Settings, r.Backend.Pool, was.Location).Status(ctx, was.Token)
		log.Debug(ctx, log.Discovery, "checked whether the token may be replaced", "doing", doing, "registered", len(status.Members), "size", status.Size, "error", err)
	}
	return was.unformed(doing, status, err, diags)
}

// unformed reports whether the discovery cluster's response shows that the cluster has not
// formed. The plan for a complete token is refused, but a tainted token reaches its removal,
// because its plan looks like a first creation.
func (r record) unformed(doing string, status discovery.Status, err error, diags *diag.Diagnostics) bool {
	switch judged := discovery.Judge(status, err, r.Least); {
	case r.Complete:
		report.Error(diags, bootstrapped(doing, r.Members))
	case judged == discovery.Unformed:
		return true
	case judged == discovery.Formed:
		report.Error(diags, bootstrapped(doing, names(status.Members)))
	default:
		report.Error(diags, mayHaveFormed(doing, whyUnknown(status, err, r.Least)))
	}
	return false
}

// whyUnknown returns the reason why the discovery cluster's response is not conclusive.
func whyUnknown(status discovery.Status, err error, least int) string {
	switch {
	case errors.Is(err, discovery.ErrNotFound), errors.Is(err, discovery.ErrNoToken):
		return "The discovery cluster answers and does not have the token, which may have been complete before it was removed there."
	case err == nil, errors.As(err, new(*discovery.BadSizeError)):
		return fmt.Sprintf("The size of the token was changed in the discovery cluster. It was %d before. Registered: %s.", least, strings.Join(names(status.Members), ", "))
	}
	return "The discovery cluster gave no usable answer: " + text.Answered(err) + "."
}

// bootstrapped is the error for a change of a token whose cluster has formed.
func bootstrapped(doing string, names []string) text.Message {
	return text.New("Cannot "+doing+" the discovery token",
		"The bootstrap is complete. Registered: %s. A token serves one cluster. With another token, initial members would form a second cluster.\n\n"+text.Untaint+"\n\n"+
			"Otherwise plan without -replace for this resource, and with a refresh. A change of its arguments has no effect then:\n\n  terraform plan\n\n"+
			"If the cluster is gone for good"+text.StartOver, cmp.Or(strings.Join(names, ", "), "all"))
}

// mayHaveFormed is the error for a change of a token whose cluster may have formed. why is
// a sentence.
func mayHaveFormed(doing, why string) text.Message {
	return text.New("Cannot "+doing+" the discovery token",
		"It is not known whether the cluster of this token has formed. %s If it has formed, its members would be replaced by a second cluster.\n\n"+text.Untaint+"\n\n"+
			"If only the discovery cluster is unreachable, make it reachable from here and plan again; or undo the change of this resource:\n\n  terraform plan\n\n"+
			"If the cluster never formed, or is gone for good"+text.StartOver, text.Verbatim(why))
}

// keptKey is the key of what the resource keeps in its private data.
const keptKey = "kept"

// kept is what the resource keeps beside its state.
type kept struct {
	// Removal is true if a removal is planned that is not a part of a replacement.
	Removal bool `json:"removal,omitempty"`
	// Unsure is true if it is not known whether the token was written. Unwritten is true
	// if the discovery cluster does not have it.
	Unsure    bool `json:"unsure,omitempty"`
	Unwritten bool `json:"unwritten,omitempty"`
	// Record is the token in the state.
	Record *record `json:"record,omitempty"`
	// Least is the smallest known size that the token has had.
	Least int `json:"least,omitempty"`
}

// least returns the smallest size that a token in the state is known to have had.
func (k kept) least(m *model) int {
	switch {
	case k.Least <= 0:
		return m.size()
	case m.size() == 0:
		return k.Least // the size in the discovery cluster is not a number
	}
	return min(k.Least, m.size())
}
