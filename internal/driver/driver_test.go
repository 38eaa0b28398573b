// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package driver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/must"
)

// That the driver plans and does what the CLIs do is proven by TestCLIsAgree in
// internal/simulated. The tests here are of what its sequences do not reach.

// world is a provider, and notes what its resources are asked for.
type world struct {
	provider.Provider
	calls []string
	fail  map[string]string // an error, by what is called
	lie   string            // planned text that the apply does not keep
	asked func(method string) error
}

func (w *world) call(what string, name types.String) error {
	what += " " + name.ValueString()
	w.calls = append(w.calls, what)
	if text := w.fail[what]; text != "" {
		return errors.New(text)
	}
	return nil
}

func (w *world) start(context.Context) (*Run, error) {
	return &Run{Server: providerserver.NewProtocol6(w)(), Context: func(ctx context.Context, _, method string) (context.Context, error) {
		return ctx, w.asked(method)
	}}, nil
}

func (*world) Metadata(context.Context, provider.MetadataRequest, *provider.MetadataResponse)    {}
func (*world) Schema(context.Context, provider.SchemaRequest, *provider.SchemaResponse)          {}
func (*world) Configure(context.Context, provider.ConfigureRequest, *provider.ConfigureResponse) {}
func (*world) DataSources(context.Context) []func() datasource.DataSource                        { return nil }
func (w *world) Resources(context.Context) []func() resource.Resource {
	return []func() resource.Resource{func() resource.Resource { return thing{w} }}
}

// thing is a resource: name replaces it, text is updated in place.
type thing struct{ w *world }

type model struct {
	ID   types.String `tfsdk:"id"`
	Name types.String `tfsdk:"name"`
	Text types.String `tfsdk:"text"`
}

func (thing) Metadata(_ context.Context, _ resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = "x_thing"
}

func (thing) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = schema.Schema{Attributes: map[string]schema.Attribute{
		"id":   schema.StringAttribute{Computed: true, PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown()}},
		"name": schema.StringAttribute{Required: true, PlanModifiers: []planmodifier.String{stringplanmodifier.RequiresReplace()}},
		"text": schema.StringAttribute{Optional: true},
	}}
}

func (t thing) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var m model
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	m.ID = types.StringValue("id-of-" + m.Name.ValueString())
	if err := t.w.call("create", m.Name); err != nil {
		resp.Diagnostics.AddError(err.Error(), "")
		return
	}
	if t.w.lie != "" {
		m.Text = types.StringValue(t.w.lie)
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, m)...)
	if text := t.w.fail["start "+m.Name.ValueString()]; text != "" {
		resp.Diagnostics.AddError(text, "")
	}
}

func (thing) Read(context.Context, resource.ReadRequest, *resource.ReadResponse) {}

func (t thing) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var m model
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	_ = t.w.call("update", m.Name)
	resp.Diagnostics.Append(resp.State.Set(ctx, m)...)
}

func (t thing) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	var m model
	resp.Diagnostics.Append(req.State.Get(ctx, &m)...)
	if err := t.w.call("delete", m.Name); err != nil {
		resp.Diagnostics.AddError(err.Error(), "")
	}
}

// three are a, and b, which depends on it. c is alone.
func three(t testing.TB) (*world, *Workspace) {
	s := New(t, nil, newThing("b", "b1", Ref{"x_thing.a", "id"}), newThing("a", "a1", nil), newThing("c", "c1", nil))
	s.Parallelism = 1
	return &world{asked: func(string) error { return nil }}, s
}

func newThing(address, name string, text any) Resource {
	return Resource{Type: "x_thing", Name: address, Values: Values{"name": name, "text": text}}
}

// up applies, and returns the actions of the plan.
func up(t *testing.T, w *world, s *Workspace, opts ...Option) string {
	t.Helper()
	w.calls = nil
	plan, r := s.Up(t.Context(), w.start, opts...)
	if len(r.Diagnostics) > 0 {
		t.Fatal(r.Diagnostics)
	}
	return strings.Join(plan.Actions(), ", ")
}

func want(t *testing.T, what string, got any, want string) {
	t.Helper()
	if fmt.Sprint(got) != want {
		t.Errorf("%s:\n got %v\nwant %s", what, got, want)
	}
}

