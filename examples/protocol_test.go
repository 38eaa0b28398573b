// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package examples

import (
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/discovery"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/joinscript"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider"
)

// etcd is the provider, spoken to as a CLI does.
type etcd struct {
	t       *testing.T
	server  tfprotov6.ProviderServer
	schemas map[string]tftypes.Type
}

func newProvider(t *testing.T) *etcd {
	t.Helper()
	p := &etcd{t: t, server: provider.Server(provider.New("test")()), schemas: map[string]tftypes.Type{}}
	schemas, err := p.server.GetProviderSchema(t.Context(), &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for name, schema := range schemas.ResourceSchemas {
		p.schemas[name] = schema.ValueType()
	}
	// With unknown endpoints it asks no server.
	config := p.dynamic(unknownWhere(object(schemas.Provider.ValueType(), nil), "endpoints"))
	configured, err := p.server.ConfigureProvider(t.Context(), &tfprotov6.ConfigureProviderRequest{TerraformVersion: "1.11.0", Config: config})
	if err != nil || refusedBy(configured.Diagnostics) != "" {
		t.Fatal(err, refusedBy(configured.Diagnostics))
	}
	return p
}

// environment returns the variables of the machine of an initial member, nil if the
// provider refuses to make them.
func (p *etcd) environment(in input) map[string]string {
	p.t.Helper()
	access := map[string]any{"ca_cert": in.Path, "cert": in.Path, "key": in.Path, "username": in.User}
	if p.refuses("etcd_discovery_token", map[string]any{"size": 1, "advertised_endpoints": []string{in.Endpoint}, "machine_access": access}) {
		return nil
	}
	variables := in.variables()
	delete(variables, "ETCD_NAME")
	endpoint, err := connection.ParseEndpoint(in.Endpoint, false)
	if err != nil {
		p.t.Fatalf("%q: taken by the plan, and then %v", in.Endpoint, err)
	}
	variables["ETCD_DISCOVERY_ENDPOINTS"] = endpoint
	if at, err := discovery.ParseServiceURL(in.ServiceURL); err == nil {
		variables["ETCD_DISCOVERY"] = at.URL()
	} else {
		delete(variables, "ETCD_DISCOVERY")
	}
	config := map[string]any{
		"members":   map[string]any{in.Name: map[string]any{"peer_urls": []string{in.PeerURL}}},
		"discovery": map[string]any{"size": 1, "complete": false, "environment": variables},
	}
	if p.refuses("etcd_cluster", config) {
		return nil
	}
	return p.create(config)[in.Name]
}

func (p *etcd) refuses(resource string, config map[string]any) bool {
	p.t.Helper()
	resp, err := p.server.ValidateResourceConfig(p.t.Context(), &tfprotov6.ValidateResourceConfigRequest{
		TypeName: resource, Config: p.dynamic(object(p.schemas[resource], config)),
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return refusedBy(resp.Diagnostics) != ""
}

// create plans and makes an etcd_cluster, and returns the environment of each node; nil
// if it is refused.
func (p *etcd) create(config map[string]any) map[string]map[string]string {
	p.t.Helper()
	const resource = "etcd_cluster"
	typ := p.schemas[resource]
	given := object(typ, config)
	null := p.dynamic(tftypes.NewValue(typ, nil))
	planned, err := p.server.PlanResourceChange(p.t.Context(), &tfprotov6.PlanResourceChangeRequest{
		TypeName: resource, PriorState: null, Config: p.dynamic(given),
		ProposedNewState: p.dynamic(unknownWhere(given, "id", "node", "status", "endpoints", "cluster_id", "complete", "pending", "reason")),
	})
	if err != nil {
		p.t.Fatal(err)
	}
	if refusedBy(planned.Diagnostics) != "" {
		return nil
	}
	made, err := p.server.ApplyResourceChange(p.t.Context(), &tfprotov6.ApplyResourceChangeRequest{
		TypeName: resource, PriorState: null, Config: p.dynamic(given), PlannedState: planned.PlannedState, PlannedPrivate: planned.PlannedPrivate,
	})
	if err != nil {
		p.t.Fatal(err)
	}
	if refusedBy(made.Diagnostics) != "" {
		return nil
	}
	state, err := made.NewState.Unmarshal(typ)
	if err != nil {
		p.t.Fatal(err)
	}
	out := map[string]map[string]string{}
	for name, node := range p.fields(p.fields(state)["node"]) {
		out[name] = map[string]string{}
		for key, value := range p.fields(p.fields(node)["environment"]) {
			var s string
			if err := value.As(&s); err != nil {
				p.t.Fatal(err)
			}
			out[name][key] = s
		}
	}
	return out
}

// fields are the elements of an object or a map.
func (p *etcd) fields(v tftypes.Value) (out map[string]tftypes.Value) {
	p.t.Helper()
	if err := v.As(&out); err != nil {
		p.t.Fatal(err)
	}
	return out
}

// environmentFile calls the function of that name.
func (p *etcd) environmentFile(environment map[string]string) (file, refused string) {
	p.t.Helper()
	return p.call("environment_file", p.dynamic(value(tftypes.Map{ElementType: tftypes.String}, environment)))
}

// cloudConfig calls the function of that name.
func (p *etcd) cloudConfig(environment map[string]string) (userData, refused string) {
	p.t.Helper()
	texts := tftypes.Map{ElementType: tftypes.String}
	options := map[string]tftypes.Value{"etcd": value(texts, map[string]string{"path": "/usr/bin"})}
	if strings.Contains(environment["ETCD_LISTEN_PEER_URLS"], "https://") {
		options["tls"] = value(texts, map[string]string{"ca": "/etc/etcd/ca.pem", "cert": "/etc/etcd/server.pem", "key": "/etc/etcd/server-key.pem"})
	}
	types := map[string]tftypes.Type{}
	for name, option := range options {
		types[name] = option.Type()
	}
	given, err := tfprotov6.NewDynamicValue(tftypes.DynamicPseudoType, tftypes.NewValue(tftypes.Object{AttributeTypes: types}, options))
	if err != nil {
		p.t.Fatal(err)
	}
	config := tftypes.Object{AttributeTypes: map[string]tftypes.Type{"environment": texts, "join_script_base64gzip": tftypes.String, "format": tftypes.Number, "version": tftypes.String}}
	return p.call("cloud_config", p.dynamic(object(config, map[string]any{
		"environment": environment, "join_script_base64gzip": joinscript.Static().Base64Gzip, "format": 1,
	})), &given)
}

func (p *etcd) call(function string, arguments ...*tfprotov6.DynamicValue) (text, refused string) {
	p.t.Helper()
	resp, err := p.server.CallFunction(p.t.Context(), &tfprotov6.CallFunctionRequest{Name: function, Arguments: arguments})
	if err != nil {
		p.t.Fatal(err)
	}
	if resp.Error != nil {
		return "", resp.Error.Text
	}
	result, err := resp.Result.Unmarshal(tftypes.String)
	if err == nil {
		err = result.As(&text)
	}
	if err != nil {
		p.t.Fatal(err)
	}
	return text, ""
}

func (p *etcd) dynamic(v tftypes.Value) *tfprotov6.DynamicValue {
	p.t.Helper()
	d, err := tfprotov6.NewDynamicValue(v.Type(), v)
	if err != nil {
		p.t.Fatal(err)
	}
	return &d
}

func refusedBy(diags []*tfprotov6.Diagnostic) string {
	for _, d := range diags {
		if d.Severity == tfprotov6.DiagnosticSeverityError {
			return d.Summary + ": " + d.Detail
		}
	}
	return ""
}

// object is an object of a type with some attributes; the others are null.
func object(typ tftypes.Type, given map[string]any) tftypes.Value {
	attributes := map[string]tftypes.Value{}
	for name, t := range typ.(tftypes.Object).AttributeTypes {
		attributes[name] = value(t, given[name])
	}
	return tftypes.NewValue(typ, attributes)
}

func value(typ tftypes.Type, v any) tftypes.Value {
	switch v := v.(type) {
	case map[string]any:
		if elements, is := typ.(tftypes.Map); is {
			out := map[string]tftypes.Value{}
			for name, e := range v {
				out[name] = value(elements.ElementType, e)
			}
			return tftypes.NewValue(typ, out)
		}
		return object(typ, v)
	case map[string]string:
		elements := map[string]tftypes.Value{}
		for name, s := range v {
			elements[name] = tftypes.NewValue(tftypes.String, s)
		}
		return tftypes.NewValue(typ, elements)
	case []string:
		var elements []tftypes.Value
		for _, s := range v {
			elements = append(elements, tftypes.NewValue(tftypes.String, s))
		}
		return tftypes.NewValue(typ, elements)
	}
	return tftypes.NewValue(typ, v)
}

// unknownWhere is an object with some attributes unknown.
func unknownWhere(v tftypes.Value, names ...string) tftypes.Value {
	var attributes map[string]tftypes.Value
	if err := v.As(&attributes); err != nil {
		panic(err)
	}
	for _, name := range names {
		attributes[name] = tftypes.NewValue(attributes[name].Type(), tftypes.UnknownValue)
	}
	return tftypes.NewValue(v.Type(), attributes)
}
