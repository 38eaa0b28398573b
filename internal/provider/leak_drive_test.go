// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"github.com/hashicorp/terraform-plugin-log/tflogtest"
	"github.com/hashicorp/terraform-plugin-log/tfsdklogtest"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/backend"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/driver"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/must"
)

// kind is one type of the provider: how Terraform calls it, and its arguments.
type kind struct {
	name      string
	arguments []argument
	imports   bool // the argument is the ID of an import
	run       func(s *session, config map[string]any)
}

// served is all that the provider serves.
type served interface {
	tfprotov6.ProviderServer
	tfprotov6.ListResourceServer
	tfprotov6.ActionServer
}

// session is one configured provider, with what it has shown of itself.
type session struct {
	t      *testing.T
	ctx    context.Context
	server served
	log    bytes.Buffer
	texts  []string          // of diagnostics, names and progress
	values map[string]string // that are not sensitive, by path
	failed bool
	valid  bool // the configuration was accepted
}

// newSession returns a provider that is configured with a valid configuration.
func newSession(t *testing.T, schema *tfprotov6.Schema, config map[string]any) *session {
	t.Helper()
	pool := &connection.Pool{}
	t.Cleanup(func() { _ = pool.Close() })
	server, ok := provider.Server(provider.New("test", pool, backend.NewRun())).(served)
	if !ok {
		t.Fatal("the provider serves no lists or no actions")
	}
	s := &session{t: t, server: server, values: map[string]string{}}
	s.ctx = tfsdklogtest.RootLogger(tflogtest.RootLogger(t.Context(), &s.log), &s.log)
	if config != nil {
		s.configure(schema, config)
	}
	return s
}

// configure validates the provider block and configures the provider.
func (s *session) configure(schema *tfprotov6.Schema, config map[string]any) {
	given := s.dynamic(schema, config)
	if v, err := s.server.ValidateProviderConfig(s.ctx, &tfprotov6.ValidateProviderConfigRequest{Config: given}); s.accepted(err, v.Diagnostics) {
		c, err := s.server.ConfigureProvider(s.ctx, &tfprotov6.ConfigureProviderRequest{Config: given})
		_ = s.ok(err) && s.add(c.Diagnostics)
	}
}

// ok fails the test at an error of the protocol.
func (s *session) ok(err error) bool {
	if err != nil {
		s.t.Error(err)
	}
	return err == nil
}

// accepted reports whether a validation has found no error.
func (s *session) accepted(err error, diags []*tfprotov6.Diagnostic) bool {
	s.valid = s.ok(err) && s.add(diags)
	return s.valid
}

// add keeps diagnostics, and reports whether no error is among them.
func (s *session) add(diags []*tfprotov6.Diagnostic) bool {
	for _, d := range diags {
		s.texts = append(s.texts, d.Summary+": "+d.Detail)
		s.failed = s.failed || d.Severity == tfprotov6.DiagnosticSeverityError
	}
	return !s.failed
}

// keep keeps the values that are not sensitive. It returns whether there is any.
func (s *session) keep(schema *tfprotov6.Schema, value *tfprotov6.DynamicValue) bool {
	if value == nil {
		return false
	}
	v, err := value.Unmarshal(schema.ValueType())
	if !s.ok(err) || v.IsNull() {
		return false
	}
	s.keepAll(schema.Block.Attributes, v, "")
	return true
}

func (s *session) keepAll(attributes []*tfprotov6.SchemaAttribute, object tftypes.Value, above string) {
	var values map[string]tftypes.Value
	if !object.IsKnown() || object.IsNull() || !s.ok(object.As(&values)) {
		return
	}
	for _, a := range attributes {
		switch v := values[a.Name]; {
		case a.Sensitive:
		case a.NestedType != nil && a.NestedType.Nesting == tfprotov6.SchemaObjectNestingModeSingle:
			s.keepAll(a.NestedType.Attributes, v, above+a.Name+".")
		case a.NestedType != nil && a.NestedType.Nesting == tfprotov6.SchemaObjectNestingModeMap:
			var elements map[string]tftypes.Value
			if v.IsKnown() && !v.IsNull() && s.ok(v.As(&elements)) {
				for key, element := range elements {
					s.keepAll(a.NestedType.Attributes, element, above+a.Name+"."+key+".")
				}
			}
		default:
			s.values[above+a.Name] += v.String()
		}
	}
}

