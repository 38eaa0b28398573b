// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package driver

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// noted is a resource whose calls are noted.
type noted struct {
	*thing
	typ, call string
	schema    map[string]schema.Attribute
	name      func(context.Context, tfsdk.State) string
	finish    func(context.Context, *tfsdk.State)
}

func (n *noted) Metadata(_ context.Context, _ resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = n.typ
}

func (n *noted) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = schema.Schema{Attributes: n.schema}
}

func (n *noted) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if n.typ == "x_set" && !req.Plan.Raw.IsNull() {
		planSet(ctx, req, resp)
	}
}

func (n *noted) Read(context.Context, resource.ReadRequest, *resource.ReadResponse) {}

func (n *noted) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	resp.State.Raw = req.Plan.Raw
	n.finish(ctx, &resp.State)
	if err := n.w.call("+"+n.call, n.name(ctx, resp.State)); err != nil {
		resp.State.RemoveResource(ctx)
		resp.Diagnostics.AddError(err.Error(), "")
	}
}

func (n *noted) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	resp.State.Raw = req.Plan.Raw
	n.finish(ctx, &resp.State)
	_ = n.w.call(n.call, n.name(ctx, resp.State))
}

func (n *noted) Delete(ctx context.Context, req resource.DeleteRequest, _ *resource.DeleteResponse) {
	_ = n.w.call("-"+n.call, n.name(ctx, req.State))
}

var (
	configTypes = map[string]attr.Type{"id": types.StringType, "name": types.StringType}
	nodeType    = types.ObjectType{AttrTypes: map[string]attr.Type{"id": types.StringType, "name": types.StringType, "environment": types.MapType{ElemType: types.StringType}}}
)

// newSet is a resource before the machines. members are revisions by name. Another revision
// makes a new node, whose ID and environment are known after apply.
func newSet(t *thing) resource.Resource {
	return &noted{
		thing: t, typ: "x_set", call: "C", name: func(context.Context, tfsdk.State) string { return "" },
		schema: map[string]schema.Attribute{
			"members": schema.MapAttribute{ElementType: types.StringType, Required: true},
			"node":    schema.MapAttribute{ElementType: nodeType, Computed: true},
		},
		finish: func(ctx context.Context, s *tfsdk.State) {
			var members map[string]string
			s.GetAttribute(ctx, path.Root("members"), &members)
			nodes := map[string]attr.Value{}
			for name, revision := range members {
				id := types.StringValue(name + revision)
				nodes[name] = types.ObjectValueMust(nodeType.AttrTypes, map[string]attr.Value{"id": id, "name": types.StringValue(name), "environment": types.MapValueMust(types.StringType, map[string]attr.Value{"ID": id})})
			}
			s.SetAttribute(ctx, path.Root("node"), types.MapValueMust(nodeType, nodes))
		},
	}
}

func planSet(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	var now, was map[string]string
	var node types.Map
	req.Plan.GetAttribute(ctx, path.Root("members"), &now)
	if !req.State.Raw.IsNull() {
		req.State.GetAttribute(ctx, path.Root("members"), &was)
		req.State.GetAttribute(ctx, path.Root("node"), &node)
	}
	nodes := map[string]attr.Value{}
	for name, revision := range now {
		if nodes[name] = node.Elements()[name]; was[name] != revision {
			nodes[name] = types.ObjectValueMust(nodeType.AttrTypes, map[string]attr.Value{"id": types.StringUnknown(), "name": types.StringValue(name), "environment": types.MapUnknown(types.StringType)})
		}
	}
	resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root("node"), types.MapValueMust(nodeType, nodes))...)
}

// newMember is a resource after its machine. It follows its machine.
func newMember(t *thing) resource.Resource {
	follows := []planmodifier.String{stringplanmodifier.RequiresReplace()}
	return &noted{
		thing: t, typ: "x_member", call: "m", finish: func(context.Context, *tfsdk.State) {},
		name: func(ctx context.Context, s tfsdk.State) (name string) {
			s.GetAttribute(ctx, path.Root("config").AtName("name"), &name)
			return name
		},
		schema: map[string]schema.Attribute{
			"config":     schema.ObjectAttribute{AttributeTypes: configTypes, Required: true},
			"machine_id": schema.StringAttribute{Required: true, PlanModifiers: follows},
		},
	}
}

// notedCloud has machines whose calls are noted.
type notedCloud struct {
	cloud
	w *world
	n int
}

