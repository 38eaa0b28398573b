// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package driver

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// The actions of a change.
const (
	create, update, replace, remove, noOp = "create", "update", "replace", "delete", "no-op"
)

// Option is an option of a plan: -replace=ADDRESS, -target=ADDRESS, of a block or of an
// instance, [NoRefresh] or [Destroy].
type Option string

// NoRefresh is -refresh=false.
const NoRefresh Option = "-refresh=false"

// Destroy is terraform destroy.
const Destroy Option = "-destroy"

// Replace is -replace=ADDRESS.
func Replace(address string) Option { return Option("-replace=" + address) }

// newPlan is an empty plan of the present configuration and state.
func (w *Workspace) newPlan() *Plan {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := &Plan{
		provider: maps.Clone(w.Provider), resources: slices.Clone(w.Resources), imports: slices.Clone(w.Imports),
		state: w.state, serial: w.serial,
	}
	for _, m := range w.Moved {
		p.state = moved(p.state, m)
	}
	return p
}

// Validate is terraform validate.
func (w *Workspace) Validate(ctx context.Context, start Start) Result {
	return w.within(ctx, start, w.newPlan(), nil)
}

// Refresh is terraform apply -refresh-only. It imports nothing.
func (w *Workspace) Refresh(ctx context.Context, start Start) Result {
	plan := w.newPlan()
	plan.imports = nil
	return w.within(ctx, start, plan, func(p *process) {
		p.walk(plan.planNodes(), func(n *node) bool {
			if n.resource == nil && w.CLI != OpenTofu {
				return p.planOrphan(n.Change, true)
			}
			_, ok := p.refresh(n.Change)
			return ok
		})
		if (Result{p.diags}).Err() == nil {
			p.save()
		}
	})
}

// Plan is terraform plan. The state stays as it is until the plan is applied. With
// an error there is no plan.
func (w *Workspace) Plan(ctx context.Context, start Start, opts ...Option) (*Plan, Result) {
	plan := w.newPlan()
	if !slices.Contains(opts, Destroy) {
		return w.plan(ctx, start, plan, opts)
	}
	// An ordinary plan refreshes what is destroyed (Context.destroyPlan).
	if !slices.Contains(opts, NoRefresh) && len(plan.state) > 0 {
		before := w.newPlan()
		before.refreshes = w.CLI != OpenTofu
		ordinary, r := w.plan(ctx, start, before, opts)
		if ordinary == nil {
			return nil, r
		}
		plan.state, opts = ordinary.state, append(slices.Clone(opts), NoRefresh)
	}
	plan.resources, plan.destroys = nil, true
	return w.plan(ctx, start, plan, opts)
}

// plan fills in a plan.
func (w *Workspace) plan(ctx context.Context, start Start, plan *Plan, opts []Option) (*Plan, Result) {
	nodes := plan.targeted(plan.planNodes(), opts)
	r := w.within(ctx, start, plan, func(p *process) {
		p.walk(nodes, func(n *node) bool {
			if n.missing {
				return p.refuse(n.Address, notConfigured)
			}
			return p.planNode(n.Change, opts)
		})
		plan.state, plan.valid = p.state, true
	})
	for _, n := range nodes {
		if n.Action != "" {
			plan.Changes = append(plan.Changes, n.Change)
		}
	}
	if r.Err() != nil {
		return nil, r
	}
	return plan, r
}

// Up is terraform apply: Plan, and Apply unless that has an error.
func (w *Workspace) Up(ctx context.Context, start Start, opts ...Option) (*Plan, Result) {
	plan, r := w.Plan(ctx, start, opts...)
	if plan != nil {
		r.Diagnostics = append(r.Diagnostics, w.Apply(ctx, start, plan).Diagnostics...)
	}
	return plan, r
}

// Apply carries out a plan. It fails if the state has changed since.
func (w *Workspace) Apply(ctx context.Context, start Start, plan *Plan) Result {
	w.mu.Lock()
	stale := w.serial != plan.serial
	w.mu.Unlock()
	if stale {
		return Result{[]Diagnostic{{Address: noResource, Summary: "Saved plan is stale"}}}
	}
	return w.within(ctx, start, plan, func(p *process) {
		p.walk(plan.applyNodes(), func(n *node) bool {
			if n.destroys {
				return p.destroy(n.Change)
			}
			return n.Action == noOp || p.make(n.Change)
		})
		p.save()
	})
}

