// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package driver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/must"
)

// That the driver plans and does what the CLIs do is proven by TestCLIsAgree in
// internal/test/simulated. The tests here are of what its sequences do not reach.

// world is a provider of the resource thing, and notes what is asked of it. A thing has the
// schema of a machine: another image replaces it, another name updates it in place.
type world struct {
	tfprotov6.ProviderServer
	calls []string
	fail  map[string]string // an error, by what is called
	lie   string            // a name that was not planned
	asked func(method string) error
}

func (w *world) call(what string) error {
	w.calls = append(w.calls, what)
	if text := w.fail[what]; text != "" {
		return errors.New(text)
	}
	return nil
}

func (w *world) start(context.Context) (*Run, error) {
	return &Run{Server: w, Context: func(ctx context.Context, _, method string) (context.Context, error) {
		return ctx, w.asked(method)
	}}, nil
}

// Create, Destroy and Exists implement [Machines].
func (w *world) Create(_ context.Context, values map[string]string) (string, error) {
	return values["image"], w.call("create " + values["image"])
}
func (w *world) Destroy(_ context.Context, id string) error { return w.call("delete " + id) }
func (w *world) Exists(context.Context, string) bool        { return true }

func (w *world) Values(context.Context, string) map[string]string { return nil }

func (w *world) GetProviderSchema(context.Context, *tfprotov6.GetProviderSchemaRequest) (*tfprotov6.GetProviderSchemaResponse, error) {
	return &tfprotov6.GetProviderSchemaResponse{
		Provider: &tfprotov6.Schema{Block: &tfprotov6.SchemaBlock{}}, ResourceSchemas: map[string]*tfprotov6.Schema{"thing": machineSchema},
	}, nil
}

func (w *world) ApplyResourceChange(ctx context.Context, req *tfprotov6.ApplyResourceChangeRequest) (*tfprotov6.ApplyResourceChangeResponse, error) {
	prior, planned := machine(req.PriorState), machine(req.PlannedState)
	if !prior.IsNull() && !planned.IsNull() {
		_ = w.call("update " + Attribute(planned, "image"))
	}
	resp, err := w.ProviderServer.ApplyResourceChange(ctx, req)
	if made := parts(machine(resp.NewState)); w.lie != "" && len(made) > 0 {
		made["name"] = tftypes.NewValue(tftypes.String, w.lie)
		resp.NewState = dynamic(join(planned.Type(), made))
	}
	if text := w.fail["start "+Attribute(planned, "image")]; text != "" {
		resp.Diagnostics = []*tfprotov6.Diagnostic{{Severity: tfprotov6.DiagnosticSeverityError, Summary: text}}
	}
	return resp, err
}

// three are a, and b, which depends on it. c is alone.
func three(t testing.TB) (*world, *Workspace) {
	s := New(t, nil, newThing("b", "b1", Ref{"thing.a", "id"}), newThing("a", "a1", nil), newThing("c", "c1", nil))
	s.Parallelism = 1
	w := &world{asked: func(string) error { return nil }}
	w.ProviderServer = MachineProvider(w)
	return w, s
}

func newThing(address, name string, text any) Resource {
	return Resource{Type: "thing", Name: address, Values: Values{"image": name, "name": text}}
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
		"an update":      {"a1", "b1", -1, Ref{"thing.a", ""}, "delete b1, update a1, create b1"},
		"its name":       {"a1", "b1", -1, Ref{"thing.a", "name"}, "delete b1, update a1, create b1"},
		"its image":      {"a1", "b1", -1, Ref{"thing.a", "image"}, "update a1"},
		"another":        {"a1", "b1", -1, Ref{"thing.c", ""}, "update a1"},
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
			s.Resources[1].Values = Values{"image": test.a, "name": "new"}
			s.Resources[0].Values["image"] = test.b
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
	fails("create a1", "thing.a: no")
	want(t, "state", s.Addresses(), "[thing.c]")
	fails("start a1", "thing.a: no") // what was created in part is tainted
	want(t, "actions", up(t, w, s), "create thing.b, replace thing.a")
	s.Resources[2].Values = Values{"image": "c2"}
	fails("delete c1", "thing.c: no") // what was not destroyed stays
	want(t, "name", Attribute(s.State("thing.c").Value, "image"), "c1")

	// What create_before_destroy leaves is in the state, and the next apply destroys it.
	s.Resources = s.Resources[2:]
	s.Resources[0].CreateBeforeDestroy = true
	fails("create c2", "thing.c: no")
	want(t, "state", s.Addresses(), "[thing.c]")
	fails("delete c1", "thing.c (deposed): no")
	want(t, "state", s.Addresses(), "[thing.c thing.c (deposed)]")
	want(t, "actions", up(t, w, s), "delete thing.c (deposed)")
	want(t, "name", Attribute(s.State("thing.c").Value, "image"), "c2")
}

