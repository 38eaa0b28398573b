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

type options struct {
	replace        []string
	stale, destroy bool
}

// Option is an option of a plan.
type Option func(*options)

// Replace is -replace=ADDRESS.
func Replace(addresses ...string) Option {
	return func(o *options) { o.replace = append(o.replace, addresses...) }
}

// NoRefresh is -refresh=false.
func NoRefresh(o *options) { o.stale = true }

// Destroy is terraform destroy: a plan as usual, then one that destroys everything.
func Destroy(o *options) { o.destroy = true }

// Refresh is terraform apply -refresh-only.
func (w *Workspace) Refresh(ctx context.Context, start Start) Result {
	plan, nodes := w.newPlan()
	r := w.within(ctx, start, plan.provider, plan.blocks, func(p *process) {
		p.walk(nodes, func(n *node) bool {
			o, ok := p.refresh(plan, n.change)
			if o != nil {
				p.set(n.change.Address, o.Value)
			}
			return ok
		})
	})
	if r.Err() == nil {
		w.adopt(plan)
	}
	return r
}

// Plan is terraform plan. The state stays as it is until the plan is applied. With
// an error there is no plan.
func (w *Workspace) Plan(ctx context.Context, start Start, opts ...Option) (*Plan, Result) {
	var o options
	for _, option := range opts {
		option(&o)
	}
	plan, nodes := w.newPlan()
	r := w.within(ctx, start, plan.provider, plan.blocks, func(p *process) {
		p.walk(nodes, func(n *node) bool { return p.planNode(plan, n, o) })
	})
	if r.Err() == nil && o.destroy {
		plan.Changes, nodes = nil, blocks{}.planNodes(plan.prior)
		r = r.with(w.within(ctx, start, plan.provider, blocks{}, func(p *process) {
			p.walk(nodes, func(n *node) bool { return p.planRemoval(n.change, plan.prior[n.change.Address]) })
		}))
	}
	if r.Err() != nil {
		return nil, r
	}
	for _, n := range nodes {
		if n.change.Action != "" {
			plan.Changes = append(plan.Changes, n.change)
		}
	}
	return plan, r
}

// Up is terraform apply: Plan, and Apply unless that has an error.
func (w *Workspace) Up(ctx context.Context, start Start, opts ...Option) (*Plan, Result) {
	plan, r := w.Plan(ctx, start, opts...)
	if plan == nil {
		return nil, r
	}
	return plan, r.with(w.Apply(ctx, start, plan))
}

// Import is terraform import.
func (w *Workspace) Import(ctx context.Context, start Start, address, id string) Result {
	plan, _ := w.newPlan()
	return w.within(ctx, start, plan.provider, plan.blocks, func(p *process) {
		i := slices.IndexFunc(plan.blocks.resources, func(r *Resource) bool { return r.Address() == address })
		if i < 0 || plan.prior[address] != nil {
			p.fail(address, errors.New("cannot import: not in the configuration, or in the state already"))
			return
		}
		typ := plan.blocks.resources[i].Type
		resp, ok := call(p, address, "import", p.server(typ).ImportResourceState, &tfprotov6.ImportResourceStateRequest{TypeName: typ, ID: id})
		if !ok || !p.report(address, resp.Diagnostics) || len(resp.ImportedResources) != 1 {
			return
		}
		it := resp.ImportedResources[0]
		v, err := p.value(typ, it.State)
		if !p.fail(address, err) {
			return
		}
		o, ok := p.read(address, &Object{Value: v, Private: it.Private, Identity: it.Identity, typ: typ})
		if ok && o.Value.IsNull() {
			p.fail(address, errors.New("cannot import non-existent remote object"))
		} else if ok {
			w.edit(address, o)
		}
	})
}

// newPlan is an empty plan of the present configuration and state.
func (w *Workspace) newPlan() (*Plan, []*node) {
	w.mu.Lock()
	defer w.mu.Unlock()
	plan := &Plan{provider: maps.Clone(w.Provider), blocks: newBlocks(w.Resources), prior: maps.Clone(w.state), serial: w.serial}
	return plan, plan.blocks.planNodes(plan.prior)
}

// adopt makes the refreshed state of a plan the state.
func (w *Workspace) adopt(plan *Plan) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.serial != plan.serial {
		return false
	}
	w.state = maps.Clone(plan.prior)
	w.serial++
	return true
}

// read reads an object.
func (p *process) read(address string, o *Object) (*Object, bool) {
	resp, ok := call(p, address, "read", p.server(o.typ).ReadResource, &tfprotov6.ReadResourceRequest{
		TypeName: o.typ, CurrentState: dynamic(o.Value), Private: o.Private, CurrentIdentity: o.Identity,
	})
	if !ok || !p.report(address, resp.Diagnostics) {
		return nil, false
	}
	v, err := p.value(o.typ, resp.NewState)
	if !p.fail(address, err) || !v.IsFullyKnown() && !p.find(address, "Provider produced invalid object", []string{"unknown after refresh"}) {
		return nil, false
	}
	now := *o
	now.Value, now.Private, now.Identity = v, resp.Private, resp.NewIdentity
	return &now, true
}