func (c *notedCloud) Create(_ context.Context, values map[string]string) (string, error) {
	c.n++
	id := fmt.Sprint(values["name"], "-", c.n)
	c.machines[id] = values
	return id, c.w.call("+M", values["name"])
}

func (c *notedCloud) Destroy(_ context.Context, id string) error {
	name, _, _ := strings.Cut(id, "-")
	delete(c.machines, id)
	return c.w.call("-M", name)
}

// layers are a set, and a machine and a member for each node.
func layers(members Values) []Resource {
	out := []Resource{{Type: "x_set", Name: "this", Values: Values{"members": members}}}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		node := "node." + name
		out = append(out,
			Resource{Type: "machine", Name: "m[" + name + "]", Values: Values{"name": name, "user_data": JSON{"x_set.this", node + ".environment"}}},
			Resource{Type: "x_member", Name: "m[" + name + "]", Values: Values{"config": Ref{"x_set.this", node}, "machine_id": Ref{"machine.m[" + name + "]", "id"}}})
	}
	return out
}

// The orders that real CLIs show for one resource before the machines and one member
// after each. Within a step, the order is open.
func TestLayers(t *testing.T) {
	first := func(typ string) func(*Workspace, *notedCloud) {
		return func(s *Workspace, _ *notedCloud) {
			s.Resources = layers(Values{"a": "1", "b": "2", "c": "1"})
			for i := range s.Resources {
				s.Resources[i].CreateBeforeDestroy = s.Resources[i].Type == typ
			}
		}
	}
	plan := func(members Values) func(*Workspace, *notedCloud) {
		return func(s *Workspace, _ *notedCloud) { s.Resources = layers(members) }
	}
	nothing := func(*Workspace, *notedCloud) {}
	for name, test := range map[string]struct {
		change func(*Workspace, *notedCloud)
		want   string
		opts   []Option
	}{
		"grow":               {plan(Values{"a": "1", "b": "1", "c": "1", "d": "1", "e": "1"}), "C | +M d, +M e | +m d, +m e", nil},
		"remove":             {plan(Values{"a": "1", "c": "1"}), "-m b | -M b | C", nil},
		"roll":               {plan(Values{"a": "1", "b": "2", "c": "1"}), "-m b | -M b | C | +M b | +m b", nil},
		"rebuild and grow":   {plan(Values{"a": "1", "b": "2", "c": "1", "d": "1"}), "-m b | -M b | C | +M b, +M d | +m b, +m d", nil},
		"remove and rebuild": {plan(Values{"a": "1", "b": "2"}), "-m b, -m c | -M b, -M c | C | +M b | +m b", nil},
		"all":                {plan(Values{"a": "2", "b": "2", "c": "2"}), "-m a, -m b, -m c | -M a, -M b, -M c | C | +M a, +M b, +M c | +m a, +m b, +m c", nil},
		"-replace":           {nothing, "-m b | -M b | +M b | +m b", []Option{Replace("machine.m[b]")}},
		"the machine is gone": {func(_ *Workspace, c *notedCloud) {
			maps.DeleteFunc(c.machines, func(id string, _ map[string]string) bool { return id[0] == 'b' })
		}, "-m b | +M b | +m b", nil},
		"taint":                          {func(s *Workspace, _ *notedCloud) { s.Taint("machine.m[b]") }, "-m b | -M b | +M b | +m b", nil},
		"create_before_destroy, machine": {first("machine"), "-m b | C | +M b | +m b | -M b", nil},
		"create_before_destroy, member":  {first("x_member"), "C | +M b | +m b | -m b | -M b", nil},
		"destroy":                        {nothing, "-m a, -m b, -m c | -M a, -M b, -M c | -C ", []Option{Destroy}},
		"-target of another member":      {plan(Values{"a": "1", "b": "2", "c": "1"}), "-M b | C | +M b", []Option{Target("x_member.m[c]")}},
		"-target of the set":             {plan(Values{"a": "1", "b": "2", "c": "1"}), "C", []Option{Target("x_set.this")}},
		"-target of what is removed":     {plan(Values{"a": "1", "b": "1"}), "-m c | -M c | C", []Option{Target("x_member.m[c]")}},
		"-target of a block":             {plan(Values{"a": "1", "b": "1"}), "-m c | -M c | C", []Option{Target("x_member.m")}},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{fail: map[string]string{}}
			s, c := New(t, nil, layers(Values{"a": "1", "b": "1", "c": "1"})...), &notedCloud{cloud{map[string]map[string]string{}}, w, 0}
			s.Machines, s.Parallelism = c, 1
			up(t, w, s)
			want(t, "create", steps(w.took()), "+C | +M a, +M b, +M c | +m a, +m b, +m c")
			test.change(s, c)
			up(t, w, s, test.opts...)
			want(t, "calls", steps(w.took()), strings.TrimSpace(test.want))
			if name == "destroy" {
				s.Resources = nil
			}
			up(t, w, s)
			w.took()
			want(t, "actions of another plan", up(t, w, s), "")
			for _, m := range c.machines {
				want(t, "user data", m["user_data"], fmt.Sprintf(`{"ID":%q}`, s.text("x_set.this", "node", m["name"], "id")))
			}
		})
	}
}

