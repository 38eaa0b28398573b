// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package driver

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// importing is a world whose things can be imported, by their images. It keeps private data, and
// notes whose it is asked about.
type importing struct {
	*world
	private []string
}

func (i *importing) keeps(method string, private []byte) []byte {
	if len(private) > 0 {
		i.private = append(i.private, method+" "+string(private))
	}
	return private
}

func (*importing) ImportResourceState(
	_ context.Context, req *tfprotov6.ImportResourceStateRequest,
) (*tfprotov6.ImportResourceStateResponse, error) {
	v, err := Build(machineSchema.ValueType(), Values{"image": req.ID, "id": req.ID})
	it := &tfprotov6.ImportedResource{TypeName: req.TypeName, State: dynamic(v), Private: []byte("of " + req.ID)}
	if req.ID == "gone" {
		it.State = dynamic(tftypes.NewValue(v.Type(), nil))
	}
	return &tfprotov6.ImportResourceStateResponse{ImportedResources: []*tfprotov6.ImportedResource{it}}, err
}

func (i *importing) ReadResource(
	ctx context.Context, req *tfprotov6.ReadResourceRequest,
) (*tfprotov6.ReadResourceResponse, error) {
	resp, err := i.world.ReadResource(ctx, req)
	resp.Private = i.keeps("read", req.Private)
	return resp, err
}

func (i *importing) PlanResourceChange(
	ctx context.Context, req *tfprotov6.PlanResourceChangeRequest,
) (*tfprotov6.PlanResourceChangeResponse, error) {
	resp, err := i.world.PlanResourceChange(ctx, req)
	resp.PlannedPrivate = i.keeps("plan", req.PriorPrivate)
	return resp, err
}

func (i *importing) ApplyResourceChange(
	ctx context.Context, req *tfprotov6.ApplyResourceChangeRequest,
) (*tfprotov6.ApplyResourceChangeResponse, error) {
	resp, err := i.world.ApplyResourceChange(ctx, req)
	resp.Private = i.keeps("apply", req.PlannedPrivate)
	return resp, err
}

func (i *importing) start(ctx context.Context) (*Run, error) {
	r, err := i.world.start(ctx)
	r.Server = i
	return r, err
}

// onMachine are machine.a, and thing.b, which depends on it.
func onMachine(t *testing.T) (*importing, *Workspace) {
	t.Helper()
	w, s := three(t)
	i := &importing{world: w}
	s.Machines = w
	s.Resources = []Resource{newThing("b", "b1", Ref{"machine.a", "id"}), newThing("a", "a1", nil)}
	s.Resources[1].Type = "machine"
	want(t, "errors", upped(s.Up(t.Context(), i.start)).Err(), "<nil>")
	return i, s
}

const (
	neither   = "[]"
	machineA  = "[machine.a]"
	machineVM = "[machine.vm]"
	both      = "[machine.a machine.vm]"
)

