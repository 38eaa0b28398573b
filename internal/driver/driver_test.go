// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package driver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

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
	calls  []string
	fail   map[string]string // an error, by what is called
	lie    string            // planned text that the apply does not keep
	before func(context.Context, string) error
}

func (w *world) call(what, name string, private ...byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls = append(w.calls, what+" "+name+string(private))
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
	one := &thing{t.w}
	return []func() resource.Resource{
		func() resource.Resource { return one }, func() resource.Resource { return newSet(one) }, func() resource.Resource { return newMember(one) },
	}
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
	if err := t.w.call("delete", m.Name.ValueString(), plans...); err != nil {
		resp.Diagnostics.AddError(err.Error(), "")
	}
}

func (*thing) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	resource.ImportStatePassthroughID(ctx, path.Root("name"), req, resp)
}

func newThing(name string, values Values) Resource {
	return Resource{Type: "x_thing", Name: name, Values: values}
}

// two are a, and b, which depends on it. c is alone.
func two(t testing.TB) (*world, *Workspace) {
	return &world{fail: map[string]string{}}, New(t, nil,
		newThing("b", Values{"name": "b1", "text": Ref{"x_thing.a", "id"}}),
		newThing("a", Values{"name": "a1"}),
		newThing("c", Values{"name": "c1"}))
}