func (s *session) dynamic(schema *tfprotov6.Schema, config map[string]any) *tfprotov6.DynamicValue {
	if config == nil {
		return s.value(schema.ValueType(), nil)
	}
	return s.value(schema.ValueType(), config)
}

// value returns a Go value as a value of a type.
func (s *session) value(typ tftypes.Type, value any) *tfprotov6.DynamicValue {
	v, err := driver.Build(typ, value)
	s.ok(err)
	d, err := tfprotov6.NewDynamicValue(typ, v)
	s.ok(err)
	return &d
}

// kinds returns every type of the provider with its arguments.
func kinds(t *testing.T, base map[string]map[string]any) (all []kind, block *tfprotov6.Schema) {
	t.Helper()
	schemas, err := newSession(t, nil, nil).server.GetProviderSchema(t.Context(), &tfprotov6.GetProviderSchemaRequest{})
	must.Succeed(t, err)
	add := func(of, name string, s *tfprotov6.Schema, run func(*session, *tfprotov6.Schema, string, map[string]any)) {
		all = append(all, kind{name: strings.TrimSpace(of + " " + name), arguments: arguments(t, s.Block.Attributes), run: func(se *session, config map[string]any) { run(se, s, name, config) }})
	}
	add("provider", "", schemas.Provider, func(s *session, schema *tfprotov6.Schema, _ string, config map[string]any) {
		s.configure(schema, config)
	})
	for name, s := range schemas.ResourceSchemas {
		add("resource", name, s, (*session).resource)
		all = append(all, kind{
			name: "import", arguments: []argument{{[]string{name}, tftypes.String, hasSecretID(s)}}, imports: true,
			run: (*session).importState,
		})
	}
	for name, s := range schemas.DataSourceSchemas {
		add("data source", name, s, (*session).dataSource)
	}
	for name, s := range schemas.EphemeralResourceSchemas {
		add("ephemeral resource", name, s, (*session).ephemeral)
	}
	for name, s := range schemas.ListResourceSchemas {
		of := schemas.ResourceSchemas[name]
		add("list resource", name, s, func(se *session, schema *tfprotov6.Schema, name string, config map[string]any) {
			se.list(schema, of, name, config)
		})
	}
	for name, s := range schemas.ActionSchemas {
		add("action", name, s.Schema, (*session).action)
	}
	for name, f := range schemas.Functions {
		k := kind{name: "function " + name, run: func(s *session, config map[string]any) { s.function(name, f.Parameters, config) }}
		for _, p := range f.Parameters {
			k.arguments = append(k.arguments, argument{[]string{p.Name}, p.Type, secretName.MatchString(p.Name)})
			if p.Type.Is(tftypes.DynamicPseudoType) {
				k.arguments = append(k.arguments, options(t, k, base[k.name], p.Name)...)
			}
		}
		all = append(all, k)
	}
	return all, schemas.Provider
}

// hasSecretID reports whether a resource is imported by a secret.
func hasSecretID(s *tfprotov6.Schema) bool {
	return slices.ContainsFunc(s.Block.Attributes, func(a *tfprotov6.SchemaAttribute) bool { return a.Name == "id" && a.Sensitive })
}

var allowed = regexp.MustCompile(` does not exist\. Allowed: ([a-z0-9_, ]+)`)

// options returns the arguments below a parameter of any type, as the function
// itself lists them.
func options(t *testing.T, k kind, base map[string]any, path ...string) (out []argument) {
	s := newSession(t, nil, nil)
	k.run(s, with(base, path, map[string]any{"nothing": "x"}))
	found := allowed.FindStringSubmatch(strings.Join(s.texts, " "))
	if found == nil {
		return nil
	}
	for name := range strings.SplitSeq(found[1], ", ") {
		below := append(slices.Clone(path), name)
		out = append(out, argument{below, tftypes.DynamicPseudoType, secretName.MatchString(name)})
		out = append(out, options(t, k, base, below...)...)
	}
	return out
}

