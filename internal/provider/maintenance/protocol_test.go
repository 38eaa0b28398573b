// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package maintenance_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"go.uber.org/goleak"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// terraform acts as a Terraform that supports actions and lists, which not
// every CLI of the tests does.
type terraform struct {
	t       *testing.T
	server  tfprotov6.ProviderServer
	actions tfprotov6.ActionServer
	lists   tfprotov6.ListResourceServer
	schemas *tfprotov6.GetProviderSchemaResponse
}

// newTerraform configures the provider with endpoints, and values for other
// arguments.
func newTerraform(t *testing.T, endpoints []string, more map[string]tftypes.Value) *terraform {
	t.Helper()
	pool := &connection.Pool{}
	t.Cleanup(func() { _ = pool.Close() })
	server, err := providerserver.NewProtocol6WithError(provider.NewWithPool("test", pool)())()
	if err != nil {
		t.Fatal(err)
	}
	f := &terraform{t: t, server: server}
	var actions, lists bool
	f.actions, actions = server.(tfprotov6.ActionServer)
	f.lists, lists = server.(tfprotov6.ListResourceServer)
	if !actions || !lists {
		t.Fatal("the framework serves no actions, or no lists")
	}
	if f.schemas, err = server.GetProviderSchema(t.Context(), &tfprotov6.GetProviderSchemaRequest{}); err != nil {
		t.Fatal(err)
	}
	values := map[string]tftypes.Value{"endpoints": texts(endpoints...), "request_timeout": text("2s")}
	for name, v := range more {
		values[name] = v
	}
	configured, err := server.ConfigureProvider(t.Context(), &tfprotov6.ConfigureProviderRequest{Config: f.object(f.schemas.Provider, values)})
	if err != nil || len(configured.Diagnostics) > 0 {
		t.Fatal(err, configured.Diagnostics)
	}
	return f
}

func text(s string) tftypes.Value { return tftypes.NewValue(tftypes.String, s) }
func yes() tftypes.Value          { return tftypes.NewValue(tftypes.Bool, true) }

func elements(all []string) []tftypes.Value {
	values := make([]tftypes.Value, len(all))
	for i, s := range all {
		values[i] = text(s)
	}
	return values
}

func texts(all ...string) tftypes.Value {
	return tftypes.NewValue(tftypes.List{ElementType: tftypes.String}, elements(all))
}

func set(all ...string) tftypes.Value {
	return tftypes.NewValue(tftypes.Set{ElementType: tftypes.String}, elements(all))
}

// object returns a value of a schema, with null for values that are not given.
func (f *terraform) object(schema *tfprotov6.Schema, values map[string]tftypes.Value) *tfprotov6.DynamicValue {
	f.t.Helper()
	typ, ok := schema.ValueType().(tftypes.Object)
	if !ok {
		f.t.Fatal("the schema is of no object")
	}
	all := map[string]tftypes.Value{}
	for name, attribute := range typ.AttributeTypes {
		all[name] = tftypes.NewValue(attribute, nil)
	}
	for name, v := range values {
		all[name] = v
	}
	d, err := tfprotov6.NewDynamicValue(typ, tftypes.NewValue(typ, all))
	if err != nil {
		f.t.Fatal(err)
	}
	return &d
}

// outcome is the result of an action.
type outcome struct {
	t *testing.T
	// planned and said are the diagnostics of the plan and of the invocation,
	// as "severity: summary: detail".
	planned, said []string
	progress      []string
}

func lines(diags []*tfprotov6.Diagnostic) []string {
	var out []string
	for _, d := range diags {
		out = append(out, strings.ToLower(d.Severity.String())+": "+d.Summary+": "+d.Detail)
	}
	return out
}