func up(t *testing.T, w *world, s *Workspace, opts ...Option) string {
	t.Helper()
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

func (w *Workspace) text(address string, attribute ...string) string {
	if w.State(address) == nil {
		return "nothing"
	}
	return Attribute(w.State(address).Value, attribute...)
}

func TestLife(t *testing.T) {
	w, s := two(t)
	s.Parallelism = 1
	plan, r := s.Plan(t.Context(), w.start)
	want(t, "actions", plan.Actions(), "[create x_thing.a create x_thing.b create x_thing.c]")
	want(t, "text", Attribute(plan.Change("x_thing.b").After, "text"), "(unknown)")
	want(t, "apply", s.Apply(t.Context(), w.start, plan), "{[]}")
	want(t, "text", s.text("x_thing.b", "text"), "id-of-a1")
	want(t, "calls", w.took(), "create a1, start a1, create b1, start b1, create c1, start c1")
	want(t, "the plan again", s.Apply(t.Context(), w.start, plan), "{[provider: Saved plan is stale]}")

	want(t, "actions", up(t, w, s), "")
	want(t, "calls", w.took(), "read a1, read b1, read c1")
	want(t, "actions", up(t, w, s, NoRefresh), "")
	want(t, "calls", w.took(), "")

	// The private data of a plan reaches its apply, and the next plan.
	for _, text := range []any{"new", nil} {
		s.Resources[1].Values = Values{"name": "a1", "text": text}
		want(t, "actions", up(t, w, s), "update x_thing.a")
	}
	want(t, "seen", s.text("x_thing.a", "seen"), `updated after "uu"`)
	w.took()
	want(t, "actions", up(t, w, s, Destroy), "delete x_thing.a, delete x_thing.b, delete x_thing.c")
	want(t, "calls", w.took(), `read a1, read b1, read c1, delete b1"d", delete a1"uud", delete c1"d"`)
	want(t, "state", s.Addresses(), "[]")
	want(t, "errors", r.Err(), "<nil>")
}

// The order of what a change does, after the creation of everything.
func TestOrder(t *testing.T) {
	another := func(s *Workspace) { s.Resources[1].Values = Values{"name": "a2"} }
	for name, test := range map[string]struct {
		change func(*Workspace)
		opts   []Option
		want   string
	}{
		"a dependency is replaced": {another, nil, `delete a1"uc", create a2, start a2, update b1`},
		"both are": {func(s *Workspace) {
			another(s)
			s.Resources[0].Values = Values{"name": "b2", "text": Ref{"x_thing.a", "id"}}
		}, nil, `delete b1"uc", delete a1"uc", create a2, start a2, create b2, start b2`},
		"on request": {func(*Workspace) {}, []Option{Replace("x_thing.a")}, `delete a1"uc", create a1, start a1`},
		"a dependency is removed": {func(s *Workspace) {
			s.Resources = s.Resources[:1:1]
			s.Resources[0].Values = Values{"name": "b1"}
		}, nil, `delete a1"d", update b1, delete c1"d"`},
		"both are removed":       {func(s *Workspace) { s.Resources = s.Resources[2:] }, nil, `delete b1"d", delete a1"d"`},
		"a dependent is removed": {func(s *Workspace) { another(s); s.Resources = s.Resources[1:] }, nil, `delete b1"d", delete a1"uc", create a2, start a2`},
		"it is tainted":          {func(s *Workspace) { s.Taint("x_thing.c") }, nil, `delete c1"c", create c1, start c1`},
		"it is forgotten":        {func(s *Workspace) { s.Forget("x_thing.c") }, nil, "create c1, start c1"},
		"another instance of the block": {func(s *Workspace) {
			s.Resources = []Resource{newThing("b", Values{"name": "b1", "text": Ref{`x_thing.m["x"]`, "name"}}), newThing(`m["x"]`, Values{"name": "x"}), newThing(`m["y"]`, Values{"name": "y"})}
			s.Resources[0].After = []string{"x_thing.m"}
			s.Forget("x_thing.a")
			s.Forget("x_thing.c")
		}, nil, "create x, start x, create y, start y, update b1"},
	} {
		t.Run(name, func(t *testing.T) {
			w, s := two(t)
			s.Parallelism = 1
			up(t, w, s)
			s.Refresh(t.Context(), w.start)
			w.took()
			test.change(s)
			up(t, w, s, append(test.opts, NoRefresh)...)
			want(t, "calls", w.took(), test.want)
			want(t, "actions of another plan", up(t, w, s), "")
		})
	}
}

// A failure skips what depends on it, and nothing else.
func TestFailure(t *testing.T) {
	w, s := two(t)
	w.fail["create a1"] = "no a"
	_, r := s.Up(t.Context(), w.start)
	want(t, "errors", r.Err(), "x_thing.a: no a")
	want(t, "state", s.Addresses(), "[x_thing.c]")

	// What was created in part is tainted.
	w.fail = map[string]string{"start a1": "no start"}
	_, r = s.Up(t.Context(), w.start)
	want(t, "errors", r.Err(), "x_thing.a: no start")
	w.fail = map[string]string{}
	want(t, "actions", up(t, w, s), "create x_thing.b, replace x_thing.a")

	// What was not destroyed stays.
	w.fail["delete c1"] = "no delete"
	s.Resources[2].Values = Values{"name": "c2"}
	_, r = s.Up(t.Context(), w.start)
	want(t, "errors", r.Err(), "x_thing.c: no delete")
	want(t, "name", s.text("x_thing.c", "name"), "c1")

	// What a refresh does not find is created.
	w.fail = map[string]string{"read c1": "gone"}
	want(t, "refresh", s.Refresh(t.Context(), w.start), "{[]}")
	want(t, "state", s.Addresses(), "[x_thing.a x_thing.b]")
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
	w, s := two(found)
	w.lie = "not planned"
	_, r := s.Up(t.Context(), w.start)
	want(t, "findings", slices.Sorted(slices.Values(found.found)), `[x_thing.a: Provider produced inconsistent result after apply: .text was planned as tftypes.String<null>, and is tftypes.String<"not planned"> `+
		`x_thing.c: Provider produced inconsistent result after apply: .text was planned as tftypes.String<null>, and is tftypes.String<"not planned">]`)
	want(t, "errors", strings.Count(fmt.Sprint(r.Err()), "x_thing"), "2")
	want(t, "tainted", s.State("x_thing.a").Tainted, "true")
}

// A process that is killed at any call leaves what was written before, and another
// one finishes the work.
func TestKill(t *testing.T) {
	for at := int32(1); killedAt(t, at); at++ {
	}
}

// killedAt kills a process at a call. It returns false if there are fewer.
func killedAt(t *testing.T, at int32) (killed bool) {
	errKilled := errors.New("killed")
	synctest.Test(t, func(t *testing.T) {
		w, s := two(t)
		ctx, kill := context.WithCancelCause(t.Context())
		defer kill(nil)
		var calls atomic.Int32
		w.before = func(context.Context, string) error {
			time.Sleep(time.Second)
			if calls.Add(1) == at {
				kill(errKilled)
			}
			return nil
		}
		_, r := s.Up(ctx, w.start)
		killed = calls.Load() >= at
		if killed && !errors.Is(r.Err(), errKilled) {
			t.Errorf("killed at call %d: %v", at, r.Err())
		}
		if made := strings.Count(w.took(), "start"); made < len(s.Addresses()) {
			t.Errorf("killed at call %d: %d were made, the state has %v", at, made, s.Addresses())
		}
		w.before = nil
		up(t, w, s)
		want(t, "state", s.Addresses(), "[x_thing.a x_thing.b x_thing.c]")
	})
	return killed
}

// cloud has machines.
type cloud struct{ machines map[string]map[string]string }

func (c *cloud) Create(_ context.Context, values map[string]string) (string, error) {
	if values["image"] == "bad" {
		return "", errors.New("no such image")
	}
	c.machines["of-"+values["name"]] = values
	return "of-" + values["name"], nil
}

func (c *cloud) Destroy(_ context.Context, id string) error {
	delete(c.machines, id)
	return nil
}

func (c *cloud) Exists(_ context.Context, id string) bool { return c.machines[id] != nil }

func TestMachine(t *testing.T) {
	w, c := &world{}, &cloud{map[string]map[string]string{}}
	s := New(t, nil,
		newThing("a", Values{"name": "a", "text": Ref{"machine.a", "id"}}),
		Resource{Type: "machine", Name: "a", Values: Values{"name": "m", "user_data": "u"}})
	s.Machines = c
	up(t, w, s)
	want(t, "machines", c.machines, `map[of-m:map[name:m user_data:u]]`)
	want(t, "text", s.text("x_thing.a", "text"), "of-m")
	other := s.Clone()
	other.Resources[1].Values = Values{"name": "m", "image": "other"}
	want(t, "actions", up(t, w, other), "replace machine.a, update x_thing.a")
	want(t, "machines", c.machines, "map[of-m:map[image:other name:m]]")
	want(t, "the clone's original", s.text("machine.a", "image"), "")
	clear(c.machines)
	other.Taint("machine.a") // a refresh finds that it is gone
	want(t, "actions", up(t, w, other), "create machine.a, update x_thing.a")
}

func TestImport(t *testing.T) {
	w, s := two(t)
	want(t, "import", s.Import(t.Context(), w.start, "x_thing.a", "a1"), "{[]}")
	want(t, "again", s.Import(t.Context(), w.start, "x_thing.a", "a1").Err(), "x_thing.a: it is in the state")
	w.fail["read b1"] = "gone"
	want(t, "none", s.Import(t.Context(), w.start, "x_thing.b", "b1"), "{[x_thing.b: cannot import non-existent remote object]}")
	want(t, "state", s.Addresses(), "[x_thing.a]")
}

// A configuration that is wrong makes no call.
func TestConfiguration(t *testing.T) {
	for want, resources := range map[string][]Resource{
		"a cycle":                   {newThing("a", Values{"name": Ref{"x_thing.b", "id"}}), newThing("b", Values{"name": Ref{"x_thing.a", "id"}})},
		"x_thing.b has no value":    {newThing("a", Values{"name": Ref{"x_thing.b", "id"}})},
		"x_set.s has no node.b":     {{Type: "x_set", Name: "s", Values: Values{"members": Values{"a": "1"}}}, newThing("a", Values{"name": Ref{"x_set.s", "node.b.id"}})},
		"not a tftypes.Object":      {{Type: "x_set", Name: "s", Values: Values{"members": Values{"a": "1"}}}, {Type: "x_member", Name: "m", Values: Values{"config": Ref{"x_set.s", "node"}, "machine_id": "m"}}},
		"unsupported argument nome": {newThing("a", Values{"nome": "a"})},
		"no resource type":          {{Type: "y", Name: "a"}},
		"Missing Configuration":     {newThing("a", nil)},
	} {
		w := &world{}
		if _, r := New(t, nil, resources...).Plan(t.Context(), w.start); r.Err() == nil || !strings.Contains(r.Err().Error(), want) || w.took() != "" {
			t.Errorf("%s: %v", want, r.Err())
		}
	}
}
