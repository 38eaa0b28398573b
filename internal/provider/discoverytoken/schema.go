// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discoverytoken

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/discovery"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/attribute"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/bootstrap"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/environment"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/report"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

// Schema implements [resource.Resource].
func (r *tokenResource) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = tokenSchema
}

// tokenSchema is the schema of the resource.
var tokenSchema = schema.Schema{
	MarkdownDescription: "Creates a discovery token, through which the initial members of a cluster find each other if their addresses are not known in advance.",
	Attributes: map[string]schema.Attribute{
		// The arguments that identify the token; a change of them requires a new token.
		"size": schema.Int64Attribute{
			Required: true, Validators: []validator.Int64{int64validator.Between(1, discovery.MaxSize)},
			MarkdownDescription: "Number of initial members: the members of the first apply of the [`etcd_cluster`](cluster.md) that are not learners. Prefer 3 or 5. A change replaces a token that is " +
				"not complete. It has no effect on a complete token. Allowed: 1 to 99.",
		},
		"protocol": schema.StringAttribute{
			Optional: true, Computed: true, Default: stringdefault.StaticString(discovery.V3),
			Validators: []validator.String{stringvalidator.OneOf(discovery.V3, discovery.V2, discovery.ByService)},
			MarkdownDescription: "Protocol between members and discovery cluster: `v3`, `v2` or `service`. See [Protocols](#protocols). A change replaces a token that is not complete. It has no " +
				"effect on a complete token. Default: `v3`.",
		},
		"service_url": attribute.DefaultText("URL of the discovery service, to which `/new` is added. Only with `protocol = \"service\"`. The provider asks the service for a token once. The service cannot "+
			"delete a token, so a destroy only removes it from the state. Default: `https://discovery.etcd.io`, the public service, which is no longer maintained.",
			attribute.Fits("must be the URL of a discovery service", discovery.ServiceURLProblem,
				"Invalid URL of a discovery service", "service_url = %q %s. It is what /new is added to, such as \"https://discovery.example.com\".")),
		"prefix": schema.StringAttribute{
			Optional: true, Computed: true, Default: stringdefault.StaticString(discovery.DefaultPrefix), Validators: []validator.String{inPrefix},
			MarkdownDescription: "Key under which the discovery cluster stores its tokens. Null with `service`. Members with `v3` read only from the default, unless they reach the discovery cluster " +
				"through a gRPC proxy that adds a namespace. Default: `/_etcd/registry`.",
		},
		"token": schema.StringAttribute{Computed: true, Sensitive: true, MarkdownDescription: "The token: 32 random hexadecimal digits, or what the discovery service chose. To use a token that exists already, import it."},

		// The arguments that change in place.
		"advertised_endpoints": attribute.OptionalEndpoints("Client URLs of the discovery cluster as the machines reach it. They are part of `environment` and `bootstrap`. With `v2` only the first one is, because a member " +
			"takes one URL. Default: the provider's `endpoints`."),
		"machine_access": schema.SingleNestedAttribute{
			Optional: true,
			MarkdownDescription: "What a machine needs to reach a `v3` discovery cluster with TLS or authentication. Only names are part of `environment`: the files are on the machine, and the " +
				"machine sets a password as `ETCD_DISCOVERY_PASSWORD`.",
			Attributes: map[string]schema.Attribute{
				"ca_cert": attribute.OptionalText("Path on the machine of the CA certificate that verifies the discovery cluster (`ETCD_DISCOVERY_CACERT`).", machinePath),
				"cert": attribute.OptionalText("Path on the machine of a client certificate for the discovery cluster (`ETCD_DISCOVERY_CERT`). The HTTP gateway of a cluster with authentication refuses a "+
					"certificate with a common name. See [Certificates and authentication](../guides/certificates.md#machines-and-the-discovery-cluster).", machinePath),
				"key":      attribute.OptionalText("Path on the machine of the key of that certificate (`ETCD_DISCOVERY_KEY`).", machinePath),
				"username": attribute.OptionalText("User of the discovery cluster (`ETCD_DISCOVERY_USER`). Its role needs `readwrite` on the prefix `/_etcd/registry/<token>/`.", machineUser),
			},
		},

		// The attributes determined by token and registry.
		"id":  schema.StringAttribute{Computed: true, Sensitive: true, MarkdownDescription: "The same as `token`."},
		"url": schema.StringAttribute{Computed: true, Sensitive: true, MarkdownDescription: "Discovery URL for `--discovery`, with `v2` and `service`. Null with `v3`."},
		"environment": attribute.ComputedMap("Variables that an initial member needs to find the others. With `v3`: `ETCD_DISCOVERY_TOKEN`, `ETCD_DISCOVERY_ENDPOINTS` and those of `machine_access`. With `v2` "+
			"and `service`: `ETCD_DISCOVERY` and `ETCD_DISCOVERY_FALLBACK`.", true),
		"members":   attribute.ComputedObjects("Initial members that have registered, in order of registration. Never more than `size`.", memberObject.Attributes),
		"complete":  attribute.ComputedFlag("Whether all initial members have registered, as of the last refresh. Once `true` it stays `true`, the token is retired, and the discovery cluster is not asked again."),
		"bootstrap": bootstrap.Attribute(true, "The token as one object. Set `discovery` of the [`etcd_cluster`](cluster.md) to it."),
	},
}