// resource creates, reads, changes and destroys a resource, as far as the
// provider does it. It also starts from a state that has the configuration.
func (s *session) resource(schema *tfprotov6.Schema, name string, config map[string]any) {
	given, null := s.dynamic(schema, config), s.dynamic(schema, nil)
	if v, err := s.server.ValidateResourceConfig(s.ctx, &tfprotov6.ValidateResourceConfigRequest{TypeName: name, Config: given}); !s.accepted(err, v.Diagnostics) {
		return
	}
	state, planned, private := s.change(schema, name, null, given, nil)
	for _, prior := range []*tfprotov6.DynamicValue{state, planned} {
		s.failed = false
		if !s.keep(schema, prior) {
			continue
		}
		r, err := s.server.ReadResource(s.ctx, &tfprotov6.ReadResourceRequest{TypeName: name, CurrentState: prior, Private: private})
		_ = s.ok(err) && s.add(r.Diagnostics) && s.keep(schema, r.NewState)
		s.failed = false
		s.change(schema, name, prior, given, private)
		s.change(schema, name, prior, null, private)
	}
}

// change plans and applies a change. It returns the new state, and the planned one
// with null for what is unknown.
func (s *session) change(schema *tfprotov6.Schema, name string, prior, config *tfprotov6.DynamicValue, private []byte) (state, planned *tfprotov6.DynamicValue, _ []byte) {
	p, err := s.server.PlanResourceChange(s.ctx, &tfprotov6.PlanResourceChangeRequest{TypeName: name, PriorState: prior, Config: config, ProposedNewState: config, PriorPrivate: private})
	if !s.ok(err) || !s.add(p.Diagnostics) {
		return nil, nil, nil
	}
	s.keep(schema, p.PlannedState)
	a, err := s.server.ApplyResourceChange(s.ctx, &tfprotov6.ApplyResourceChangeRequest{TypeName: name, PriorState: prior, Config: config, PlannedState: p.PlannedState, PlannedPrivate: p.PlannedPrivate})
	if !s.ok(err) {
		return nil, nil, nil
	}
	s.add(a.Diagnostics)
	s.keep(schema, a.NewState)
	return a.NewState, s.known(schema, p.PlannedState), a.Private
}

// known returns a value with null for what is unknown.
func (s *session) known(schema *tfprotov6.Schema, value *tfprotov6.DynamicValue) *tfprotov6.DynamicValue {
	v, err := value.Unmarshal(schema.ValueType())
	if !s.ok(err) {
		return nil
	}
	v, err = tftypes.Transform(v, func(_ *tftypes.AttributePath, v tftypes.Value) (tftypes.Value, error) {
		if !v.IsKnown() {
			return tftypes.NewValue(v.Type(), nil), nil
		}
		return v, nil
	})
	s.ok(err)
	d, err := tfprotov6.NewDynamicValue(schema.ValueType(), v)
	s.ok(err)
	return &d
}

func (s *session) importState(config map[string]any) {
	for name, given := range config {
		id, _ := given.(string)
		i, err := s.server.ImportResourceState(s.ctx, &tfprotov6.ImportResourceStateRequest{TypeName: name, ID: id})
		if !s.ok(err) || !s.add(i.Diagnostics) {
			continue
		}
		for _, of := range i.ImportedResources {
			r, err := s.server.ReadResource(s.ctx, &tfprotov6.ReadResourceRequest{TypeName: name, CurrentState: of.State, Private: of.Private})
			_ = s.ok(err) && s.add(r.Diagnostics)
		}
	}
}

func (s *session) dataSource(schema *tfprotov6.Schema, name string, config map[string]any) {
	given := s.dynamic(schema, config)
	if v, err := s.server.ValidateDataResourceConfig(s.ctx, &tfprotov6.ValidateDataResourceConfigRequest{TypeName: name, Config: given}); s.accepted(err, v.Diagnostics) {
		r, err := s.server.ReadDataSource(s.ctx, &tfprotov6.ReadDataSourceRequest{TypeName: name, Config: given})
		_ = s.ok(err) && s.add(r.Diagnostics) && s.keep(schema, r.State)
	}
}

