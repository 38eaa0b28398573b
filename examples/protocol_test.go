// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package examples

import (
	"context"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/discovery"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/driver"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdsim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/joinscript"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider"
)

// etcd is the provider, spoken to as a CLI does.
type etcd struct {
	t      *testing.T
	server tfprotov6.ProviderServer
}

// newProvider returns a provider in a network in which nobody listens.
func newProvider(t *testing.T) *etcd {
	pool := &connection.Pool{World: (&etcdsim.Network{}).Run("examples")}
	return &etcd{t, provider.Server(provider.NewWithPool("test", pool)())}
}

func (p *etcd) start(context.Context) (*driver.Run, error) { return &driver.Run{Server: p.server}, nil }

// environment returns the variables of the machine of an initial member, nil if the
// provider refuses to make them.
func (p *etcd) environment(in input) map[string]string {
	p.t.Helper()
	access := map[string]any{"ca_cert": in.Path, "cert": in.Path, "key": in.Path, "username": in.User}
	token := driver.Values{"size": 1, "advertised_endpoints": []string{in.Endpoint}, "machine_access": access}
	if driver.New(p.t, nil, driver.Resource{Type: "etcd_discovery_token", Name: "x", Values: token}).Validate(p.t.Context(), p.start).Err() != nil {
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
	w := driver.New(p.t, nil, driver.Resource{Type: "etcd_cluster", Name: "x", Values: driver.Values{
		"members":   map[string]any{in.Name: map[string]any{"peer_urls": []string{in.PeerURL}}},
		"discovery": map[string]any{"size": 1, "complete": false, "environment": variables},
	}})
	if _, result := w.Up(p.t.Context(), p.start); result.Err() != nil {
		return nil
	}
	out := map[string]string{}
	node := p.fields(p.fields(w.State("etcd_cluster.x").Value)["node"])[in.Name]
	for key, value := range p.fields(p.fields(node)["environment"]) {
		out[key] = driver.Attribute(value)
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
	return p.call("environment_file", p.textMap(environment))
}

// cloudConfig calls the function of that name.
func (p *etcd) cloudConfig(environment map[string]string) (userData, refused string) {
	p.t.Helper()
	options := map[string]tftypes.Value{"etcd": p.textMap(map[string]string{"path": "/usr/bin"})}
	if strings.Contains(environment["ETCD_LISTEN_PEER_URLS"], "https://") {
		options["tls"] = p.textMap(map[string]string{"ca": "/etc/etcd/ca.pem", "cert": "/etc/etcd/server.pem", "key": "/etc/etcd/server-key.pem"})
	}
	return p.call("cloud_config", objectOf(map[string]tftypes.Value{
		"environment": p.textMap(environment), "join_script_base64gzip": tftypes.NewValue(tftypes.String, joinscript.Static().Base64Gzip),
		"start":   objectOf(map[string]tftypes.Value{"format": tftypes.NewValue(tftypes.Number, 1)}),
		"version": tftypes.NewValue(tftypes.String, nil),
	}), objectOf(options))
}

func (p *etcd) textMap(texts map[string]string) tftypes.Value {
	elements := map[string]tftypes.Value{}
	for name, text := range texts {
		elements[name] = tftypes.NewValue(tftypes.String, text)
	}
	return tftypes.NewValue(tftypes.Map{ElementType: tftypes.String}, elements)
}

func objectOf(attributes map[string]tftypes.Value) tftypes.Value {
	types := map[string]tftypes.Type{}
	for name, v := range attributes {
		types[name] = v.Type()
	}
	return tftypes.NewValue(tftypes.Object{AttributeTypes: types}, attributes)
}

// call calls a function. Its options are of any type.
func (p *etcd) call(function string, arguments ...tftypes.Value) (text, refused string) {
	p.t.Helper()
	req := &tfprotov6.CallFunctionRequest{Name: function}
	for i, v := range arguments {
		typ := v.Type()
		if i == 1 {
			typ = tftypes.DynamicPseudoType
		}
		d, err := tfprotov6.NewDynamicValue(typ, v)
		if err != nil {
			p.t.Fatal(err)
		}
		req.Arguments = append(req.Arguments, &d)
	}
	resp, err := p.server.CallFunction(p.t.Context(), req)
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
