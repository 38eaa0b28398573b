// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package driver

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
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
		cli: w.CLI, provider: maps.Clone(w.Provider), resources: slices.Clone(w.Resources),
		imports: slices.Clone(w.Imports), state: w.state, serial: w.serial,
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
		before.refreshes = true
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
		if w.CLI == OpenTofu && !plan.destroys && !plan.refreshes {
			p.refuseImports()
		}
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
			SourceProviderAddress: "registry.terraform.io/terraform-provider-etcd/etcd",
			SourceTypeName:        typeOf(from), TargetTypeName: typ,
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
