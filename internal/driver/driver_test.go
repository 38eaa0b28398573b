// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package driver

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	providerschema "github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// world holds the things that the provider of the tests makes.
type world struct {
	mu     sync.Mutex
	things map[string]string // text by id
	calls  []string
	fail   map[string]string // an error, by what is called
	lie    string            // planned text that the apply does not keep
	before func(context.Context, string) error
}

func (w *world) call(what, name string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls = append(w.calls, what+" "+name)
	if text := w.fail[what+" "+name]; text != "" {
		return errors.New(text)
	}
	return nil
}

// took returns the calls since the last time.
func (w *world) took() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer func() { w.calls = nil }()
	return strings.Join(w.calls, ", ")
}

func (w *world) start(context.Context) (*Run, error) {
	return &Run{Server: providerserver.NewProtocol6(&things{w})(), Context: func(ctx context.Context, resource, method string) (context.Context, error) {
		if w.before != nil {
			return ctx, w.before(ctx, method+" "+resource)
		}
		return ctx, nil
	}}, nil
}

type things struct{ w *world }

func (*things) Metadata(_ context.Context, _ provider.MetadataRequest, resp *provider.MetadataResponse) {
	resp.TypeName = "x"
}
func (*things) Schema(_ context.Context, _ provider.SchemaRequest, resp *provider.SchemaResponse) {
	resp.Schema = providerschema.Schema{}
}
func (*things) Configure(context.Context, provider.ConfigureRequest, *provider.ConfigureResponse) {}
func (*things) DataSources(context.Context) []func() datasource.DataSource                        { return nil }
func (t *things) Resources(context.Context) []func() resource.Resource {
	return []func() resource.Resource{func() resource.Resource { return &thing{t.w} }}
}

// thing is a resource: name replaces it, text is updated in place, and private data
// has the number of its plans.
type thing struct{ w *world }

type model struct {
	ID   types.String `tfsdk:"id"`
	Name types.String `tfsdk:"name"`
	Text types.String `tfsdk:"text"`
	Seen types.String `tfsdk:"seen"`
}

func (*thing) Metadata(_ context.Context, _ resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = "x_thing"
}

func (*thing) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = schema.Schema{Attributes: map[string]schema.Attribute{
		"id":   schema.StringAttribute{Computed: true, PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown()}},
		"name": schema.StringAttribute{Required: true, PlanModifiers: []planmodifier.String{stringplanmodifier.RequiresReplace()}},
		"text": schema.StringAttribute{Optional: true},
		"seen": schema.StringAttribute{Computed: true},
	}}
}

// ModifyPlan notes in private data what it was called with.
func (*thing) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	was, _ := req.Private.GetKey(ctx, "plans")
	now := strings.Trim(string(was), `"`)
	switch {
	case req.Plan.Raw.IsNull():
		now += "d"
	case req.State.Raw.IsNull():
		now += "c"
	default:
		now += "u"
	}
	resp.Diagnostics.Append(resp.Private.SetKey(ctx, "plans", fmt.Appendf(nil, "%q", now))...)
}

func (t *thing) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var m model
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	m.ID, m.Seen = types.StringValue("id-of-"+m.Name.ValueString()), types.StringValue("created")
	if err := t.w.call("create", m.Name.ValueString()); err != nil {
		resp.Diagnostics.AddError(err.Error(), "")
		return
	}
	if t.w.lie != "" {
		m.Text = types.StringValue(t.w.lie)
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, m)...)
	if err := t.w.call("start", m.Name.ValueString()); err != nil {
		resp.Diagnostics.AddError(err.Error(), "")
	}
}

func (t *thing) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var m model
	resp.Diagnostics.Append(req.State.Get(ctx, &m)...)
	if t.w.call("read", m.Name.ValueString()) != nil {
		resp.State.RemoveResource(ctx)
	}
}

func (t *thing) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var m model
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	plans, _ := req.Private.GetKey(ctx, "plans")
	m.Seen = types.StringValue("updated after " + string(plans))
	if err := t.w.call("update", m.Name.ValueString()); err != nil {
		resp.Diagnostics.AddError(err.Error(), "")
		return
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, m)...)
}

func (t *thing) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	var m model
	resp.Diagnostics.Append(req.State.Get(ctx, &m)...)
	plans, _ := req.Private.GetKey(ctx, "plans")
	if err := t.w.call("delete", m.Name.ValueString()+string(plans)); err != nil {
		resp.Diagnostics.AddError(err.Error(), "")
	}
}

func (*thing) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	resource.ImportStatePassthroughID(ctx, path.Root("name"), req, resp)
}

func newThing(name string, values Values) Resource {
	return Resource{Type: "x_thing", Name: name, Values: values}
}

// two are b, which depends on a.
func two(t testing.TB) (*world, *Workspace) {
	return &world{}, New(t, nil,
		newThing("b", Values{"name": "b1", "text": Ref{"x_thing.a", "id"}}),
		newThing("a", Values{"name": "a1"}))
}

func up(t *testing.T, w *world, s *Workspace, opts ...Option) *Plan {
	t.Helper()
	plan, r := s.Up(t.Context(), w.start, opts...)
	if len(r.Diagnostics) > 0 {
		t.Fatal(r.Diagnostics)
	}
	return plan
}

func want(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s:\n got %s\nwant %s", what, got, want)
	}
}

func TestLife(t *testing.T) {
	w, s := two(t)
	plan := up(t, w, s)
	want(t, "actions", strings.Join(plan.Actions(), ", "), "create x_thing.a, create x_thing.b")
	want(t, "text", Attribute(plan.Change("x_thing.b").After, "text"), "(unknown)")
	want(t, "text", Attribute(s.State("x_thing.b").Value, "text"), "id-of-a1")
	want(t, "calls", w.took(), "create a1, start a1, create b1, start b1")

	want(t, "actions", strings.Join(up(t, w, s).Actions(), ", "), "")
	want(t, "calls", w.took(), "read a1, read b1")

	// The private data of an update reaches its apply, and the next plan.
	s.Resources[1].Values = Values{"name": "a1", "text": "new"}
	want(t, "actions", strings.Join(up(t, w, s).Actions(), ", "), "update x_thing.a")
	s.Resources[1].Values = Values{"name": "a1"}
	up(t, w, s)
	want(t, "seen", Attribute(s.State("x_thing.a").Value, "seen"), `updated after "uu"`)
	w.took()

	want(t, "actions", strings.Join(up(t, w, s, Destroy).Actions(), ", "), "delete x_thing.a, delete x_thing.b")
	want(t, "calls", w.took(), `read a1, read b1, delete b1"d", delete a1"uud"`)
	want(t, "state", strings.Join(s.Addresses(), ", "), "")
}
