// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discoverytoken

import (
	"context"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/discovery"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/attribute"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/bootstrap"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/environment"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/report"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

// model is the resource in Terraform's form: configuration, plan or state.
type model struct {
	ID                  types.String `tfsdk:"id"`
	Size                types.Int64  `tfsdk:"size"`
	Protocol            types.String `tfsdk:"protocol"`
	ServiceURL          types.String `tfsdk:"service_url"`
	Prefix              types.String `tfsdk:"prefix"`
	Token               types.String `tfsdk:"token"`
	AdvertisedEndpoints types.List   `tfsdk:"advertised_endpoints"`
	MachineAccess       types.Object `tfsdk:"machine_access"`
	URL                 types.String `tfsdk:"url"`
	Environment         types.Map    `tfsdk:"environment"`
	Members             types.List   `tfsdk:"members"`
	Complete            types.Bool   `tfsdk:"complete"`
	Bootstrap           types.Object `tfsdk:"bootstrap"`
}

// accessVariables are the variables of the attributes of machine_access.
var accessVariables = map[string]string{
	"ca_cert": "ETCD_DISCOVERY_CACERT", "cert": "ETCD_DISCOVERY_CERT", "key": "ETCD_DISCOVERY_KEY", "username": "ETCD_DISCOVERY_USER",
}

// memberModel is one element of members.
type memberModel struct {
	ID       string   `tfsdk:"id"`
	Name     string   `tfsdk:"name"`
	PeerURLs []string `tfsdk:"peer_urls"`
}

// fromStatus sets the attributes from the discovery cluster's status of the
// token. A token that was complete stays complete.
func (m *model) fromStatus(ctx context.Context, s discovery.Status, diags *diag.Diagnostics) {
	var d diag.Diagnostics
	m.Members, d = types.ListValueFrom(ctx, memberObject.Type(), membersOf(s))
	diags.Append(d...)
	m.Size = types.Int64Value(int64(s.Size))
	m.Complete = types.BoolValue(m.Complete.ValueBool() || s.Complete())
	m.setBootstrap()
}

// membersOf returns the registrations in Terraform's form, never nil.
func membersOf(s discovery.Status) []memberModel {
	members := make([]memberModel, 0, len(s.Members))
	for _, member := range s.Members {
		members = append(members, memberModel{member.ID.String(), member.Name, member.PeerURLs})
	}
	return members
}

// fromLocation sets the values that machines need, which follow from the location of the token.
// The URL of a service is set. endpoints are the provider's; they are used if none are
// advertised.
func (m *model) fromLocation(ctx context.Context, endpoints []string, diags *diag.Diagnostics) {
	dialled := endpoints
	if !m.AdvertisedEndpoints.IsNull() {
		dialled = connection.Askable(attribute.Texts(m.AdvertisedEndpoints))
	}
	m.ID = m.Token
	variables := map[string]string{}
	if m.is(discovery.V3) {
		m.URL = types.StringNull()
		variables["ETCD_DISCOVERY_TOKEN"] = m.Token.ValueString()
		variables["ETCD_DISCOVERY_ENDPOINTS"] = strings.Join(dialled, ",")
		for name, value := range m.MachineAccess.Attributes() {
			if given, ok := value.(types.String); ok && given.ValueString() != "" {
				variables[accessVariables[name]] = given.ValueString()
			}
		}
	} else {
		url := m.URL.ValueString()
		if m.is(discovery.V2) && len(dialled) > 0 {
			at := m.location()
			at.Base = dialled[0] // a member accepts only one URL
			url = at.URL()
		}
		m.URL = types.StringValue(url)
		variables["ETCD_DISCOVERY"] = url
		// etcd 3.4 and 3.5 would otherwise run as proxies if the cluster is full.
		variables["ETCD_DISCOVERY_FALLBACK"] = "exit"
	}
	made, d := environment.Map(ctx, variables)
	diags.Append(d...)
	m.Environment = made
	m.setBootstrap()
}

// location returns the location of the token.
func (m *model) location() discovery.Location {
	return discovery.Location{
		Protocol: m.Protocol.ValueString(), Base: m.ServiceURL.ValueString(), Prefix: m.Prefix.ValueString(), Token: m.Token.ValueString(),
	}
}

// is reports whether the protocol is known to be this protocol.
func (m *model) is(protocol string) bool { return m.Protocol.ValueString() == protocol }

// setBootstrap derives bootstrap from the other attributes, including unknown
// values.
func (m *model) setBootstrap() {
	m.Bootstrap = bootstrap.Bootstrap{Size: m.Size, Complete: m.Complete, Environment: m.Environment}.Object()
}

// size returns the size, 0 if it is null or unknown.
func (m *model) size() int { return int(m.Size.ValueInt64()) }

// names returns the names of the registered members.
func names(members []discovery.Member) []string {
	out := make([]string, len(members))
	for i, m := range members {
		out[i] = m.Name
	}
	slices.Sort(out)
	return out
}

// ImportState implements [resource.ResourceWithImportState]. The ID is the
// token, after "prefix:" if the prefix is not the default, and after "v2:"
// before that for protocol v2. For a service it is "service:" and the URL that
// the service returned.
func (r *tokenResource) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	at, problem := parseImportID(req.ID)
	if problem != "" {
		report.Error(&resp.Diagnostics, text.New("Invalid import ID",
			"The ID %s. Import by token (\"3e86b59982e49066c5d813af1c2e2579\"), with its prefix before it where that is not /_etcd/registry (\"/my/registry:TOKEN\"), "+
				"and \"v2:\" before that with protocol v2; from a service by \"service:\" and the URL it gave.", problem))
		return
	}
	url := ""
	if at.Protocol == discovery.ByService {
		url = at.URL()
	}
	for name, value := range map[string]string{
		"id": at.Token, "token": at.Token, "prefix": at.Prefix, "protocol": at.Protocol, "service_url": at.Base, "url": url,
	} {
		if value != "" {
			resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root(name), value)...)
		}
	}
}

// importID returns an ID that [parseImportID] reads, for v2 and v3.
func importID(at discovery.Location) string {
	id := at.Token
	if at.Prefix != discovery.DefaultPrefix {
		id = at.Prefix + ":" + id
	}
	if at.Protocol != discovery.V3 {
		id = at.Protocol + ":" + id
	}
	return id
}

func parseImportID(id string) (at discovery.Location, problem string) {
	if tokenURL, found := strings.CutPrefix(id, discovery.ByService+":"); found {
		at, err := discovery.ParseURL(tokenURL)
		switch {
		case err != nil:
			return at, "has a URL that " + err.Error()
		case at.Protocol != discovery.ByService:
			return at, "has a URL of the v2 API, and not of a service"
		}
		return at, ""
	}
	at = discovery.Location{Protocol: discovery.V3, Prefix: discovery.DefaultPrefix}
	if protocol, rest, found := strings.Cut(id, ":"); found && (protocol == discovery.V3 || protocol == discovery.V2) {
		at.Protocol, id = protocol, rest
	}
	at.Token = id
	if prefix, token, found := strings.Cut(id, ":"); found {
		at.Prefix, at.Token = prefix, token
	}
	if p := discovery.PrefixProblem(at.Prefix); p != "" {
		return at, "has a prefix that " + p
	}
	if p := discovery.TokenProblem(at.Token); p != "" {
		return at, "has a token that " + p
	}
	return at, ""
}