// steps puts neighbouring calls of one kind into one step, and sorts them.
func steps(calls string) string {
	var out [][]string
	for _, call := range strings.Split(calls, ", ") {
		call = strings.TrimSpace(call)
		kind, _, _ := strings.Cut(call, " ")
		if last := len(out) - 1; last >= 0 && strings.HasPrefix(out[last][0], kind+" ") {
			out[last] = append(out[last], call)
		} else {
			out = append(out, []string{call})
		}
	}
	var text []string
	for _, step := range out {
		slices.Sort(step)
		text = append(text, strings.Join(step, ", "))
	}
	return strings.Join(text, " | ")
}

// What create_before_destroy leaves after a failure is in the state, and the next apply
// destroys it.
func TestDeposed(t *testing.T) {
	w, s := two(t)
	s.Resources = s.Resources[1:]
	s.Resources[0].CreateBeforeDestroy = true
	up(t, w, s)
	s.Resources[0].Values = Values{"name": "a2"}
	w.fail["create a2"] = "no a2"
	_, r := s.Up(t.Context(), w.start)
	want(t, "errors", r.Err(), "x_thing.a: no a2")
	want(t, "state", s.Addresses(), "[x_thing.a x_thing.c]")
	want(t, "name", s.text("x_thing.a", "name"), "a1")

	w.fail = map[string]string{"delete a1": "no end"}
	_, r = s.Up(t.Context(), w.start)
	want(t, "errors", r.Err(), "x_thing.a (deposed): no end")
	want(t, "state", s.Addresses(), "[x_thing.a x_thing.a (deposed) x_thing.c]")
	w.fail, w.calls = nil, nil
	want(t, "actions", up(t, w, s), "delete x_thing.a (deposed)")
	want(t, "state", s.Addresses(), "[x_thing.a x_thing.c]")
	want(t, "name", s.text("x_thing.a", "name"), "a2")
}

func TestReplacedBy(t *testing.T) {
	for by, actions := range map[Ref]string{
		{"x_thing.a", ""}:     "replace x_thing.b, update x_thing.a",
		{"x_thing.a", "text"}: "replace x_thing.b, update x_thing.a",
		{"x_thing.a", "name"}: "update x_thing.a",
		{"x_thing.c", ""}:     "update x_thing.a",
	} {
		w, s := two(t)
		s.Resources[0].ReplacedBy = []Ref{by}
		up(t, w, s)
		s.Refresh(t.Context(), w.start)
		s.Resources[1].Values = Values{"name": "a1", "text": "new"}
		want(t, fmt.Sprint(by), up(t, w, s), actions)
	}
}

// Core upgrades all that it reads of the state.
func TestUpgrade(t *testing.T) {
	for _, opts := range [][]Option{{NoRefresh}, nil} {
		w, s := two(t)
		up(t, w, s)
		s.Taint("x_thing.a")
		s.Taint("x_thing.b")
		s.Untaint("x_thing.b")
		var upgrades []string
		w.before = func(_ context.Context, call string) error {
			if strings.HasPrefix(call, "upgrade") {
				upgrades = append(upgrades, call)
			}
			return nil
		}
		s.Parallelism = 1
		plan, r := s.Plan(t.Context(), w.start, opts...)
		want(t, "errors", r.Err(), "<nil>")
		want(t, "actions", plan.Actions(), "[replace x_thing.a update x_thing.b]")
		want(t, "upgrades", upgrades, "[upgrade x_thing.a upgrade x_thing.b upgrade x_thing.c]")
	}
}

// An ordinary plan, which a provider may refuse, comes before a destruction.
func TestDestroy(t *testing.T) {
	w, s := two(t)
	s.Resources = s.Resources[1:2]
	up(t, w, s)
	var calls []string
	refused := errors.New("refused")
	w.before = func(_ context.Context, what string) error {
		method, _, _ := strings.Cut(what, " ")
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