// Import is terraform import.
func (w *Workspace) Import(ctx context.Context, start Start, address, id string) Result {
	plan := w.newPlan()
	return w.within(ctx, start, plan, func(p *process) {
		switch {
		case p.object(address) != nil:
			p.refuse(address, "Resource already managed by Terraform: it is in the state")
		case !plan.importable(address):
			p.refuse(address, notConfigured)
		default:
			if _, ok := p.imports(&Change{Address: address, typ: typeOf(address)}, id); ok {
				p.save()
			}
		}
	})
}

// importable reports whether the configuration has what is to be imported, or the state.
func (p *Plan) importable(address string) bool {
	has := func(r Resource) bool { return r.Address() == address }
	return p.state[address] != nil || slices.ContainsFunc(p.resources, has)
}

const notConfigured = "Configuration for import target does not exist"

// importID is the ID in the import block of an address, "" without one.
func (p *Plan) importID(address string) string {
	if p.refreshes {
		return ""
	}
	for _, i := range p.imports {
		if i.To == address {
			return i.ID
		}
	}
	return ""
}

// imports imports an object, and reads it. It has no dependencies then.
func (p *process) imports(c *Change, id string) (*Object, bool) {
	resp, ok := call(p, c.Address, "import", p.server(c.typ).ImportResourceState,
		&tfprotov6.ImportResourceStateRequest{TypeName: c.typ, ID: id})
	if !ok || !p.report(c.Address, resp.Diagnostics) || len(resp.ImportedResources) != 1 {
		return nil, false
	}
	it := resp.ImportedResources[0]
	v, ok := p.value(c.Address, c.typ, it.State)
	if !ok {
		return nil, false
	}
	o, ok := p.read(c, &Object{Value: v, Private: it.Private, Identity: it.Identity})
	if ok && o.Value.IsNull() {
		ok = p.refuse(c.Address, "Cannot import non-existent remote object")
	}
	return o, ok
}

// Move carries out a moved block between two types of resources.
func (w *Workspace) Move(ctx context.Context, start Start, from, to string) Result {
	plan := w.newPlan()
	return w.within(ctx, start, plan, func(p *process) {
		o, typ := p.object(from), typeOf(to)
		if o == nil || p.object(to) != nil {
			p.fail(to, errors.New("there is nothing to move, or something is there"))
			return
		}
		resp, ok := call(p, to, "move", p.server(typ).MoveResourceState, &tfprotov6.MoveResourceStateRequest{
			SourceProviderAddress: "registry.terraform.io/terraform-provider-etcd/etcd", SourceTypeName: typeOf(from), TargetTypeName: typ,
			SourceState: &tfprotov6.RawState{JSON: encode(o.Value)}, SourcePrivate: o.Private,
		})
		if !ok || !p.report(to, resp.Diagnostics) {
			return
		}
		if v, ok := p.value(to, typ, resp.TargetState); ok {
			p.move(from, to)
			p.keep(to, &Object{
				Value: v, Private: resp.TargetPrivate, Identity: resp.TargetIdentity, Dependencies: o.Dependencies,
			})
			p.save()
		}
	})
}

// Machines is what happens to machines. The arguments of a machine are name, image,
// version and user_data, all optional. Another one replaces it, except another name. Its
// id is known after apply.
type Machines interface {
	Create(ctx context.Context, values map[string]string) (id string, err error)
	Destroy(ctx context.Context, id string) error
	// Exists is asked by a refresh, which drops a machine that does not exist.
	Exists(ctx context.Context, id string) bool
}

const machineType = "machine"

var machineSchema = func() *tfprotov6.Schema {
	s := &tfprotov6.Schema{Block: &tfprotov6.SchemaBlock{}}
	for _, name := range []string{"name", "image", "version", "user_data", "id"} {
		s.Block.Attributes = append(s.Block.Attributes, &tfprotov6.SchemaAttribute{
			Name: name, Type: tftypes.String, Optional: name != "id", Computed: name == "id",
		})
	}
	return s
}()

// machines is the provider of machines.
type machines struct {
	tfprotov6.ProviderServer // nothing else is called
	Machines
}

// MachineProvider is a provider of machines for a real CLI, whose only resource is
// machine.
func MachineProvider(m Machines) tfprotov6.ProviderServer { return machines{Machines: m} }

