// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discoverytoken

import (
	"context"
	"math/big"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/discovery"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/bootstrap"
)

// model is the resource as Terraform holds it: configuration, plan and state.
type model struct {
	ID                  types.String   `tfsdk:"id"`
	Founders            types.Set      `tfsdk:"founders"`
	Size                types.Number   `tfsdk:"size"`
	Protocol            types.String   `tfsdk:"protocol"`
	ServiceURL          types.String   `tfsdk:"service_url"`
	Prefix              types.String   `tfsdk:"prefix"`
	Token               types.String   `tfsdk:"token"`
	AdvertisedEndpoints types.List     `tfsdk:"advertised_endpoints"`
	URL                 types.String   `tfsdk:"url"`
	Environment         types.Map      `tfsdk:"environment"`
	Members             types.List     `tfsdk:"members"`
	Complete            types.Bool     `tfsdk:"complete"`
	Bootstrap           types.Object   `tfsdk:"bootstrap"`
	Timeouts            timeouts.Value `tfsdk:"timeouts"`
}

// memberModel is one element of members.
type memberModel struct {
	ID       types.String `tfsdk:"id"`
	Name     types.String `tfsdk:"name"`
	PeerURLs []string     `tfsdk:"peer_urls"`
}

// setStatus takes over what the registry knows of the token. A token that was
// complete once stays so.
func (m *model) setStatus(ctx context.Context, s discovery.Status) diag.Diagnostics {
	members := make([]memberModel, 0, len(s.Members))
	for _, member := range s.Members {
		members = append(members, memberModel{
			ID:       types.StringValue(member.ID.String()),
			Name:     types.StringValue(member.Name),
			PeerURLs: member.PeerURLs,
		})
	}
	list, diags := types.ListValueFrom(ctx, types.ObjectType{AttrTypes: memberTypes()}, members)
	m.Members = list
	m.Size = number(s.Size)
	m.Complete = types.BoolValue(m.Complete.ValueBool() || s.Complete())
	return append(diags, m.setBootstrap(ctx)...)
}

// setPlace takes over where the token is, and with it what the machines need.
// endpoints are the provider's; they count where none are advertised.
func (m *model) setPlace(ctx context.Context, place discovery.Place, endpoints []string) diag.Diagnostics {
	m.ID = types.StringValue(place.Token)
	m.Token = types.StringValue(place.Token)
	m.URL = types.StringNull()
	if place.URL != "" {
		m.URL = types.StringValue(place.URL)
	}
	dialled, diags := m.registryEndpoints(ctx, endpoints)
	environment, more := types.MapValueFrom(ctx, types.StringType, environmentFor(place, dialled))
	m.Environment = environment
	diags = append(diags, more...)
	return append(diags, m.setBootstrap(ctx)...)
}

// registryEndpoints are the URLs that a machine dials.
func (m *model) registryEndpoints(ctx context.Context, endpoints []string) ([]string, diag.Diagnostics) {
	if m.AdvertisedEndpoints.IsNull() {
		return endpoints, nil
	}
	var advertised []string
	diags := m.AdvertisedEndpoints.ElementsAs(ctx, &advertised, false)
	return advertised, diags
}

// environmentFor gives the variables that a founder needs.
func environmentFor(place discovery.Place, endpoints []string) map[string]string {
	return map[string]string{
		"ETCD_DISCOVERY_TOKEN":     place.Token,
		"ETCD_DISCOVERY_ENDPOINTS": strings.Join(endpoints, ","),
	}
}

// setBootstrap derives bootstrap from the other attributes, unknown ones
// included.
func (m *model) setBootstrap(ctx context.Context) diag.Diagnostics {
	object, diags := bootstrap.Bootstrap{
		Kind:              types.StringValue(bootstrap.KindDiscovery),
		Protocol:          m.Protocol,
		Token:             m.Token,
		Founders:          m.Founders,
		Size:              m.wholeSize(),
		Complete:          m.Complete,
		Environment:       m.Environment,
		ClusterID:         types.StringNull(),
		RegistryEndpoints: m.dialled(ctx),
	}.Object(ctx)
	m.Bootstrap = object
	return diags
}

// number is n as a value of the size, which is a number of any kind for
// Terraform, so that a fraction can be refused in words of our own.
func number(n int) types.Number { return types.NumberValue(big.NewFloat(float64(n))) }

// size is the size, 0 while it is null, unknown or no whole number.
func (m *model) size() int {
	if !isGiven(m.Size) || !m.Size.ValueBigFloat().IsInt() {
		return 0
	}
	n, _ := m.Size.ValueBigFloat().Int64()
	return int(n)
}

// wholeSize is the size as bootstrap takes it.
func (m *model) wholeSize() types.Int64 {
	switch {
	case m.Size.IsUnknown():
		return types.Int64Unknown()
	case m.Size.IsNull():
		return types.Int64Null()
	}
	return types.Int64Value(int64(m.size()))
}

// dialled reads the registry's endpoints back from the environment, which
// holds them as they were when it was made.
func (m *model) dialled(ctx context.Context) types.List {
	if m.Environment.IsUnknown() {
		return types.ListUnknown(types.StringType)
	}
	var environment map[string]string
	if m.Environment.ElementsAs(ctx, &environment, false).HasError() {
		return types.ListUnknown(types.StringType)
	}
	list, _ := types.ListValueFrom(ctx, types.StringType, strings.Split(environment["ETCD_DISCOVERY_ENDPOINTS"], ","))
	return list
}

// founderNames returns the founders, sorted; ok is false while any is unknown.
func founderNames(ctx context.Context, founders types.Set) (names []string, ok bool) {
	if founders.IsNull() || founders.IsUnknown() {
		return nil, false
	}
	var values []types.String
	if founders.ElementsAs(ctx, &values, false).HasError() {
		return nil, false
	}
	for _, v := range values {
		if v.IsUnknown() || v.IsNull() {
			return nil, false
		}
		names = append(names, v.ValueString())
	}
	slices.Sort(names)
	return names, true
}

// names returns the names of those who registered.
func names(members []discovery.Member) []string {
	out := make([]string, len(members))
	for i, m := range members {
		out[i] = m.Name
	}
	return out
}