// The order with create_before_destroy, which what a resource depends on has, too, and what
// replace_triggered_by replaces.
func TestOrder(t *testing.T) {
	for name, test := range map[string]struct {
		a, b  string // names now
		first int    // the resource that has create_before_destroy, -1 for none
		by    Ref    // replaces b
		want  string
	}{
		"neither":        {"a2", "b2", -1, Ref{}, "delete b1, delete a1, create a2, create b2"},
		"the dependency": {"a2", "b1", 1, Ref{}, "create a2, update b1, delete a1"},
		"the dependent":  {"a2", "b2", 0, Ref{}, "create a2, create b2, delete b1, delete a1"},
		"is removed":     {"a2", "", 1, Ref{}, "delete b1, create a2, delete a1"},
		"an update":      {"a1", "b1", -1, Ref{"x_thing.a", ""}, "delete b1, update a1, create b1"},
		"its text":       {"a1", "b1", -1, Ref{"x_thing.a", "text"}, "delete b1, update a1, create b1"},
		"its name":       {"a1", "b1", -1, Ref{"x_thing.a", "name"}, "update a1"},
		"another":        {"a1", "b1", -1, Ref{"x_thing.c", ""}, "update a1"},
	} {
		t.Run(name, func(t *testing.T) {
			w, s := three(t)
			if test.first >= 0 {
				s.Resources[test.first].CreateBeforeDestroy = true
			}
			if test.by.Resource != "" {
				s.Resources[0].ReplacedBy = []Ref{test.by}
			}
			up(t, w, s)
			s.Resources[1].Values = Values{"name": test.a, "text": "new"}
			s.Resources[0].Values["name"] = test.b
			if test.b == "" {
				s.Resources = s.Resources[1:]
			}
			up(t, w, s)
			want(t, "calls", strings.Join(w.calls, ", "), test.want)
			want(t, "actions of another plan", up(t, w, s), "")
		})
	}
}

// A failure skips what depends on it, and nothing else.
func TestFailure(t *testing.T) {
	w, s := three(t)
	fails := func(call, text string) {
		t.Helper()
		w.fail = map[string]string{call: "no"}
		_, r := s.Up(t.Context(), w.start)
		want(t, "errors", r.Err(), text)
		w.fail = nil
	}
	fails("create a1", "x_thing.a: no")
	want(t, "state", s.Addresses(), "[x_thing.c]")
	fails("start a1", "x_thing.a: no") // what was created in part is tainted
	want(t, "actions", up(t, w, s), "create x_thing.b, replace x_thing.a")
	s.Resources[2].Values = Values{"name": "c2"}
	fails("delete c1", "x_thing.c: no") // what was not destroyed stays
	want(t, "name", Attribute(s.State("x_thing.c").Value, "name"), "c1")

	// What create_before_destroy leaves is in the state, and the next apply destroys it.
	s.Resources = s.Resources[2:]
	s.Resources[0].CreateBeforeDestroy = true
	fails("create c2", "x_thing.c: no")
	want(t, "state", s.Addresses(), "[x_thing.c]")
	fails("delete c1", "x_thing.c (deposed): no")
	want(t, "state", s.Addresses(), "[x_thing.c x_thing.c (deposed)]")
	want(t, "actions", up(t, w, s), "delete x_thing.c (deposed)")
	want(t, "name", Attribute(s.State("x_thing.c").Value, "name"), "c2")
}

// recorder is a test that a finding does not fail.
type recorder struct {
	testing.TB
	found []string
}

func (r *recorder) Errorf(format string, args ...any) {
	r.found = append(r.found, fmt.Sprintf(format, args...))
}

func TestFinding(t *testing.T) {
	found := &recorder{TB: t}
	w, s := three(found)
	w.lie = "not planned"
	_, r := s.Up(t.Context(), w.start)
	want(t, "findings", slices.Sorted(slices.Values(found.found)), `[x_thing.a: Provider produced inconsistent result after apply: .text was planned as tftypes.String<null>, and is tftypes.String<"not planned"> `+
		`x_thing.c: Provider produced inconsistent result after apply: .text was planned as tftypes.String<null>, and is tftypes.String<"not planned">]`)
	want(t, "errors", strings.Count(fmt.Sprint(r.Err()), "x_thing"), "2")
	want(t, "tainted", s.State("x_thing.a").Tainted, "true")
}

// An ordinary plan, which a provider may refuse, comes before a destruction. Core
// upgrades all that it reads of the state.
func TestDestroy(t *testing.T) {
	w, s := three(t)
	s.Resources = s.Resources[1:2]
	up(t, w, s)
	var calls []string
	refused := errors.New("refused")
	w.asked = func(method string) error {
		if calls = append(calls, method); method == "plan" {
			return refused
		}
		return nil
	}
	_, r := s.Up(t.Context(), w.start, Destroy)
	want(t, "errors", r.Err(), "x_thing.a: refused")
	want(t, "calls", calls, "[validate upgrade read validate plan]")
	want(t, "state", s.Addresses(), "[x_thing.a]")
	calls, refused = nil, nil
	up(t, w, s, Destroy)
	want(t, "calls", calls, "[validate upgrade read validate plan upgrade plan upgrade apply]")
}