func (machines) GetProviderSchema(context.Context, *tfprotov6.GetProviderSchemaRequest) (*tfprotov6.GetProviderSchemaResponse, error) {
	return &tfprotov6.GetProviderSchemaResponse{
		Provider: &tfprotov6.Schema{Block: &tfprotov6.SchemaBlock{}}, ResourceSchemas: map[string]*tfprotov6.Schema{machineType: machineSchema},
	}, nil
}

func (machines) GetResourceIdentitySchemas(context.Context, *tfprotov6.GetResourceIdentitySchemasRequest) (*tfprotov6.GetResourceIdentitySchemasResponse, error) {
	return &tfprotov6.GetResourceIdentitySchemasResponse{}, nil
}

func (machines) ValidateProviderConfig(_ context.Context, req *tfprotov6.ValidateProviderConfigRequest) (*tfprotov6.ValidateProviderConfigResponse, error) {
	return &tfprotov6.ValidateProviderConfigResponse{PreparedConfig: req.Config}, nil
}

func (machines) ConfigureProvider(context.Context, *tfprotov6.ConfigureProviderRequest) (*tfprotov6.ConfigureProviderResponse, error) {
	return &tfprotov6.ConfigureProviderResponse{}, nil
}

func (machines) ValidateResourceConfig(context.Context, *tfprotov6.ValidateResourceConfigRequest) (*tfprotov6.ValidateResourceConfigResponse, error) {
	return &tfprotov6.ValidateResourceConfigResponse{}, nil
}

func (machines) UpgradeResourceState(_ context.Context, req *tfprotov6.UpgradeResourceStateRequest) (*tfprotov6.UpgradeResourceStateResponse, error) {
	v, err := req.RawState.Unmarshal(machineSchema.ValueType())
	return &tfprotov6.UpgradeResourceStateResponse{UpgradedState: dynamic(v)}, err
}

func (m machines) ReadResource(ctx context.Context, req *tfprotov6.ReadResourceRequest) (*tfprotov6.ReadResourceResponse, error) {
	resp := &tfprotov6.ReadResourceResponse{NewState: req.CurrentState}
	if !m.Exists(ctx, Attribute(machine(req.CurrentState), "id")) {
		resp.NewState = dynamic(tftypes.NewValue(machineSchema.ValueType(), nil))
	}
	return resp, nil
}

func (machines) PlanResourceChange(_ context.Context, req *tfprotov6.PlanResourceChangeRequest) (*tfprotov6.PlanResourceChangeResponse, error) {
	resp := &tfprotov6.PlanResourceChangeResponse{PlannedState: req.ProposedNewState}
	if machine(req.PriorState).IsNull() {
		resp.PlannedState = withID(machine(req.ProposedNewState), tftypes.UnknownValue)
	}
	for name, was := range parts(machine(req.PriorState)) {
		if now, ok := parts(machine(req.ProposedNewState))[name]; ok && name != "name" && !now.Equal(was) {
			resp.RequiresReplace = append(resp.RequiresReplace, tftypes.NewAttributePath().WithAttributeName(name))
		}
	}
	return resp, nil
}

func (m machines) ApplyResourceChange(ctx context.Context, req *tfprotov6.ApplyResourceChangeRequest) (*tfprotov6.ApplyResourceChangeResponse, error) {
	prior, planned := machine(req.PriorState), machine(req.PlannedState)
	resp := &tfprotov6.ApplyResourceChangeResponse{NewState: req.PlannedState}
	var err error
	switch {
	case planned.IsNull():
		err = m.Destroy(ctx, Attribute(prior, "id"))
	case prior.IsNull():
		arguments := map[string]string{}
		for name, v := range parts(planned) {
			if v.IsKnown() && !v.IsNull() {
				arguments[name] = Attribute(v)
			}
		}
		id, failed := m.Create(ctx, arguments)
		resp.NewState, err = withID(planned, id), failed
	}
	if err != nil {
		resp.NewState = req.PriorState
		resp.Diagnostics = []*tfprotov6.Diagnostic{{Severity: tfprotov6.DiagnosticSeverityError, Summary: err.Error()}}
	}
	return resp, nil
}

func withID(v tftypes.Value, id any) *tfprotov6.DynamicValue {
	values := parts(v)
	values["id"] = tftypes.NewValue(tftypes.String, id)
	return dynamic(tftypes.NewValue(v.Type(), values))
}

func machine(d *tfprotov6.DynamicValue) tftypes.Value {
	v, err := d.Unmarshal(machineSchema.ValueType())
	if err != nil {
		panic(err) // it is this package's own
	}
	return v
}