// refresh reads what the state has of a resource, and keeps it in the plan. It
// returns nil if there is nothing.
func (p *process) refresh(plan *Plan, c *Change) (*Object, bool) {
	p.mu.Lock()
	o := plan.prior[c.Address]
	p.mu.Unlock()
	if o == nil {
		return nil, true
	}
	o, ok := p.read(c.Address, o)
	if !ok {
		return nil, false
	}
	if c.resource != nil {
		o.before = c.cbd
		o.after = slices.Compact(slices.Sorted(slices.Values(append(plan.blocks.all(block(c.Address)), o.after...))))
	}
	p.keep(plan, c.Address, o)
	return o, true
}

func (p *process) keep(plan *Plan, address string, o *Object) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if o.Value.IsNull() {
		delete(plan.prior, address)
	} else {
		plan.prior[address] = o
	}
}

// planNode refreshes and plans a resource.
func (p *process) planNode(plan *Plan, n *node, opts options) bool {
	c, ok := n.change, true
	o := plan.object(p, c.Address)
	if !opts.stale {
		if o, ok = p.refresh(plan, c); !ok {
			return false
		}
	}
	if c.resource == nil {
		return o == nil || o.Value.IsNull() || p.planRemoval(c, o)
	}
	if !p.plan(c, o, slices.Contains(opts.replace, c.Address)) {
		return false
	}
	if c.Action == noOp && !opts.stale {
		same := *o
		same.after = plan.blocks.all(block(c.Address))
		p.keep(plan, c.Address, &same)
	}
	p.set(c.Address, c.After)
	return true
}

func (plan *Plan) object(p *process, address string) *Object {
	p.mu.Lock()
	defer p.mu.Unlock()
	return plan.prior[address]
}

// plan plans a resource of the configuration: one call, and a second one without
// the prior state for a replacement.
func (p *process) plan(c *Change, o *Object, force bool) bool {
	config, err := p.evaluate(c.resource, p.look)
	if !p.fail(c.Address, err) || !p.validate(c.resource, config) {
		return false
	}
	null := p.null(c.typ)
	prior := &Object{Value: null}
	c.Before = null
	if o != nil {
		c.Before = o.Value
		if !o.Tainted {
			prior = o
		}
	}
	resp, value, ok := p.ask(c, prior, config)
	if !ok || !p.report(c.Address, resp.Diagnostics) || !p.find(c.Address, invalidPlan, validPlan(p.schema(c.typ).Block.Attributes, prior.Value, config, value, "")) {
		return false
	}
	forced, problems := changed(resp.RequiresReplace, prior.Value, value)
	if !p.find(c.Address, invalidPlan, problems) {
		return false
	}
	switch {
	case o != nil && o.Tainted:
		c.Action = replace
	case prior.Value.IsNull():
		c.Action = create
	case force || forced:
		c.Action = replace
		resp, value, ok = p.ask(c, &Object{Value: null, Private: resp.PlannedPrivate, Identity: resp.PlannedIdentity}, config)
		// Core drops the warnings of the second call.
		if !ok || slices.ContainsFunc(resp.Diagnostics, isError) && !p.report(c.Address, resp.Diagnostics) {
			return false
		}
	case value.Equal(prior.Value):
		c.Action = noOp
	default:
		c.Action = update
	}
	c.After, c.private, c.identity = value, resp.PlannedPrivate, resp.PlannedIdentity
	return true
}

func isError(d *tfprotov6.Diagnostic) bool { return d.Severity == tfprotov6.DiagnosticSeverityError }

const invalidPlan = "Provider produced invalid plan"

// planRemoval plans a destruction.
func (p *process) planRemoval(c *Change, o *Object) bool {
	null := p.null(c.typ)
	c.Action, c.Before, c.After, c.private, c.cbd = remove, o.Value, null, o.Private, o.before
	if p.bare && c.typ != machineType {
		return true
	}
	resp, value, ok := p.ask(c, o, null)
	if !ok || !p.report(c.Address, resp.Diagnostics) {
		return false
	}
	c.private, c.identity = resp.PlannedPrivate, resp.PlannedIdentity
	return value.IsNull() || p.find(c.Address, invalidPlan, []string{"planned a non-null destroy value"})
}

// ask makes one call of PlanResourceChange.
func (p *process) ask(c *Change, prior *Object, config tftypes.Value) (*tfprotov6.PlanResourceChangeResponse, tftypes.Value, bool) {
	resp, ok := call(p, c.Address, "plan", p.server(c.typ).PlanResourceChange, &tfprotov6.PlanResourceChangeRequest{
		TypeName: c.typ, PriorState: dynamic(prior.Value), Config: dynamic(config), PriorPrivate: prior.Private, PriorIdentity: prior.Identity,
		ProposedNewState: dynamic(proposed(p.schema(c.typ).Block.Attributes, prior.Value, config)),
	})
	if !ok {
		return nil, tftypes.Value{}, false
	}
	v, err := p.value(c.typ, resp.PlannedState)
	return resp, v, p.fail(c.Address, err)
}