var nested = &tfprotov6.Schema{Block: &tfprotov6.SchemaBlock{Attributes: []*tfprotov6.SchemaAttribute{
	{Name: "one", Optional: true, NestedType: &tfprotov6.SchemaObject{
		Nesting:    tfprotov6.SchemaObjectNestingModeSingle,
		Attributes: []*tfprotov6.SchemaAttribute{{Name: "a", Type: tftypes.String, Optional: true}, {Name: "b", Type: tftypes.String, Optional: true, Computed: true}},
	}},
	{Name: "list", Type: tftypes.List{ElementType: tftypes.String}, Optional: true, Computed: true},
	{Name: "set", Type: tftypes.Set{ElementType: tftypes.String}, Optional: true},
}}}

func nestedValue(t *testing.T, values any) tftypes.Value {
	t.Helper()
	v, err := build(nested.ValueType(), values, nil)
	must.Succeed(t, err)
	return v
}

func TestProposed(t *testing.T) {
	ab, a, a2 := Values{"a": "1", "b": "2"}, Values{"a": "3"}, Values{"a": "3", "b": "2"}
	for name, test := range map[string][3]any{ // prior, configuration, proposal
		"nothing before":      {nil, Values{"one": a}, Values{"one": a}},
		"computed parts stay": {Values{"one": ab, "list": []any{"x"}}, Values{"one": a}, Values{"one": a2, "list": []any{"x"}}},
		"others do not":       {Values{"one": ab, "set": []any{"x"}}, Values{}, Values{}},
		"the unknown":         {Values{"one": ab}, Values{"one": Unknown{}, "list": Unknown{}}, Values{"one": Unknown{}, "list": Unknown{}}},
	} {
		if got, want := proposed(nested.Block.Attributes, nestedValue(t, test[0]), nestedValue(t, test[1])), nestedValue(t, test[2]); !got.Equal(want) {
			t.Errorf("%s:\n got %s\nwant %s", name, got, want)
		}
	}
}

func TestResultsAreChecked(t *testing.T) {
	for name, test := range map[string]struct {
		plan, result any
		problem      string
	}{
		"the unknown becomes known": {Values{"one": Values{"b": Unknown{}}, "list": Unknown{}, "set": []any{Unknown{}}}, Values{"one": Values{"b": "1"}, "list": []any{"x"}, "set": []any{"y"}}, ""},
		"another order of a set":    {Values{"set": []any{"x", "y"}}, Values{"set": []any{"y", "x"}}, ""},
		"another value":             {Values{"one": Values{"b": "2"}}, Values{"one": Values{}}, `.one.b was planned as tftypes.String<"2">, and is tftypes.String<null>`},
		"more":                      {Values{"list": []any{Unknown{}}}, Values{"list": []any{"x", "y"}}, `.list was planned as tftypes.List[tftypes.String]<unknown>, and is tftypes.List[tftypes.String]<tftypes.String<"x">, tftypes.String<"y">>`},
	} {
		if got := incompatible(nestedValue(t, test.plan), nestedValue(t, test.result), ""); (got == "") != (test.problem == "") || name == "another value" && got != test.problem {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestPlansAreChecked(t *testing.T) {
	ab, a := Values{"a": "1", "b": "2"}, Values{"a": "1"}
	for name, test := range map[string]struct {
		prior, config, plan any
		problem             string
	}{
		"what is computed":           {nil, Values{"one": a}, Values{"one": ab, "list": Unknown{}}, ""},
		"what was before":            {Values{"set": []any{"x"}}, Values{"set": []any{"y"}}, Values{"set": []any{"x"}}, ""},
		"neither":                    {Values{"one": ab}, Values{"one": a}, Values{"one": Values{"a": "3"}}, `.one.a is configured as tftypes.String<"1">, and planned as tftypes.String<"3">`},
		"known where it is not":      {nil, Values{"set": Unknown{}}, Values{"set": []any{}}, `.set is configured as tftypes.Set[tftypes.String]<unknown>, and planned as tftypes.Set[tftypes.String]<>`},
		"set where nobody computes":  {nil, Values{}, Values{"set": []any{}}, `.set is configured as tftypes.Set[tftypes.String]<null>, and planned as tftypes.Set[tftypes.String]<>`},
		"what was before, withdrawn": {Values{"set": []any{"x"}}, Values{}, Values{"set": []any{"x"}}, `.set is configured as tftypes.Set[tftypes.String]<null>, and planned as tftypes.Set[tftypes.String]<tftypes.String<"x">>`},
	} {
		got := unasked(nested.Block.Attributes, nestedValue(t, test.prior), nestedValue(t, test.config), nestedValue(t, test.plan), "")
		want(t, name, got, test.problem)
	}
}