// run validates, plans and invokes an action, as Terraform does; it stops after
// an error. each is called with each progress message.
func (f *terraform) run(name string, values map[string]tftypes.Value, each ...func(string)) *outcome {
	f.t.Helper()
	schema, ok := f.schemas.ActionSchemas[name]
	if !ok {
		f.t.Fatalf("there is no action %s", name)
	}
	o := &outcome{t: f.t}
	config := f.object(schema.Schema, values)
	ctx := etcdtest.WaitContext(f.t)
	valid, err := f.actions.ValidateActionConfig(ctx, &tfprotov6.ValidateActionConfigRequest{ActionType: name, Config: config})
	if err != nil {
		f.t.Fatal(err)
	}
	planned, err := f.actions.PlanAction(ctx, &tfprotov6.PlanActionRequest{ActionType: name, Config: config})
	if err != nil {
		f.t.Fatal(err)
	}
	o.planned = append(lines(valid.Diagnostics), lines(planned.Diagnostics)...)
	if strings.Contains(strings.Join(o.planned, "\n"), "error: ") {
		return o
	}
	stream, err := f.actions.InvokeAction(ctx, &tfprotov6.InvokeActionRequest{ActionType: name, Config: config})
	if err != nil {
		f.t.Fatal(err)
	}
	ended := false
	for event := range stream.Events {
		switch e := event.Type.(type) {
		case tfprotov6.ProgressInvokeActionEventType:
			o.progress = append(o.progress, e.Message)
			for _, f := range each {
				f(e.Message)
			}
		case tfprotov6.CompletedInvokeActionEventType:
			o.said, ended = lines(e.Diagnostics), true
		}
	}
	if !ended {
		f.t.Fatal("the action never ended")
	}
	return o
}

// matching reports whether each text matches the expression at its index.
func matching(got []string, want ...string) bool {
	if len(got) != len(want) {
		return false
	}
	for i := range want {
		if !regexp.MustCompile("^(?s:" + want[i] + ")$").MatchString(got[i]) {
			return false
		}
	}
	return true
}

func (o *outcome) mustPlan(want ...string) *outcome {
	o.t.Helper()
	if !matching(o.planned, want...) {
		o.t.Errorf("planned with\n%s\nwant\n%s", strings.Join(o.planned, "\n"), strings.Join(want, "\n"))
	}
	return o
}

func (o *outcome) mustSay(want ...string) *outcome {
	o.t.Helper()
	if !matching(o.said, want...) {
		o.t.Errorf("said\n%s\nwant\n%s", strings.Join(o.said, "\n"), strings.Join(want, "\n"))
	}
	return o
}

func (o *outcome) mustTell(want ...string) *outcome {
	o.t.Helper()
	if !matching(o.progress, want...) {
		o.t.Errorf("told\n%s\nwant\n%s", strings.Join(o.progress, "\n"), strings.Join(want, "\n"))
	}
	return o
}

// hex matches an ID.
const hex = `\([0-9a-f]+\)`

func called(name string) string { return regexp.QuoteMeta(name) + " " + hex }

// Every action and list has a description, and so has each of its arguments.
func TestSchemas(t *testing.T) {
	t.Parallel()
	f := newTerraform(t, []string{"http://127.0.0.1:1"}, nil)
	schemas := map[string]*tfprotov6.Schema{}
	for name, s := range f.schemas.ActionSchemas {
		schemas["action "+name] = s.Schema
	}
	for name, s := range f.schemas.ListResourceSchemas {
		schemas["list "+name] = s
	}
	for _, want := range []string{
		"action etcd_defragment", "list etcd_cluster", "list etcd_member", "list etcd_learner",
	} {
		s, ok := schemas[want]
		if !ok || s.Block.Description == "" {
			t.Fatalf("%s: %+v", want, s)
		}
		for _, a := range s.Block.Attributes {
			if a.Description == "" {
				t.Errorf("%s: %s is not described", want, a.Name)
			}
		}
	}
	if len(schemas) != 4 {
		t.Errorf("there are %d", len(schemas))
	}
}

// A problem with the configuration is reported before any request, an endpoint
// that does not respond after it.
func TestBadInput(t *testing.T) {
	t.Parallel()
	f := newTerraform(t, []string{"http://127.0.0.1:1"}, nil)
	f.run("etcd_defragment", map[string]tftypes.Value{"timeout": text("soon")}).mustPlan(
		`error: Invalid duration: timeout is "soon", which is not a duration of more than zero\. .*`)
	const gone = `: The cluster does not answer\. Nothing was changed\. Check that its machines run and can be reached from here\.\s+The endpoints answered:\s+- http://127\.0\.0\.1:1: connection refused`
	f.run("etcd_defragment", nil).mustSay("error: Cannot defragment the members" + gone).mustTell()
	unknown := newTerraform(t, nil, map[string]tftypes.Value{"endpoints": tftypes.NewValue(tftypes.List{ElementType: tftypes.String}, tftypes.UnknownValue)})
	unknown.run("etcd_defragment", nil).mustSay("error: Cannot defragment the members: The provider's configuration holds values that are not known yet, so there is no cluster to ask\\. .*")
}