// A provisioner that fails taints what was created, and nothing follows.
func TestProvisioner(t *testing.T) {
	w, s := three(t)
	s.Failing = map[string]bool{"thing.a": true}
	_, r := s.Up(t.Context(), w.start)
	want(t, "errors", r.Err(), "thing.a: local-exec provisioner error")
	want(t, "state", s.Addresses(), "[thing.a thing.c]")
	s.Failing = nil
	want(t, "actions", up(t, w, s), "create thing.b, replace thing.a")
	s.Failing = map[string]bool{"thing.a": true}
	s.Resources[1].Values = Values{"image": "a1", "name": "x"}
	want(t, "an update", up(t, w, s), "update thing.a")
}

// A backend that persists late loses what a process that is killed has done since.
func TestLateBackend(t *testing.T) {
	for _, test := range []struct {
		each  time.Duration // of the calls
		state string
	}{{time.Second, "[]"}, {30 * time.Second, "[thing.a thing.b]"}} {
		synctest.Test(t, func(t *testing.T) {
			w, s := three(t)
			s.Late = true
			ctx, kill := context.WithCancel(t.Context())
			w.asked = func(method string) error {
				if method == "apply" {
					time.Sleep(test.each)
				}
				if len(w.calls) == 2 && method == "apply" {
					kill()
				}
				return nil
			}
			if _, r := s.Up(ctx, w.start); r.Err() == nil {
				t.Error("it was not killed")
			}
			want(t, "state", s.Addresses(), test.state)
		})
	}
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
	want(t, "findings", slices.Sorted(slices.Values(found.found)), `[thing.a: Provider produced inconsistent result after apply: .name was planned as tftypes.String<null>, and is tftypes.String<"not planned"> `+
		`thing.c: Provider produced inconsistent result after apply: .name was planned as tftypes.String<null>, and is tftypes.String<"not planned">]`)
	want(t, "errors", strings.Count(fmt.Sprint(r.Err()), "thing"), "2")
	want(t, "tainted", s.State("thing.a").Tainted, "true")
	found.found, w.asked = nil, nil
	_, r = s.Up(t.Context(), w.start)
	want(t, "crashes", strings.Join(slices.Sorted(slices.Values(found.found)), "\n"), r.Err().Error())
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
	want(t, "errors", r.Err(), "thing.a: refused")
	want(t, "calls", calls, "[validate upgrade read validate plan]")
	want(t, "state", s.Addresses(), "[thing.a]")
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

// TestValues runs the stanzas of testdata/values.txt, whose values are in JSON, one on each line:
// "proposed" is the proposal for a prior value and a configuration, "result" what is wrong with
// the result of a plan, and "plan" what is wrong with one, by the prior value and the
// configuration. -rewrite rewrites the file.
func TestValues(t *testing.T) {
	datadriven.RunTest(t, "testdata/values.txt", func(t *testing.T, d *datadriven.TestData) string {
		var v []tftypes.Value
		for line := range strings.Lines(d.Input) {
			given, err := FromJSON(line)
			must.Succeed(t, err)
			value, err := Build(nested.ValueType(), given)
			must.Succeed(t, err)
			v = append(v, value)
		}
		switch d.Cmd {
		case "proposed":
			return strings.ReplaceAll(proposed(nested.Block.Attributes, v[0], v[1]).String(), "tftypes.", "")
		case "result":
			return cmp.Or(incompatible(v[0], v[1], ""), "fine")
		default:
			return cmp.Or(unasked(nested.Block.Attributes, v[0], v[1], v[2], ""), "fine")
		}
	})
}