// memberObject is one element of members.
var memberObject = schema.NestedAttributeObject{
	Attributes: map[string]schema.Attribute{
		"id":        attribute.ComputedText("ID of the member in the cluster that it forms, in hexadecimal."),
		"name":      attribute.ComputedText("Name of the member."),
		"peer_urls": attribute.ComputedList("Peer URLs that the member advertises."),
	},
}

// ValidateConfig implements [resource.ResourceWithValidateConfig]. It refuses arguments that
// the protocol does not use. A later call checks the values that are not known yet.
func (r *tokenResource) ValidateConfig(ctx context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse) {
	config := attribute.Read[model](ctx, req.Config, &resp.Diagnostics)
	if resp.Diagnostics.HasError() || config.Protocol.IsUnknown() {
		return
	}
	protocol := cmp.Or(config.Protocol.ValueString(), discovery.V3)
	given := map[string]attr.Value{
		"advertised_endpoints": config.AdvertisedEndpoints, "machine_access": config.MachineAccess, "prefix": config.Prefix, "service_url": config.ServiceURL,
	}
	for _, name := range slices.Sorted(maps.Keys(unused)) {
		u := unused[name]
		if strings.Contains(u.protocols, protocol) && !given[name].IsNull() {
			report.ErrorOn(&resp.Diagnostics, name, text.New("Argument without effect", "%s cannot be set with protocol = %q: %s.", name, protocol, u.why))
		}
	}
}

// inPrefix refuses a prefix that is not an absolute key.
var inPrefix = attribute.Fits("must be an absolute key", discovery.PrefixProblem,
	"Invalid prefix", "prefix = %q %s. It is an absolute key, such as \"/_etcd/registry\".")

// machinePath refuses a value that cannot be the path of a file on a machine.
var machinePath = attribute.Checked("must be an absolute path of printable ASCII characters", func(argument, value string) *text.Message {
	if strings.HasPrefix(value, "/") && isPrintable(value) {
		return nil
	}
	return new(text.New("Invalid path in machine_access",
		"%s is not an absolute path of printable ASCII characters. Set it to the path of the file on the machines, such as \"/etc/etcd/pki/ca.pem\".", argument))
})

// machineUser refuses a value that cannot be a user without a password.
var machineUser = attribute.Checked("must be a user name without a password", func(_, value string) *text.Message {
	switch {
	case strings.Contains(value, ":"):
		return new(text.New("Password in machine_access",
			"machine_access.username contains \":\", which separates a password from the user in ETCD_DISCOVERY_USER. The password would be in the state and in user data. "+
				"Set username to the user alone, and set ETCD_DISCOVERY_PASSWORD on the machines."))
	case value == "" || !isPrintable(value):
		return new(text.New("Invalid username in machine_access",
			"machine_access.username = %q is not a user of printable ASCII characters. Set it to the user that the machines have in the discovery cluster.", value))
	}
	return nil
})

// isPrintable reports whether a text consists of printable ASCII characters.
func isPrintable(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' })
}

// unused are the arguments that a protocol does not use, with the reason.
var unused = map[string]struct{ why, protocols string }{
	"service_url":          {"the discovery cluster of \"v2\" and \"v3\" is given by the provider's endpoints", discovery.V2 + discovery.V3},
	"prefix":               {"a service keeps its tokens where it likes", discovery.ByService},
	"advertised_endpoints": {"machines use the URL that the service gives", discovery.ByService},
	"machine_access":       {"members reach a v2 discovery cluster and a service without certificates and users of their own", discovery.V2 + discovery.ByService},
}

// common is what the resource and the data source have: all of the data source in
// Terraform's form.
type common struct {
	ID       types.String `tfsdk:"id"`
	Token    types.String `tfsdk:"token"`
	URL      types.String `tfsdk:"url"`
	Protocol types.String `tfsdk:"protocol"`
	Prefix   types.String `tfsdk:"prefix"`
	Size     types.Int64  `tfsdk:"size"`
	Members  types.List   `tfsdk:"members"`
	Complete types.Bool   `tfsdk:"complete"`
}

// model is the resource in Terraform's form: configuration, plan or state.
type model struct {
	common
	ServiceURL          types.String `tfsdk:"service_url"`
	AdvertisedEndpoints types.List   `tfsdk:"advertised_endpoints"`
	MachineAccess       types.Object `tfsdk:"machine_access"`
	Environment         types.Map    `tfsdk:"environment"`
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
func (m *common) fromStatus(ctx context.Context, s discovery.Status, diags *diag.Diagnostics) {
	members := make([]memberModel, len(s.Members))
	for i, member := range s.Members {
		members[i] = memberModel{member.ID.String(), member.Name, member.PeerURLs}
	}
	var d diag.Diagnostics
	m.Members, d = types.ListValueFrom(ctx, memberObject.Type(), members)
	diags.Append(d...)
	m.Size = types.Int64Value(int64(s.Size))
	m.Complete = types.BoolValue(m.Complete.ValueBool() || s.Complete())
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
	m.Environment = environment.Map(ctx, variables, diags)
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
