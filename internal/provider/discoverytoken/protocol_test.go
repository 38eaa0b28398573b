// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discoverytoken

import (
	"context"
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

const typeName = "etcd_discovery_token"

// session acts as Terraform in the protocol for one resource, and exposes the
// warnings, which Terraform's test framework does not. The acceptance tests
// cover the behaviour of real Terraform.
type session struct {
	t       *testing.T
	server  tfprotov6.ProviderServer
	typ     tftypes.Object
	state   tftypes.Value
	private []byte

	// Read once for the tests of every plan.
	schema *schema.Schema
	prior  *model
}

// attributes is a configuration: null for a missing attribute, else any Go
// value that JSON can represent, or unknown.
type attributes map[string]any

// unknown is a value that is known only after the apply.
type unknown struct{}

func newSession(t *testing.T, p provider.Provider, endpoints any) *session {
	t.Helper()
	server, err := providerserver.NewProtocol6WithError(p)()
	if err != nil {
		t.Fatal(err)
	}
	s := &session{t: t, server: server}
	schemas, err := server.GetProviderSchema(t.Context(), &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		t.Fatal(err)
	}
	s.typ = schemas.ResourceSchemas[typeName].ValueType().(tftypes.Object)
	s.state = tftypes.NewValue(s.typ, nil)
	providerType := schemas.Provider.ValueType().(tftypes.Object)
	configured, err := server.ConfigureProvider(t.Context(), &tfprotov6.ConfigureProviderRequest{
		Config: s.dynamic(s.object(providerType, attributes{"endpoints": endpoints})),
	})
	if err != nil || len(configured.Diagnostics) > 0 {
		t.Fatal(err, configured.Diagnostics)
	}
	return s
}

// object builds a value of typ.
func (s *session) object(typ tftypes.Object, values attributes) tftypes.Value {
	s.t.Helper()
	out := map[string]tftypes.Value{}
	for name, attribute := range typ.AttributeTypes {
		value, given := values[name]
		switch value.(type) {
		case unknown:
			out[name] = tftypes.NewValue(attribute, tftypes.UnknownValue)
			continue
		case nil:
			given = false
		}
		if !given {
			out[name] = tftypes.NewValue(attribute, nil)
			continue
		}
		text, err := json.Marshal(value)
		if err != nil {
			s.t.Fatal(err)
		}
		//nolint:staticcheck // There is no other way from JSON to a value of a type.
		if out[name], err = tftypes.ValueFromJSON(text, attribute); err != nil {
			s.t.Fatalf("%s: %v", name, err)
		}
	}
	return tftypes.NewValue(typ, out)
}

func (s *session) dynamic(v tftypes.Value) *tfprotov6.DynamicValue {
	s.t.Helper()
	d, err := tfprotov6.NewDynamicValue(v.Type(), v)
	if err != nil {
		s.t.Fatal(err)
	}
	return &d
}

func (s *session) value(d *tfprotov6.DynamicValue) tftypes.Value {
	s.t.Helper()
	v, err := d.Unmarshal(s.typ)
	if err != nil {
		s.t.Fatal(err)
	}
	return v
}

// validate returns the errors and warnings of a configuration.
func (s *session) validate(config attributes) []string {
	s.t.Helper()
	resp, err := s.server.ValidateResourceConfig(s.t.Context(), &tfprotov6.ValidateResourceConfigRequest{
		TypeName: typeName, Config: s.dynamic(s.object(s.typ, config)),
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return texts(resp.Diagnostics)
}

// planned is the result of a plan.
type planned struct {
	action string // create, update, replace, no-op
	value  tftypes.Value
	texts  []string

	config  tftypes.Value
	private []byte
}

// plan plans for config. It plans the create leg of a replacement as Terraform
// does: without prior state, with the previous private state.
func (s *session) plan(values attributes) planned {
	s.t.Helper()
	config := s.object(s.typ, values)
	first := s.planFrom(s.state, config, s.private)
	out := planned{action: "update", config: config}
	switch {
	case s.state.IsNull():
		out.action = "create"
	case len(first.RequiresReplace) > 0:
		return s.second(config, first)
	case s.value(first.PlannedState).Equal(s.state):
		out.action = "no-op"
	}
	out.texts, out.private = texts(first.Diagnostics), first.PlannedPrivate
	if first.PlannedState != nil {
		out.value = s.value(first.PlannedState)
	}
	return out
}

// second plans the create leg of a replacement.
func (s *session) second(config tftypes.Value, first *tfprotov6.PlanResourceChangeResponse) planned {
	s.t.Helper()
	resp := s.planFrom(tftypes.NewValue(s.typ, nil), config, first.PlannedPrivate)
	return planned{
		action: "replace", value: s.value(resp.PlannedState), texts: texts(append(first.Diagnostics, resp.Diagnostics...)),
		config: config, private: resp.PlannedPrivate,
	}
}

func (s *session) planFrom(prior, config tftypes.Value, private []byte) *tfprotov6.PlanResourceChangeResponse {
	s.t.Helper()
	resp, err := s.server.PlanResourceChange(s.t.Context(), &tfprotov6.PlanResourceChangeRequest{
		TypeName: typeName, PriorState: s.dynamic(prior), Config: s.dynamic(config),
		ProposedNewState: s.dynamic(s.proposed(prior, config)), PriorPrivate: private,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return resp
}

// proposed returns the state that Terraform proposes: the configuration, and
// the prior values of computed attributes that are not configured.
func (s *session) proposed(prior, config tftypes.Value) tftypes.Value {
	if config.IsNull() || prior.IsNull() {
		return config
	}
	var before, now map[string]tftypes.Value
	if err := prior.As(&before); err != nil {
		s.t.Fatal(err)
	}
	if err := config.As(&now); err != nil {
		s.t.Fatal(err)
	}
	optional := map[string]bool{"machine_access": true, "advertised_endpoints": true, "timeouts": true}
	now = maps.Clone(now) // the map belongs to the value
	for name, value := range now {
		if value.IsNull() && !optional[name] {
			now[name] = before[name]
		}
	}
	return tftypes.NewValue(s.typ, now)
}

// carryOut applies a plan, both legs of a replacement.
func (s *session) carryOut(p planned) []string {
	s.t.Helper()
	var out []string
	switch p.action {
	case "no-op":
		return nil
	case "replace":
		texts, ok := s.apply(tftypes.NewValue(s.typ, nil), tftypes.NewValue(s.typ, nil), p.private)
		out = append(out, texts...)
		if !ok {
			return out
		}
	}
	texts, _ := s.apply(p.value, p.config, p.private)
	return append(out, texts...)
}

func (s *session) apply(plan, config tftypes.Value, private []byte) (diags []string, ok bool) {
	s.t.Helper()
	resp, err := s.server.ApplyResourceChange(s.t.Context(), &tfprotov6.ApplyResourceChangeRequest{
		TypeName: typeName, PriorState: s.dynamic(s.state), PlannedState: s.dynamic(plan), Config: s.dynamic(config), PlannedPrivate: private,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	s.state, s.private = s.value(resp.NewState), resp.Private
	ok = true
	for _, d := range resp.Diagnostics {
		ok = ok && d.Severity != tfprotov6.DiagnosticSeverityError
	}
	if !s.state.IsFullyKnown() {
		s.t.Errorf("the state is not wholly known after apply: %s", s.state)
	}
	return texts(resp.Diagnostics), ok
}

// up plans and applies, and fails the test at any diagnostic.
func (s *session) up(config attributes) planned {
	s.t.Helper()
	p := s.plan(config)
	if diags := append(p.texts, s.carryOut(p)...); len(diags) > 0 {
		s.t.Fatalf("diagnostics: %q", diags)
	}
	return p
}

// refresh reads the resource.
func (s *session) refresh() []string {
	s.t.Helper()
	resp, err := s.server.ReadResource(s.t.Context(), &tfprotov6.ReadResourceRequest{
		TypeName: typeName, CurrentState: s.dynamic(s.state), Private: s.private,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	s.state, s.private = s.value(resp.NewState), resp.Private
	return texts(resp.Diagnostics)
}

// destroy plans and applies a removal.
func (s *session) destroy() []string {
	s.t.Helper()
	null := tftypes.NewValue(s.typ, nil)
	resp := s.planFrom(s.state, null, s.private)
	diags, _ := s.apply(null, null, resp.PlannedPrivate)
	return append(texts(resp.Diagnostics), diags...)
}

// importState imports by ID and reads, as Terraform does.
func (s *session) importState(id string) []string {
	s.t.Helper()
	resp, err := s.server.ImportResourceState(context.Background(), &tfprotov6.ImportResourceStateRequest{TypeName: typeName, ID: id})
	if err != nil {
		s.t.Fatal(err)
	}
	if len(resp.Diagnostics) > 0 {
		return texts(resp.Diagnostics)
	}
	s.state, s.private = s.value(resp.ImportedResources[0].State), resp.ImportedResources[0].Private
	return s.refresh()
}

// attributeOf returns the text of an attribute of a value, "" for null, or
// "(unknown)"; collections are in the syntax of tftypes.
func attributeOf(v tftypes.Value, path ...string) string {
	for _, name := range path {
		if !v.IsKnown() {
			return "(unknown)"
		}
		var fields map[string]tftypes.Value
		if v.As(&fields) != nil || fields == nil {
			return ""
		}
		v = fields[name]
	}
	if !v.IsKnown() {
		return "(unknown)"
	}
	if v.IsNull() {
		return ""
	}
	var text string
	if v.As(&text) == nil {
		return text
	}
	return v.String()
}

// texts writes diagnostics as "warning: Summary: Detail".
func texts(diags []*tfprotov6.Diagnostic) []string {
	var out []string
	for _, d := range diags {
		out = append(out, strings.ToLower(d.Severity.String())+": "+d.Summary+": "+d.Detail)
	}
	return out
}
