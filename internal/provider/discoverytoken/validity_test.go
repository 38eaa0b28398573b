// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discoverytoken

import (
	"cmp"
	"fmt"
	"maps"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/discovery"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/driver"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/must"
)

type (
	attributes = driver.Values
	unknown    = driver.Unknown
)

const firstToken = "01010101010101010101010101010101"

// origins are the existing tokens for the plans, each created or imported with
// its first configuration.
var origins = map[string]attributes{
	"size":                     {"size": 3},
	"prefix":                   {"size": 3, "prefix": "/one"},
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

// variants are the possible values of each argument that decides; nil means not configured.
var variants = map[string][]any{
	"size":        {3, 5, unknown{}},
	"protocol":    {nil, "v2", "service", unknown{}},
	"service_url": {nil, "https://d.example", "https://other.example", unknown{}},
	"prefix":      {nil, "/one", "/two", unknown{}},
}

// Terraform accepts the plan for any configuration of a token, complete or not,
// created or imported. The other arguments are tried in package simulated.
func TestEveryPlanIsValid(t *testing.T) {
	all := configurations(t)
	if len(all) < 50 {
		t.Errorf("only %d configurations were planned for", len(all))
	}
	for name := range origins {
		for _, complete := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, complete %v", name, complete), func(t *testing.T) {
				prior := originate(t, name, complete)
				for _, c := range all {
					c.mustPlanValidly(t, prior, complete)
				}
			})
		}
	}
}

// configured is a configuration in the form that the resource reads.
type configured struct {
	values attributes
	model  model
}

// configurations returns all valid configurations.
func configurations(t *testing.T) (out []configured) {
	all := []attributes{{}}
	for name := range variants {
		var more []attributes
		for _, config := range all {
			for _, value := range variants[name] {
				next := maps.Clone(config)
				if value != nil {
					next[name] = value
				}
				more = append(more, next)
			}
		}
		all = more
	}
	for _, values := range all {
		m := modelOf(t, values)
		var diags diag.Diagnostics
		validateProtocol(m, &diags)
		if !diags.HasError() {
			out = append(out, configured{values, m})
		}
	}
	return out
}

func modelOf(t *testing.T, values attributes) (m model) {
	t.Helper()
	var resp resource.SchemaResponse
	new(tokenResource).Schema(t.Context(), resource.SchemaRequest{}, &resp)
	v, err := driver.Build(resp.Schema.Type().TerraformType(t.Context()), values)
	must.Succeed(t, err)
	if diags := (tfsdk.Config{Raw: v, Schema: resp.Schema}).Get(t.Context(), &m); diags.HasError() {
		t.Fatal(diags)
	}
	return m
}

// proposed is a configuration with the defaults of the schema, as the framework proposes it.
func proposed(config model) model {
	for to, otherwise := range map[*types.String]types.String{
		&config.Protocol: types.StringValue("v3"), &config.Prefix: types.StringValue(discovery.DefaultPrefix),
		&config.Token: types.StringUnknown(), &config.ServiceURL: types.StringUnknown(),
	} {
		if to.IsNull() {
			*to = otherwise
		}
	}
	return config
}

// originate returns the state of a token.
func originate(t *testing.T, name string, complete bool) (m model) {
	t.Helper()
	if values := origins[name]; values != nil {
		config := modelOf(t, values)
		m = proposed(config)
		m.fromDefaults(config)
		m.planCreate()
	} else {
		what, problem := parseImportID(importIDs[name])
		if problem != "" {
			t.Fatal(problem)
		}
		given := attributes{}
		for name, value := range map[string]string{"token": what.Token, "prefix": what.Prefix, "protocol": what.Protocol, "service_url": what.Base} {
			if value != "" {
				given[name] = value
			}
		}
		m = modelOf(t, given)
	}
	status := discovery.Status{Size: 3}
	if complete {
		status.Members = make([]discovery.Member, 3)
	}
	var diags diag.Diagnostics
	m.Token = types.StringValue(cmp.Or(m.Token.ValueString(), firstToken))
	m.URL = types.StringValue(m.location().URL())
	m.fromLocation(t.Context(), []string{"http://10.0.0.1:2379"}, &diags)
	m.fromStatus(t.Context(), status, &diags)
	if diags.HasError() || m.Complete.ValueBool() != complete {
		t.Fatalf("%v, complete %v", diags, m.Complete)
	}
	return m
}

// mustPlanValidly fails the test unless Terraform would accept the plan.
func (c configured) mustPlanValidly(t *testing.T, prior model, complete bool) {
	t.Helper()
	plan := proposed(c.model)
	plan.fromDefaults(c.model)
	replace := plan.planUpdate(c.model, prior, false)
	if complete && len(replace) > 0 {
		t.Fatalf("%v: replaced because of %v", c.values, replace)
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
			t.Errorf("%v: %s is planned as %s, configured %s, before %s", c.values, name, planned, set, was)
		}
	}
}