// What stores the dependencies of an object, in what order a plan destroys what is left then, and
// what happens to its private data. TestCLIsAgree compares them with those of the CLIs.
func TestDependencies(t *testing.T) {
	imports := func(i *importing, s *Workspace) Result {
		s.Forget("thing.b")
		return s.Import(t.Context(), i.start, "thing.b", "b1")
	}
	moves := func(s *Workspace) {
		s.Moved = []Moved{{"machine.a", "machine.vm"}}
		s.Resources[0].Values["name"] = Ref{"machine.vm", "id"}
		s.Resources[1].Name = "vm"
	}
	for name, test := range map[string]struct {
		do      func(i *importing, s *Workspace) Result
		want    string
		destroy string
	}{
		"an apply":  {func(*importing, *Workspace) Result { return Result{} }, machineA, "delete b1, delete a1"},
		"an import": {imports, neither, "delete a1, delete b1"},
		"an import and a refresh": {func(i *importing, s *Workspace) Result {
			imports(i, s)
			return s.Refresh(t.Context(), i.start)
		}, machineA, "delete b1, delete a1"},
		"an import, and a refresh without its block": {func(i *importing, s *Workspace) Result {
			imports(i, s)
			b := s.Resources[0]
			s.Resources = s.Resources[1:]
			r := s.Refresh(t.Context(), i.start)
			s.Resources = append([]Resource{b}, s.Resources...)
			return r
		}, neither, "delete a1, delete b1"},
		"an import, and an apply that changes nothing": {func(i *importing, s *Workspace) Result {
			s.Resources[0].Values["name"] = nil
			s.Resources[0].After = []string{"machine.a"}
			imports(i, s)
			return upped(s.Up(t.Context(), i.start, NoRefresh))
		}, machineA, "delete b1, delete a1"},
		"an import block": {func(i *importing, s *Workspace) Result {
			s.Forget("thing.b")
			s.Imports = []Import{{"thing.b", "b1"}}
			return upped(s.Up(t.Context(), i.start))
		}, machineA, "delete b1, delete a1"},
		"a plan of an import block": {func(i *importing, s *Workspace) Result {
			s.Forget("thing.b")
			s.Imports = []Import{{"thing.b", "b1"}}
			p, r := s.Plan(t.Context(), i.start)
			want(t, "actions", p.Actions(), "[import and update thing.b]")
			want(t, "what the plan has", p.state["thing.b"].Dependencies, neither)
			return r
		}, "nothing", "delete a1"},
		"a move and a refresh": {func(i *importing, s *Workspace) Result {
			moves(s)
			return s.Refresh(t.Context(), i.start)
		}, both, "delete b1, delete a1"},
		"a move": {func(i *importing, s *Workspace) Result {
			moves(s)
			p, r := s.Plan(t.Context(), i.start, NoRefresh, Replace("machine.vm"), Replace("thing.b"))
			i.calls = nil
			r.Diagnostics = append(r.Diagnostics, s.Apply(t.Context(), i.start, p).Diagnostics...)
			want(t, "calls", strings.Join(i.calls, ", "), "delete a1, create a1, delete b1, create b1")
			return r
		}, machineVM, "delete b1, delete a1"},
		"state mv": {func(_ *importing, s *Workspace) Result {
			moves(s)
			s.Rename("machine.a", "machine.vm")
			return Result{}
		}, neither, "delete a1, delete b1"},
	} {
		t.Run(name, func(t *testing.T) {
			i, s := onMachine(t)
			r := test.do(i, s)
			want(t, "errors", r.Err(), "<nil>")
			got := "nothing"
			if o := s.State("thing.b"); o != nil {
				got = fmt.Sprint(o.Dependencies)
			}
			want(t, "dependencies", got, test.want)
			i.calls = nil
			s.Resources, s.Imports = nil, nil
			_, r = s.Up(t.Context(), i.start, NoRefresh)
			want(t, "errors", r.Err(), "<nil>")
			want(t, "calls", strings.Join(i.calls, ", "), test.destroy)
		})
	}
}

func upped(_ *Plan, r Result) Result { return r }

// What the provider returns with an import it gets back, whether a command imports or a block.
func TestImportKeepsPrivateData(t *testing.T) {
	i, s := onMachine(t)
	s.Resources = s.Resources[:1]
	s.Resources[0].Values = Values{"image": "b2", "name": "new"}
	s.Forget("thing.b")
	want(t, "errors", s.Import(t.Context(), i.start, "thing.b", "b2").Err(), "<nil>")
	i.private = nil
	want(t, "errors", upped(s.Up(t.Context(), i.start)).Err(), "<nil>")
	const kept = "[read of b2 plan of b2 plan of b2 apply of b2]"
	want(t, "private data", i.private, kept)
	want(t, "in the state", string(s.State("thing.b").Private), "of b2")

	s.Forget("thing.b")
	s.Imports = []Import{{"thing.b", "b2"}}
	i.private = nil
	want(t, "errors", upped(s.Up(t.Context(), i.start)).Err(), "<nil>")
	want(t, "private data", i.private, kept)
	plan, r := s.Plan(t.Context(), i.start) // the state has it
	want(t, "another plan", fmt.Sprint(plan.Actions(), r.Err()), "[] <nil>")
}

// What cannot be imported, and when an import block imports nothing.
func TestImportFails(t *testing.T) {
	i, s := onMachine(t)
	fails := func(what string, r Result, text string) {
		t.Helper()
		want(t, what, r.Err(), text)
	}
	fails("what the state has", s.Import(t.Context(), i.start, "thing.b", "b1"),
		"thing.b: Resource already managed by Terraform: it is in the state")
	fails("what is not configured", s.Import(t.Context(), i.start, "thing.x", "x"),
		"thing.x: Configuration for import target does not exist")
	s.Forget("thing.b")
	fails("what does not exist", s.Import(t.Context(), i.start, "thing.b", "gone"),
		"thing.b: Cannot import non-existent remote object")
	s.Imports = []Import{{"thing.x", "x"}}
	fails("a block of what is not configured", upped(s.Plan(t.Context(), i.start)),
		"thing.x: Configuration for import target does not exist")
	fails("before a destruction", upped(s.Plan(t.Context(), i.start, Destroy)),
		"thing.x: Configuration for import target does not exist")
	s.Imports = []Import{{"thing.b", "gone"}}
	fails("a block of what does not exist", upped(s.Plan(t.Context(), i.start)),
		"thing.b: Cannot import non-existent remote object")
	plan, r := s.Plan(t.Context(), i.start, Destroy) // which imports nothing
	want(t, "a destruction", fmt.Sprint(plan.Actions(), r.Err()), "[delete machine.a] <nil>")
}

