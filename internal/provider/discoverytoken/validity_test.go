// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discoverytoken

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/discovery"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/driver"
)

// origins are the existing tokens for the plans, each created or imported with
// its first configuration.
var origins = map[string]attributes{
	"size":                     {"size": 3},
	"prefix":                   {"size": 3, "prefix": "/one"},
	"access":                   {"size": 3, "advertised_endpoints": []string{"http://r:1"}, "machine_access": map[string]any{"ca_cert": "/ca", "cert": nil, "key": nil, "username": nil}},
	"v2":                       {"size": 3, "protocol": "v2"},
	"service":                  {"size": 3, "protocol": "service"},
	"service with a URL":       {"size": 3, "protocol": "service", "service_url": "https://d.example"},
	"imported":                 nil,
	"imported, v2":             nil,
	"imported from a service":  nil,
	"imported with its prefix": nil,
}

var importIDs = map[string]string{
	"imported": "mine", "imported, v2": "v2:mine", "imported from a service": "service:https://d.example/" + firstToken, "imported with its prefix": "/one:mine",
}

// variants are the possible values of each argument; nil means not configured.
var variants = map[string][]any{
	"size":                 {3, 5, unknown{}},
	"protocol":             {nil, "v2", "service", unknown{}},
	"service_url":          {nil, "https://d.example", "https://other.example", unknown{}},
	"prefix":               {nil, "/one", "/two", unknown{}},
	"advertised_endpoints": {nil, []string{"http://r:1"}, unknown{}},
	"machine_access":       {nil, map[string]any{"ca_cert": "/ca", "cert": nil, "key": nil, "username": nil}, unknown{}},
}

// Terraform accepts the plan for any configuration of a token, complete or not,
// created or imported. The test tries all combinations of the arguments that
// decide, and each argument by itself on the whole resource.
func TestEveryPlanIsValid(t *testing.T) {
	var all []configured
	var single []attributes // the valid ones
	for name := range origins {
		for _, complete := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, complete %v", name, complete), func(t *testing.T) {
				s := originate(t, name, complete)
				s.object(nil) // reads the schema
				prior := s.model(s.state())
				s.prior = &prior
				if all == nil {
					all = s.configured(combinations("size", "protocol", "service_url", "prefix"))
					single = s.single()
				}
				for _, c := range all {
					s.mustDecideValidly(c, complete)
				}
				for _, config := range single {
					s.mustPlanValidly(config, complete)
				}
			})
		}
	}
	if len(all) < 50 {
		t.Errorf("only %d configurations were planned for", len(all))
	}
}

// combinations returns all configurations of these arguments.
func combinations(arguments ...string) []attributes {
	out := []attributes{{}}
	for _, name := range arguments {
		var more []attributes
		for _, config := range out {
			for _, value := range variants[name] {
				next := maps.Clone(config)
				if value != nil {
					next[name] = value
				}
				more = append(more, next)
			}
		}
		out = more
	}
	return out
}

// single returns the valid configurations with one argument of each kind.
func (s *session) single() (out []attributes) {
	for argument := range variants {
		for _, config := range combinations(argument) {
			if config["size"] == nil {
				config["size"] = 3
			}
			if len(s.validate(config)) == 0 {
				out = append(out, config)
			}
		}
	}
	return out
}

// configured is a configuration in the form that the resource reads.
type configured struct {
	values attributes
	model  model
}

// configured reads the valid configurations.
func (s *session) configured(all []attributes) []configured {
	s.t.Helper()
	var out []configured
	for _, values := range all {
		m := s.model(s.object(values))
		var diags diag.Diagnostics
		validateProtocol(m, &diags)
		if !diags.HasError() {
			out = append(out, configured{values, m})
		}
	}
	return out
}

func (s *session) object(values attributes) tftypes.Value {
	s.t.Helper()
	if s.schema == nil {
		var resp resource.SchemaResponse
		new(tokenResource).Schema(s.t.Context(), resource.SchemaRequest{}, &resp)
		s.schema = &resp.Schema
	}
	v, err := driver.Build(s.schema.Type().TerraformType(s.t.Context()), values)
	if err != nil {
		s.t.Fatal(err)
	}
	return v
}

func (s *session) model(v tftypes.Value) model {
	s.t.Helper()
	var m model
	if diags := (tfsdk.Config{Raw: v, Schema: *s.schema}).Get(s.t.Context(), &m); diags.HasError() {
		s.t.Fatal(diags)
	}
	return m
}

// mustDecideValidly is mustPlanValidly for the arguments that a complete token
// may keep. It tests only the code that decides about them.
func (s *session) mustDecideValidly(c configured, complete bool) {
	s.t.Helper()
	prior := *s.prior
	plan := c.model // as proposed by the framework
	for to, otherwise := range map[*types.String]types.String{
		&plan.Protocol: types.StringValue("v3"), &plan.Prefix: types.StringValue(discovery.DefaultPrefix),
		&plan.Token: types.StringUnknown(), &plan.ServiceURL: types.StringUnknown(),
	} {
		if to.IsNull() {
			*to = otherwise
		}
	}
	plan.fromDefaults(c.model)
	replace := plan.planUpdate(c.model, prior, false)
	if complete && len(replace) > 0 {
		s.t.Fatalf("%v: replaced because of %v", c.values, replace)
	}
	before := prior
	if len(replace) > 0 {
		before = model{} // the second plan, which has no prior state
	}
	for name, v := range map[string][3]attr.Value{
		"size":     {plan.Size, c.model.Size, before.Size},
		"protocol": {plan.Protocol, c.model.Protocol, before.Protocol}, "service_url": {plan.ServiceURL, c.model.ServiceURL, before.ServiceURL},
		"prefix": {plan.Prefix, c.model.Prefix, before.Prefix},
	} {
		planned, set, was := v[0], v[1], v[2]
		kept := len(replace) == 0 && planned.Equal(was) && !was.IsNull()
		if !set.IsNull() && !planned.Equal(set) && !kept {
			s.t.Errorf("%v: %s is planned as %s, configured %s, before %s", c.values, name, planned, set, was)
		}
	}
}

func originate(t *testing.T, name string, complete bool) *session {
	t.Helper()
	s := newSession(t)
	token := "mine"
	if config := origins[name]; config != nil {
		s.up(config)
		token = driver.Attribute(s.state(), "token")
	} else {
		if strings.HasPrefix(importIDs[name], "service:") {
			token = firstToken
		}
		s.registry.tokens[token] = discovery.Status{Size: 3}
		if complete {
			s.registry.register(token, "a", "b", "c")
		}
		s.configure(attributes{"size": 3})
		want(t, texts(s.w.Import(t.Context(), s.start, address, importIDs[name])))
	}
	if complete {
		s.registry.register(token, "a", "b", "c")
	}
	s.w.Resources = nil
	want(t, texts(s.w.Refresh(t.Context(), s.start)))
	if got := driver.Attribute(s.state(), "complete"); got != fmt.Sprintf("tftypes.Bool<%q>", fmt.Sprint(complete)) {
		t.Fatalf("complete is %s", got)
	}
	return s
}

// mustPlanValidly plans, and fails the test unless Terraform would accept the plan.
func (s *session) mustPlanValidly(values attributes, complete bool) {
	s.t.Helper()
	plan, got := s.plan(values)
	if plan == nil {
		s.t.Fatalf("%v: %q", values, got)
	}
	if complete && plan.Change(address).Action == "replace" {
		s.t.Errorf("%v: a complete token is replaced", values)
	}
}