func (s *session) ephemeral(schema *tfprotov6.Schema, name string, config map[string]any) {
	given := s.dynamic(schema, config)
	if v, err := s.server.ValidateEphemeralResourceConfig(s.ctx, &tfprotov6.ValidateEphemeralResourceConfigRequest{TypeName: name, Config: given}); s.accepted(err, v.Diagnostics) {
		o, err := s.server.OpenEphemeralResource(s.ctx, &tfprotov6.OpenEphemeralResourceRequest{TypeName: name, Config: given})
		_ = s.ok(err) && s.add(o.Diagnostics) && s.keep(schema, o.Result)
	}
}

func (s *session) list(schema, of *tfprotov6.Schema, name string, config map[string]any) {
	given := s.dynamic(schema, config)
	if v, err := s.server.ValidateListResourceConfig(s.ctx, &tfprotov6.ValidateListResourceConfigRequest{TypeName: name, Config: given}); s.accepted(err, v.Diagnostics) {
		stream, err := s.server.ListResource(s.ctx, &tfprotov6.ListResourceRequest{TypeName: name, Config: given, IncludeResource: true, Limit: 10})
		if s.ok(err) {
			for r := range stream.Results {
				s.texts = append(s.texts, r.DisplayName)
				_ = s.add(r.Diagnostics) && s.keep(of, r.Resource)
			}
		}
	}
}

func (s *session) action(schema *tfprotov6.Schema, name string, config map[string]any) {
	given := s.dynamic(schema, config)
	if v, err := s.server.ValidateActionConfig(s.ctx, &tfprotov6.ValidateActionConfigRequest{ActionType: name, Config: given}); !s.accepted(err, v.Diagnostics) {
		return
	}
	if p, err := s.server.PlanAction(s.ctx, &tfprotov6.PlanActionRequest{ActionType: name, Config: given}); s.ok(err) && s.add(p.Diagnostics) {
		stream, err := s.server.InvokeAction(s.ctx, &tfprotov6.InvokeActionRequest{ActionType: name, Config: given})
		if s.ok(err) {
			for e := range stream.Events {
				switch e := e.Type.(type) {
				case tfprotov6.ProgressInvokeActionEventType:
					s.texts = append(s.texts, e.Message)
				case tfprotov6.CompletedInvokeActionEventType:
					s.add(e.Diagnostics)
				}
			}
		}
	}
}

// function calls a function. Its result is not looked at, because the CLI marks
// it with the sensitivity of the arguments.
func (s *session) function(name string, parameters []*tfprotov6.FunctionParameter, config map[string]any) {
	var given []*tfprotov6.DynamicValue
	for _, p := range parameters {
		given = append(given, s.value(p.Type, config[p.Name]))
	}
	r, err := s.server.CallFunction(s.ctx, &tfprotov6.CallFunctionRequest{Name: name, Arguments: given})
	if s.valid = s.ok(err) && r.Error == nil; !s.valid && err == nil {
		s.texts = append(s.texts, r.Error.Text)
	}
}

// leaks returns what a session has shown of a secret, except the argument itself.
func (s *session) leaks(argument string) (out []string) {
	for _, line := range append(strings.Split(s.log.String(), "\n"), s.texts...) {
		// The framework logs the paths of attributes, with the keys of maps.
		if shows(line) && (!strings.Contains(line, `"tf_attribute_path"`) || strings.Contains(line, "ElementKeyValue")) {
			out = append(out, line)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(s.values)) {
		// A plan of etcd_cluster shows which values each node has.
		last := path[strings.LastIndex(path, ".")+1:]
		ofNode := strings.HasPrefix(path, "node.") && (last == argument || argument == "rebuild" && last == "start")
		if shows(s.values[path]) && path != argument && !ofNode {
			out = append(out, fmt.Sprintf("value of %s: %s", path, s.values[path]))
		}
	}
	return out
}