// A plan to destroy everything asks first for what depends on others, and -target takes that along.
// What the state does not relate is asked for in any order, and stays.
func TestDestroyOrder(t *testing.T) {
	i, s := onMachine(t)
	asked := func(opts ...Option) (out string) {
		run := func(ctx context.Context) (*Run, error) {
			r, err := i.start(ctx)
			r.Context = func(ctx context.Context, resource, method string) (context.Context, error) {
				if method == "plan" {
					out += resource + " "
				}
				return ctx, nil
			}
			return r, err
		}
		p, r := s.Plan(t.Context(), run, append(opts, Destroy, NoRefresh)...)
		want(t, "errors", r.Err(), "<nil>")
		return fmt.Sprint(out, p.Actions())
	}
	want(t, "all", asked(), "thing.b machine.a [delete machine.a delete thing.b]")
	want(t, "one", asked("-target=machine.a"), "thing.b machine.a [delete machine.a delete thing.b]")
	want(t, "the other", asked("-target=thing.b"), "thing.b [delete thing.b]")
	s.Forget("thing.b")
	want(t, "errors", s.Import(t.Context(), i.start, "thing.b", "b1").Err(), "<nil>")
	want(t, "one", asked("-target=machine.a"), "machine.a [delete machine.a]")
}

// What the configuration does not have is read and planned in an order that depends on the CLI.
func TestCLIsDiffer(t *testing.T) {
	for cli, calls := range map[CLI][2]string{
		Terraform:    {"read plan upgrade read plan", "read upgrade read plan"},
		Terraform111: {"read plan upgrade plan read", "read upgrade plan read"},
		OpenTofu:     {"read plan upgrade read plan", "read upgrade read"},
	} {
		i, s := onMachine(t)
		s.CLI = cli
		s.Resources = s.Resources[1:]
		var got []string
		i.asked = func(method string) error { got = append(got, method); return nil }
		plan, r := s.Plan(t.Context(), i.start)
		want(t, "errors", r.Err(), "<nil>")
		want(t, "actions", plan.Actions(), "[delete thing.b]")
		want(t, "calls of a plan", strings.Join(got, " "), calls[0])
		got = nil
		want(t, "errors", s.Refresh(t.Context(), i.start).Err(), "<nil>")
		want(t, "calls of a refresh", strings.Join(got, " "), calls[1])
	}
	for cli, calls := range map[CLI]string{
		Terraform: "validate import read upgrade plan", Terraform111: "validate import read upgrade plan",
		OpenTofu: "validate import read upgrade",
	} {
		i, s := onMachine(t)
		s.CLI = cli
		s.Resources = []Resource{newThing(`n["a"]`, "a1", nil), newThing(`n["b"]`, "b1", nil)}
		want(t, "errors", upped(s.Up(t.Context(), i.start)).Err(), "<nil>")
		s.Resources = s.Resources[:1]
		s.Forget(`thing.n["a"]`)
		var got []string
		i.asked = func(method string) error { got = append(got, method); return nil }
		want(t, "errors", s.Import(t.Context(), i.start, `thing.n["a"]`, "a1").Err(), "<nil>")
		want(t, "calls of an import", strings.Join(got, " "), calls)
	}
	missing := "thing.x: " + notConfigured
	for cli, destruction := range map[CLI]string{Terraform: missing, Terraform111: missing, OpenTofu: "<nil>"} {
		i, s := onMachine(t)
		s.CLI = cli
		s.Imports = []Import{{"thing.x", "x"}}
		_, r := s.Plan(t.Context(), i.start)
		want(t, "errors of a plan", r.Err(), missing)
		_, r = s.Plan(t.Context(), i.start, Destroy)
		want(t, "errors of a destruction", r.Err(), destruction)
	}
}

// An older state that comes back has its old serial.
func TestOlderState(t *testing.T) {
	i, s := onMachine(t)
	before := s.Backup()
	plan, r := s.Plan(t.Context(), i.start, Replace("thing.b"))
	want(t, "errors", r.Err(), "<nil>")
	want(t, "errors", s.Apply(t.Context(), i.start, plan).Err(), "<nil>")
	s.Taint("machine.a")
	want(t, "the same plan", s.Apply(t.Context(), i.start, plan).Err(), "provider: Saved plan is stale")
	s.Restore(before)
	want(t, "tainted", s.State("machine.a").Tainted, "false")
	want(t, "the same plan", s.Apply(t.Context(), i.start, plan).Err(), "<nil>")
}
